"""A slot of a CUDA lane: buffers, events and graphs of one frame in flight."""

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from numpy.lib.stride_tricks import as_strided

from lumaflow.cuda.arrays import Spec, first_luts, result_arrays
from lumaflow.cuda.frame_plan import FramePlan, plan_frame
from lumaflow.cuda.memory import ALIGN_PITCH_BYTES, DeviceBlock, PinnedBlock
from lumaflow.cuda.timing import StageEvents
from lumaflow.cuda.transfer import block_copy
from lumaflow.formats import Color
from lumaflow.frame import Frame, LutKind
from lumaflow.geometry import Geometry
from lumaflow.options import Options
from lumaflow.tables import hog_shape

ON_REQUEST = ("hog", "lbp", "lbp_labels")
"""Results that stay on the device with `LaneConfig.features_on_device`."""

MAPPINGS = ("luts", "display_luts")
"""What the next frame is mapped through."""

STAYING = (*MAPPINGS, "luma")
"""What the host never sees."""

Planes = tuple[Any, ...]


@dataclass(slots=True)
class InFlightFrame:
    """What the host remembers of the frame that occupies a slot.

    direct : the GPU can write to `out` by itself
    in_place : the chroma stays where it is, in `out`, which shares it with the frame
    """

    frame: Frame
    out: Frame | None
    direct: bool
    in_place: bool
    lut_kind: LutKind
    lut_age: int
    timed: bool

    @property
    def own(self) -> bool:
        """Whether the frame waits for its own mapping."""
        return self.lut_kind is LutKind.OWN

    @property
    def carried(self) -> bool:
        """Whether the older mapping lives on past this frame."""
        return self.frame.corrupt and self.lut_kind is LutKind.PREVIOUS

    @property
    def steady(self) -> bool:
        """Whether this is a frame like nearly all of them, whose step was captured."""
        return not (self.own or self.carried)

    @property
    def plain(self) -> bool:
        """Whether its copies were captured too, if it lies in its slot."""
        return self.steady and self.out is None and not self.timed


