"""Runs the CUDA kernels on the CPU: g++ compiles them with tests/shim/cuda.h; the calls are those of CuPy."""

import atexit
import ctypes
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lumaflow.cuda import orientation
from lumaflow.cuda.arrays import constant_tables, initial_luts, result_arrays, scratch_arrays
from lumaflow.cuda.compiler import FOLDER, KernelSource, kernel_sources
from lumaflow.cuda.frame_plan import FramePlan, plan_frame
from lumaflow.cuda.launch import NULL, Kernel, launch_hog, launch_lbp, plan_features
from lumaflow.cuda.launch_config import DEFAULT_LAUNCH_CONFIG, LaunchConfig
from lumaflow.cuda.tone_mapper import open_tone_mapper
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import Mode, Options

HERE = Path(__file__).parent / "shim"
# -fno-gnu-unique gives each kernel library separate shim state; otherwise all libraries would share it.
FLAGS = ["-std=c++17", "-O1", "-g", "-ffp-contract=off", "-U_FORTIFY_SOURCE", "-fPIC", "-fno-gnu-unique"]
SANITIZE = [
    "-fsanitize=address,alignment,bounds,shift,signed-integer-overflow,integer-divide-by-zero",
    "-fsanitize-sections=block_shared",
    "-fno-sanitize-recover=all",
]


class ShimError(AssertionError):
    """A kernel has an error that is fatal on a GPU: a barrier not reached by all threads, wrong arguments."""


class ShimKernel:
    """One kernel, called like `cupy.RawKernel` but with NumPy arrays. `seed` shuffles threads and blocks."""

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
        error = self._launch(pointers, sizes, ctypes.c_size_t(len(values)), *dimensions, self._seed)
        if error is not None:
            raise ShimError(error.decode())


class Shim(Mapping[str, Kernel]):
    """The kernels of one set of options, compiled on first access."""

    def __init__(self, folder: Path, sources: tuple[KernelSource, ...], *, sanitize: bool = False) -> None:
        self._folder, self._sanitize = folder, sanitize
        self.seed = 0
        self._sources = {source.name: source for source in sources}

    def __getitem__(self, name: str) -> Kernel:
        return ShimKernel(build(self._folder, self._sources[name], sanitize=self._sanitize), self.seed)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def open_shim(folder: Path, geometry: Geometry, options: Options, *, sanitize: bool = False) -> Shim:
    """The kernels of a lane, compiled for the CPU into shared objects in `folder`."""
    require_compiler()
    return Shim(folder, kernel_sources(geometry, options), sanitize=sanitize)


def require_compiler() -> None:
    """Skip the test without g++."""
    if sys.platform != "linux" or shutil.which("g++") is None:
        pytest.skip("the kernels run on the CPU through g++ on Linux: apt-get install g++")


def build(folder: Path, source: KernelSource, *, sanitize: bool = False) -> Path:
    """Compile one kernel, unless `folder` contains it already. Returns the path of the shared object."""
    flags = [*FLAGS, *(SANITIZE if sanitize else [])]
    digest = hashlib.sha256(repr((flags, source.defines)).encode()).hexdigest()[:16]
    library = folder / f"{source.kernel}-{digest}.so"
    if not library.exists():
        defines = [f'-DKERNEL_FILE="{source.kernel}.cu"', f"-DKERNEL={source.kernel}", *source.defines]
        header = ["-include", str(_header(tuple(flags)))]
        folders = [f"-I{FOLDER}", f"-I{HERE}"]
        _compile([*flags, "-shared", *defines, *header, *folders, str(HERE / "entry.cpp")], library)
    return library


@cache
def _header(flags: tuple[str, ...]) -> Path:
    """The precompiled header of the shim; it halves the compile time of each kernel."""
    folder = TemporaryDirectory(prefix="shim-")
    atexit.register(folder.cleanup)
    header = Path(folder.name) / "cuda.h"
    _compile([*flags, "-x", "c++-header", str(HERE / "cuda.h")], Path(f"{header}.gch"))
    return header


def _compile(arguments: list[str], target: Path) -> None:
    result = subprocess.run(
        ["g++", *arguments, "-o", str(target)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def _argument(arg: Any) -> np.ndarray[Any, Any]:
    """The value of one argument: the address of an array, or the scalar."""
    return np.array(arg.ctypes.data, np.uintp) if isinstance(arg, np.ndarray) else np.array(arg)


def run_step(
    kernels: Mapping[str, Kernel],
    frame: Frame,
    options: Options,
    enhanced: NDArray[Any] | None = None,
    launch_config: LaunchConfig = DEFAULT_LAUNCH_CONFIG,
) -> dict[str, NDArray[Any]]:
    """Run all kernels of one step on a frame that is mapped by its own LUTs. Returns the results by name.

    `enhanced` receives the first plane; the result `chroma` holds the others. Result arrays are filled with
    garbage first; the scratch arrays must be zero again afterwards.
    """
    geometry = frame.geometry
    frame_plan, tables = plan_frame(geometry, options, launch_config), constant_tables(geometry, options)
    scratch = {
        name: np.zeros(*spec) for name, spec in scratch_arrays(geometry, options, launch_config).items()
    }
    results = {name: np.full(spec[0], 77, spec[1]) for name, spec in result_arrays(geometry, options).items()}
    if enhanced is None:
        enhanced = np.full(frame_plan.output.shape, 77, frame_plan.output.dtype)
    results["enhanced"] = enhanced
    if options.equalization.mode is Mode.IDENTITY:
        for name, lut in initial_luts(geometry, options).items():
            results[name][...] = lut
    raw, *chroma = reorient_planes(kernels, frame_plan, frame)

    mapper = open_tone_mapper(frame_plan, kernels, tables, scratch)
    mapper.build_luts(None, raw, results, None)
    mapper.apply(None, raw, results, results)
    for plan, samples in zip(orientation.plan_chroma_gains(frame_plan), (enhanced, *chroma), strict=True):
        if plan is not None:
            orientation.launch_chroma_gain(None, kernels, plan, samples, tables["chroma_lut"])
    hog, lbp = plan_features(frame_plan)
    if hog is not None:
        launch_hog(None, kernels, hog, mapper.luma(results), tables, results["hog"])
    if lbp is not None:
        labels = results.get("lbp_labels", NULL)
        launch_lbp(None, kernels, lbp, mapper.luma(results), tables, results["lbp"], labels)
    for name in ("totals", "counters", "range_scratch"):
        assert not scratch.get(name, np.zeros(1)).any(), f"{name} is not zero after the step"
    return results | {"chroma": tuple(chroma)}


def reorient_planes(kernels: Mapping[str, Kernel], frame_plan: FramePlan, frame: Frame) -> list[NDArray[Any]]:
    """The planes of a frame after reorientation; copies, except a first plane that needs no kernel."""
    shapes = frame_plan.oriented.plane_shapes
    targets = [np.full(shape, 77, frame_plan.oriented.dtype) for shape in shapes]
    for index, (plan, source) in enumerate(
        zip(orientation.plan_reorient_planes(frame_plan), frame.planes, strict=True)
    ):
        if plan is not None:
            aligned = np.array(source)  # to the size of a pixel, as on the device
            orientation.launch_reorient(None, kernels, plan, aligned, targets[index])
        elif index == 0:
            targets[0] = source[::-1] if frame_plan.reverses_rows else source
        else:
            targets[index] = source.copy()
    return targets
