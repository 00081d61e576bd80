"""Every CUDA kernel compiled by NVRTC, which needs no GPU: no warning, no spill, within its budget."""

import re
from itertools import product

import pytest
from cupy.cuda import nvrtc

from pipeline.cuda.compiler import MODES, Source, kernel_sources
from pipeline.frame import PixelFormat
from pipeline.options import (
    ColorMode,
    Equalization,
    Hog,
    HogLayout,
    Lbp,
    LbpMapping,
    Neighborhood,
    Options,
)

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
FORMATS = (PixelFormat.GRAY8, PixelFormat.BGR24)
EXTREMES = (75, 90, 120)

BUDGETS = {
    "histogram": (96, 32_834),
    "apply_lut": (64, 256),
    "apply_clahe": (80, 2_048),
    "hog_blocks": (96, 27_216),
    "hog_cells": (96, 11_232),
    "lbp": (72, 16_640),
}
"""Most registers of a thread and bytes of shared memory of a block: within them a multiprocessor of an H200
holds 16 warps or more of every kernel."""

REPORT = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)'.*?(?P<stack>\d+) bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
    r".*?Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)


def default_sources() -> tuple[Source, ...]:
    return kernel_sources(PixelFormat.GRAY8, Options(hog=Hog(), lbp=Lbp()))


def all_sources() -> list[Source]:
    """Every variant of every kernel that any options lead to."""
    equalizations = [Equalization(mode, color=color) for mode, color in product(MODES, ColorMode)]
    hogs = [None, *(Hog(layout) for layout in HogLayout)]
    lbps = [Lbp(*chosen) for chosen in product(Neighborhood, LbpMapping, (False, True))]
    options = [
        Options(equalization, hog, heatmap=heatmap)
        for equalization, hog, heatmap in product(equalizations, hogs, (False, True))
    ]
    options += [Options(lbp=lbp) for lbp in lbps]
    found = [source for pair in product(FORMATS, options) for source in kernel_sources(*pair)]
    return list(dict.fromkeys(found))


def compile_for(source: Source, architecture: int) -> str:
    """NVRTC's log, the assembler's report included, as CuPy would compile."""
    program = nvrtc.createProgram(source.text, f"{source.kernel}.cu", (), ())
    flags = (*source.flags, f"-arch=sm_{architecture}", "-ftz=true", "--ptxas-options=-v")
    try:
        nvrtc.compileProgram(program, flags)
    except nvrtc.NVRTCError:
        pytest.fail(f"{source} sm_{architecture}:\n{nvrtc.getProgramLog(program)}")
    finally:
        log: str = nvrtc.getProgramLog(program)
        nvrtc.destroyProgram(program)
    return log


def check(source: Source, architecture: int) -> None:
    log = compile_for(source, architecture)
    assert "warning" not in log.lower(), log
    report = REPORT.search(log)
    assert report is not None, log
    assert report["kernel"] == source.kernel
    assert (report["stack"], report["stores"], report["loads"]) == ("0", "0", "0"), log
    registers, shared_bytes = BUDGETS[source.kernel]
    shared = re.search(r"(\d+) bytes smem", report["rest"])
    assert int(report["registers"]) <= registers, log
    assert (int(shared[1]) if shared else 0) <= shared_bytes, log


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_default_kernels_keep_their_budgets(architecture):
    for source in default_sources():
        check(source, architecture)


@pytest.mark.parametrize("architecture", EXTREMES)
def test_every_variant_keeps_its_budget(architecture):
    sources = all_sources()
    assert {source.kernel for source in sources} == set(BUDGETS)
    for source in sources:
        check(source, architecture)


def test_a_changed_header_is_compiled_anew(tmp_path, monkeypatch):
    """CuPy's cache knows a kernel by its text and flags; what it includes must show in the flags."""
    source = default_sources()[0]
    before = source.flags
    (tmp_path / "pixels.cuh").write_text("// another")
    monkeypatch.setattr("pipeline.cuda.compiler.FOLDER", tmp_path)
    assert [flag for flag in source.flags if flag.startswith("-DHEADERS")] != [
        flag for flag in before if flag.startswith("-DHEADERS")
    ]