class CudaSlot:
    """Buffers, events and graphs of one frame in flight.

    incoming : device, the planes as they come; `input` is the page-locked twin of them all
    raw : device, the plane that is counted and mapped, turned
    chroma : device, the other planes of the enhanced frame. They lie between the incoming luma and the
        enhanced one: what comes up whole, and what goes down whole, is one copy each, and chroma that stays
        as it is moves no further
    arrays : device, by name: `enhanced`, `bins`, `applied`, ... come down to `host` with the chroma, the
        descriptors last; `luts`, the mapping made from this frame, is read by the next one

    Events name facts, of the frame (`uploaded`, `lut_ready`, `enhanced`, `mapped`: both, `described`, `done`)
    or of its streams, which fork and join (`forked`, `parted`, `joined`).
    """

    def __init__(self, geometry: Geometry, options: Options, features_on_device: bool) -> None:
        scope = plan_frame(geometry, options)
        results = result_arrays(geometry, options)
        kept = {name: results.pop(name) for name in STAYING if name in results}
        if features_on_device:
            kept |= {name: results.pop(name) for name in ON_REQUEST if name in results}
        first, *chroma = _plane_specs(scope.turned, "raw")
        outcome = dict([*chroma, ("enhanced", pitched(scope.output.shape, scope.output.dtype.type))])
        outcome |= {"applied": kept["luts"], **results}
        incoming = dict(_plane_specs(geometry, "raw"))

        self.device_block = DeviceBlock(dict([first]) | outcome)
        self.device_incoming = DeviceBlock(incoming) if scope.turns else self.device_block
        self.host_input, self.host_outcome = PinnedBlock(incoming), PinnedBlock(outcome)
        self.kept = DeviceBlock(kept)

        self.incoming = _planes_of(self.device_incoming.arrays, geometry)
        self.input = _frame(_planes_of(self.host_input.arrays, geometry), geometry)
        self._name_arrays(scope, options, features_on_device)
        for name, lut in first_luts(geometry, options).items():
            self.arrays[name][...] = cupy.asarray(lut)

        self._plan_copies(outcome)
        self.uploaded, self.forked, self.lut_ready, self.mapped, self.enhanced = _events(5)
        self.parted, self.joined, self.described, self.done = _events(4)
        self.clock = StageEvents()
        # The captured halves of the step, without and with stage times; and all of it with its copies.
        self.map_graphs: dict[bool, Any] = {}
        self.describe_graphs: dict[bool, Any] = {}
        self.whole_graph: Any = None
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.ticket: InFlightFrame | None = None

    def _plan_copies(self, outcome: Spec) -> None:
        up, down = (self.host_input, self.device_incoming), (self.device_block, self.host_outcome)
        self.up = block_copy(*up)
        self.up_luma = block_copy(*up, end="chroma") if len(self.incoming) > 1 else self.up
        described = next((name for name in ON_REQUEST if name in outcome), None)
        self.down, self.down_picture, self.down_rest = (
            block_copy(*down, first, described) for first in (next(iter(outcome)), "enhanced", "applied")
        )
        self.down_described = block_copy(*down, described) if described else None

    def _name_arrays(self, scope: FramePlan, options: Options, features_on_device: bool) -> None:
        turned, output = scope.turned, scope.output
        turned_planes = _planes_of(self.device_block.arrays, turned)
        # From the last row on: that is all a frame upside down takes.
        self.raw = self.incoming[0][::-1] if scope.turns_rows_alone else turned_planes[0]
        self.chroma = turned_planes[1:]
        self.arrays = {**self.device_block.arrays, **self.kept.arrays}
        self.arrays["enhanced"] = rows_of(self.arrays["enhanced"], output.shape)
        self.host: dict[str, Any] = dict(self.host_outcome.arrays)
        self.host["enhanced"] = rows_of(self.host["enhanced"], output.shape)
        self.output = _frame(
            (self.host["enhanced"], *_planes_of(self.host_outcome.arrays, turned, first=1)), output
        )
        if options.hog is not None:
            self.host.setdefault("hog", np.empty(hog_shape(output, options.hog.layout), np.float32))
        if features_on_device:
            self.host |= {name: self.arrays[name] for name in ON_REQUEST if name in self.kept.arrays}

    @property
    def planes(self) -> Planes:
        """The enhanced planes on the device."""
        return (self.arrays["enhanced"], *self.chroma)


def _events(number: int) -> list[Any]:
    return [cupy.cuda.Event(disable_timing=True) for _ in range(number)]


def pitched(shape: tuple[int, ...], dtype: type[np.generic]) -> tuple[tuple[int, int], type[np.generic]]:
    """(rows, samples of a row) of a plane in device memory: every row begins where wide loads may."""
    row_bytes = int(np.prod(shape[1:])) * np.dtype(dtype).itemsize
    pitch = -(-row_bytes // ALIGN_PITCH_BYTES) * ALIGN_PITCH_BYTES
    return (shape[0], pitch // np.dtype(dtype).itemsize), dtype


def rows_of(memory: Any, shape: tuple[int, ...]) -> Any:
    """A plane of this shape in pitched memory (NumPy or CuPy)."""
    view = as_strided if isinstance(memory, np.ndarray) else cupy.lib.stride_tricks.as_strided
    pitch, size = memory.strides
    pixel = (size,) if len(shape) == 2 else (shape[2] * size, size)
    return view(memory, shape, (pitch, *pixel))


def _plane_specs(geometry: Geometry, first: str) -> list[tuple[str, Any]]:
    names = (first, "chroma", "chroma_2")
    specs = [pitched(shape, geometry.dtype.type) for shape in geometry.plane_shapes]
    return list(zip(names, specs, strict=False))


def _planes_of(arrays: dict[str, Any], geometry: Geometry, first: int = 0) -> Planes:
    """The planes of a frame, from the `first` one on, in the block that `_plane_specs` describe."""
    names = [name for name, _ in _plane_specs(geometry, "raw")]
    return tuple(
        rows_of(arrays[name], shape)
        for name, shape in list(zip(names, geometry.plane_shapes, strict=True))[first:]
    )


def _frame(planes: Planes, geometry: Geometry) -> Frame:
    return Frame(
        planes[0],
        geometry.pixel_format,
        chroma=planes[1:],
        color=Color(geometry.range),
        alignment=geometry.alignment,
        width=geometry.width,
    )
