"""The chroma planes of a frame: copied, or multiplied by a gain (spec 9)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.apply import apply_lut
from lumaflow.geometry import Geometry
from lumaflow.tables import chroma_lut

Planes = tuple[NDArray[Any], ...]


class ChromaPlanes:
    """Copies chroma planes, multiplied by `Equalization.chroma_gain`."""

    def __init__(self, geometry: Geometry, gain: float) -> None:
        self._lut = chroma_lut(geometry, gain) if gain != 1.0 else None

    def copy(self, chroma: Planes, out: Planes) -> None:
        """Write `out`, contiguous planes of the shapes of `chroma`; it can be the same memory."""
        for source, target in zip(chroma, out, strict=True):
            if self._lut is not None:
                samples = source.reshape(source.shape[0], -1)
                rect = (0, 0, samples.shape[1], samples.shape[0])
                apply_lut(samples, self._lut, rect, target.reshape(samples.shape))
            elif source.ctypes.data != target.ctypes.data:
                np.copyto(target, source)
