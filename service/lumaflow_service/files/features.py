"""Features of every frame in one npz, written frame by frame, in constant memory.

`numpy.load` reads single arrays on demand. The file of N frames contains

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
from lumaflow_service.files.atomic_write import atomic_write
from lumaflow_service.files.errors import BadFileError, UsageError


def with_features(options: Options) -> Options:
    """The options with the descriptors of a feature file, HOG and LBP, enabled."""
    return replace(options, hog=options.hog or Hog(), lbp=options.lbp or Lbp())


@contextmanager
def open_features(target: Path, force: bool = False) -> Iterator["FeatureFile"]:
    """Write a feature file to `target`, which appears when the block ends without an error.

    Raises UsageError for a suffix other than .npz, and the errors of `atomic_write`.
    """
    if target.suffix.lower() != ".npz":
        raise UsageError(f"expected a name that ends in .npz for the features, got {target}; rename it")
    with (
        atomic_write(target, force) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive,
    ):
        features = FeatureFile(archive, target)
        yield features
        features.finish()


@dataclass(slots=True)
class FeatureFile:
    """An open feature file; errors name `target`."""

    archive: zipfile.ZipFile
    target: Path
    _bins: list[NDArray[np.uint32]] = field(default_factory=list)
    _pts: list[int] = field(default_factory=list)
    _sizes: list[tuple[int, int]] = field(default_factory=list)
    _time_base: Fraction = Fraction(1)

    def add(self, enhanced: Enhanced) -> None:
        """Write the descriptors of one frame and keep its histogram in memory."""
        number = f"{len(self._bins):06d}"
        for name, array in (("hog", enhanced.hog), ("lbp", enhanced.lbp)):
            if array is not None:
                self._write(f"{name}/{number}", array)
        self._bins.append(enhanced.bins.copy())
        self._pts.append(enhanced.frame.pts or 0)
        self._sizes.append((enhanced.frame.geometry.width, enhanced.frame.geometry.height))
        self._time_base = enhanced.frame.time_base or self._time_base

    def finish(self) -> None:
        """Write the arrays of all frames: bins, pts, sizes and time_base."""
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
