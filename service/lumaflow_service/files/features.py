"""Features of every frame in one npz, written frame by frame so that memory stays flat.

`numpy.load` reads single arrays on demand. With N frames the file holds

    hog/000000 ...   (blocks_y, blocks_x, 36) float32, one array a frame
    lbp/000000 ...   (cells_y, cells_x, 59) uint16, one array a frame
    bins             (N, 2^b) uint32, histogram of the raw luma of b bits
    pts              (N,) int64, in units of time_base; 0 for an image
    time_base        (2,) int64, numerator and denominator in seconds
    sizes            (N, 2) int32, width and height of the frame
"""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.frame import Enhanced
from lumaflow.options import Hog, Lbp, Options
from lumaflow_service.files.atomic_write import written
from lumaflow_service.files.errors import BadFileError, UsageError


def with_features(options: Options) -> Options:
    """The same options with the descriptors that a feature file holds."""
    return replace(options, hog=options.hog or Hog(), lbp=options.lbp or Lbp())


@contextmanager
def open_features(target: Path, force: bool = False) -> Iterator["FeatureFile"]:
    """A feature file at `target`, there only when the block ends without an error.

    Raises UsageError for a name of another suffix, and as `written` does.
    """
    if target.suffix.lower() != ".npz":
        raise UsageError(f"{target} was named for the features; they are one .npz file: give such a name")
    with written(target, force) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        features = FeatureFile(archive, target)
        yield features
        features.finish()


@dataclass(slots=True)
class FeatureFile:
    """An open feature file; `target` is its name in messages."""

    archive: zipfile.ZipFile
    target: Path
    _bins: list[NDArray[np.uint32]] = field(default_factory=list)
    _pts: list[int] = field(default_factory=list)
    _sizes: list[tuple[int, int]] = field(default_factory=list)
    _time_base: Fraction = Fraction(1)

    def add(self, enhanced: Enhanced) -> None:
        """Write the descriptors of one frame and remember its histogram."""
        number = f"{len(self._bins):06d}"
        for name, array in (("hog", enhanced.hog), ("lbp", enhanced.lbp)):
            if array is not None:
                self._write(f"{name}/{number}", array)
        self._bins.append(enhanced.bins.copy())
        self._pts.append(enhanced.frame.pts or 0)
        self._sizes.append((enhanced.frame.geometry.width, enhanced.frame.geometry.height))
        self._time_base = enhanced.frame.time_base or self._time_base

    def finish(self) -> None:
        """Write what is known of all frames together."""
        levels = self._bins[0].size if self._bins else 256
        self._write("bins", np.array(self._bins, np.uint32).reshape(-1, levels))
        self._write("pts", np.array(self._pts, np.int64))
        self._write("sizes", np.array(self._sizes, np.int32).reshape(-1, 2))
        self._write("time_base", np.array(self._time_base.as_integer_ratio(), np.int64))

    def _write(self, name: str, array: NDArray[Any]) -> None:
        try:
            with self.archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
        except OSError as error:
            raise BadFileError(f"{self.target} cannot be written: {error.strerror}") from error
