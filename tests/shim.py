"""The CUDA kernels on the CPU: compiled by g++ against tests/shim/cuda.h, launched as CuPy would."""

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
from lumaflow.cuda.arrays import constant_tables, first_luts, result_arrays, scratch_arrays
from lumaflow.cuda.compiler import FOLDER, KernelSource, kernel_sources
from lumaflow.cuda.frame_plan import FramePlan, plan_frame
from lumaflow.cuda.launch import NULL, Kernel, launch_hog, launch_lbp, plan_features
from lumaflow.cuda.launch_config import DEFAULT_LAUNCH_CONFIG, LaunchConfig
from lumaflow.cuda.tone_mapper import open_tone_mapper
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import Mode, Options

HERE = Path(__file__).parent / "shim"
# Without unique symbols each kernel's library keeps the shim's state to itself; with them all share one.
FLAGS = ["-std=c++17", "-O1", "-g", "-ffp-contract=off", "-U_FORTIFY_SOURCE", "-fPIC", "-fno-gnu-unique"]
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
    """The kernels that a lane would compile, for the CPU; shared objects go to `folder`."""
    require_compiler()
    return Shim(folder, kernel_sources(geometry, options), sanitize=sanitize)


def require_compiler() -> None:
    """Skip the test where nothing can be compiled for the CPU."""
    if sys.platform != "linux" or shutil.which("g++") is None:
        pytest.skip("the kernels run on the CPU through g++ on Linux: apt-get install g++")


def build(folder: Path, source: KernelSource, *, sanitize: bool = False) -> Path:
    """Compile one kernel unless `folder` has it already."""
    flags = [*FLAGS, *(SANITIZE if sanitize else [])]
    digest = hashlib.sha256(repr((flags, source.defines)).encode()).hexdigest()[:16]
    library = folder / f"{source.kernel}-{digest}.so"
    if not library.exists():
        named = [f'-DKERNEL_FILE="{source.kernel}.cu"', f"-DKERNEL={source.kernel}", *source.defines]
        header = ["-include", str(_header(tuple(flags)))]
        folders = [f"-I{FOLDER}", f"-I{HERE}"]
        _compile([*flags, "-shared", *named, *header, *folders, str(HERE / "entry.cpp")], library)
    return library


@cache
def _header(flags: tuple[str, ...]) -> Path:
    """The shim's header, compiled once for all kernels of a run: that halves the time each takes."""
    folder = TemporaryDirectory(prefix="shim-")
    atexit.register(folder.cleanup)
    header = Path(folder.name) / "cuda.h"
    _compile([*flags, "-x", "c++-header", str(HERE / "cuda.h")], Path(f"{header}.gch"))
    return header


def _compile(arguments: list[str], target: Path) -> None:
    done = subprocess.run(["g++", *arguments, "-o", str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _argument(arg: Any) -> np.ndarray[Any, Any]:
    """The bytes of one argument: a pointer for an array, else the scalar itself."""
    return np.array(arg.ctypes.data, np.uintp) if isinstance(arg, np.ndarray) else np.array(arg)


def run_step(
    kernels: Mapping[str, Kernel],
    frame: Frame,
    options: Options,
    enhanced: NDArray[Any] | None = None,
    shapes: LaunchConfig = DEFAULT_LAUNCH_CONFIG,
) -> dict[str, NDArray[Any]]:
    """All kernels of one step on a frame mapped by its own LUTs; its results by name.

    `enhanced` is where the first plane goes, `chroma` the other ones. Results are full of garbage before; the
    scratch arrays must be zero again after.
    """
    geometry = frame.geometry
    scope, tables = plan_frame(geometry, options, shapes), constant_tables(geometry, options)
    scratch = {name: np.zeros(*spec) for name, spec in scratch_arrays(geometry, options, shapes).items()}
    found = {name: np.full(spec[0], 77, spec[1]) for name, spec in result_arrays(geometry, options).items()}
    if enhanced is None:
        enhanced = np.full(scope.output.shape, 77, scope.output.dtype)
    found["enhanced"] = enhanced
    if options.equalization.mode is Mode.IDENTITY:
        for name, lut in first_luts(geometry, options).items():
            found[name][...] = lut
    raw, *chroma = turned_planes(kernels, scope, frame)

    tone = open_tone_mapper(scope, kernels, tables, scratch)
    tone.count(None, raw, found, None)
    tone.apply(None, raw, found, found)
    for plan, samples in zip(orientation.plan_gains(scope), (enhanced, *chroma), strict=True):
        if plan is not None:
            orientation.launch_gain(None, kernels, plan, samples, tables["chroma"])
    hog, lbp = plan_features(scope)
    if hog is not None:
        launch_hog(None, kernels, hog, tone.luma(found), tables, found["hog"])
    if lbp is not None:
        labels = found.get("lbp_labels", NULL)
        launch_lbp(None, kernels, lbp, tone.luma(found), tables, found["lbp"], labels)
    for name in ("totals", "counters", "found"):
        assert not scratch.get(name, np.zeros(1)).any(), f"the histogram left its {name} for the next frame"
    return found | {"chroma": tuple(chroma)}


def turned_planes(kernels: Mapping[str, Kernel], scope: FramePlan, frame: Frame) -> list[NDArray[Any]]:
    """The planes of a frame as the step turns them; copies, but for a first plane that lies as it should."""
    shapes = scope.turned.plane_shapes
    targets = [np.full(shape, 77, scope.turned.dtype) for shape in shapes]
    for number, (plan, source) in enumerate(
        zip(orientation.plan_reorient_planes(scope), frame.planes, strict=True)
    ):
        if plan is not None:
            aligned = np.array(source)  # to the size of a pixel, as on the device
            orientation.launch_reorient(None, kernels, plan, aligned, targets[number])
        elif number == 0:
            targets[0] = source[::-1] if scope.turns_rows_alone else source
        else:
            targets[number] = source.copy()
    return targets
