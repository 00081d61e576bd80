"""The CUDA kernels on the CPU: compiled by g++ against tests/shim/cuda.h, launched as CuPy would."""

import ctypes
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.cuda.arrays import constant_tables, result_arrays, scratch_arrays
from pipeline.cuda.compiler import FOLDER, Source, kernel_sources
from pipeline.cuda.launch import (
    NULL,
    Kernel,
    launch_apply,
    launch_histogram,
    launch_hog,
    launch_lbp,
    plan_step,
)
from pipeline.frame import Geometry, PixelFormat
from pipeline.options import Options

HERE = Path(__file__).parent / "shim"
FLAGS = ["-std=c++17", "-O1", "-g", "-ffp-contract=off", "-U_FORTIFY_SOURCE", "-fPIC", "-shared"]
SANITIZE = [
    "-fsanitize=address,alignment,bounds,shift,signed-integer-overflow,integer-divide-by-zero",
    "-fsanitize-sections=block_shared",
    "-fno-sanitize-recover=all",
]


class ShimError(AssertionError):
    """A kernel did what no GPU would forgive: a barrier not reached by all, wrong arguments."""


class ShimKernel:
    """One kernel; called like CuPy's RawKernel, with NumPy arrays. The seed shuffles threads and blocks."""

    def __init__(self, library: Path, seed: int) -> None:
        self._launch = ctypes.CDLL(str(library)).shim_launch
        self._launch.restype = ctypes.c_char_p
        self._seed = seed

    def __call__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: tuple[Any, ...],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        values = [_argument(arg) for arg in args]
        pointers = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
        sizes = (ctypes.c_size_t * len(values))(*(value.nbytes for value in values))
        dimensions = [(ctypes.c_uint * 3)(*size) for size in (grid, block)]
        wrong = self._launch(pointers, sizes, ctypes.c_size_t(len(values)), *dimensions, self._seed)
        if wrong is not None:
            raise ShimError(wrong.decode())


class Shim(Mapping[str, Kernel]):
    """The kernels of one set of options, compiled when first asked for."""

    def __init__(self, folder: Path, sources: tuple[Source, ...], *, sanitize: bool = False) -> None:
        self._folder, self._sanitize = folder, sanitize
        self.seed = 0
        self._sources = {source.kernel: source for source in sources}

    def __getitem__(self, name: str) -> Kernel:
        return ShimKernel(build(self._folder, self._sources[name], sanitize=self._sanitize), self.seed)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def open_shim(folder: Path, pixel_format: PixelFormat, options: Options, *, sanitize: bool = False) -> Shim:
    """The kernels that a lane would compile, for the CPU; shared objects go to `folder`."""
    if sys.platform != "linux" or shutil.which("g++") is None:
        pytest.skip("the kernels run on the CPU through g++ on Linux: apt-get install g++")
    return Shim(folder, kernel_sources(pixel_format, options), sanitize=sanitize)


def build(folder: Path, source: Source, *, sanitize: bool = False) -> Path:
    """Compile one kernel unless `folder` has it already."""
    flags = [*FLAGS, *(SANITIZE if sanitize else []), *source.defines]
    library = folder / f"{source.kernel}-{hashlib.sha256(repr(flags).encode()).hexdigest()[:16]}.so"
    if not library.exists():
        named = [f'-DKERNEL_FILE="{source.kernel}.cu"', f"-DKERNEL={source.kernel}"]
        command = [
            "g++",
            *flags,
            *named,
            f"-I{HERE}",
            f"-I{FOLDER}",
            str(HERE / "entry.cpp"),
            "-o",
            str(library),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return library


def _argument(arg: Any) -> np.ndarray[Any, Any]:
    """The bytes of one argument: a pointer for an array, else the scalar itself."""
    return np.array(arg.ctypes.data, np.uintp) if isinstance(arg, np.ndarray) else np.array(arg)


def run_step(
    kernels: Mapping[str, Kernel],
    geometry: Geometry,
    options: Options,
    pixels: NDArray[np.uint8],
    enhanced: NDArray[np.uint8] | None = None,
) -> dict[str, NDArray[Any]]:
    """All kernels of one step on a frame mapped by its own LUTs; its results, with `enhanced`, by name.

    Results are full of garbage before; the scratch arrays must be zero again after.
    """
    plans, tables = plan_step(geometry, options), constant_tables(geometry, options)
    scratch = {name: np.zeros(*spec) for name, spec in scratch_arrays(geometry, options).items()}
    found = {name: np.full(spec[0], 77, spec[1]) for name, spec in result_arrays(geometry, options).items()}
    found["enhanced"] = np.full_like(pixels, 77) if enhanced is None else enhanced

    heatmap = [found.get(name, NULL) for name in ("deviation", "distance")]
    launch_histogram(
        *(None, kernels, plans.histogram, pixels, tables, scratch, found["bins"], found["luts"], *heatmap)
    )
    launch_apply(
        *(None, kernels, plans.apply, pixels, found["luts"], tables, found["enhanced"]),
        scratch.get("luma", NULL),
    )
    luma = scratch.get("luma", found["enhanced"])
    if plans.hog is not None:
        launch_hog(None, kernels, plans.hog, luma, tables, found["hog"])
    if plans.lbp is not None:
        labels = found.get("lbp_labels", NULL)
        launch_lbp(None, kernels, plans.lbp, luma, tables, found["lbp"], labels)
    assert not scratch["totals"].any(), "the histogram left its totals for the next frame"
    assert not scratch["counters"].any(), "the histogram left its counters for the next frame"
    return found
