"""All CUDA kernels compile with NVRTC, which needs no GPU: no warnings, no register spills, within limits."""

import re
from contextlib import suppress
from dataclasses import replace
from itertools import product

import pytest
from cupy.cuda import nvrtc

from lumaflow.cuda.compiler import MODES, KernelSource, kernel_sources, orientation_source
from lumaflow.errors import OptionError
from lumaflow.formats import Alignment, Family, PixelFormat, Range
from lumaflow.geometry import Geometry
from lumaflow.options import (
    ColorMode,
    Equalization,
    Hog,
    HogLayout,
    Lbp,
    LbpMapping,
    Mode,
    Neighborhood,
    Options,
    Orientation,
    Output,
    Region,
)

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
EXTREMES = (75, 90, 120)

LIMITS = {
    "histogram": (96, 32_835),
    "apply_lut": (64, 256),
    "apply_clahe": (80, 2_048),
    "u16_check_range": (48, 0),
    "u16_histogram": (64, 32_768),
    "u16_sum_histograms": (64, 4_096),
    "u16_build_lut": (64, 272),
    "u16_heatmap": (64, 128),
    "u16_apply_lut": (64, 32_768),
    "u16_apply_clahe": (64, 32_768),
    "adaptive_statistics": (64, 8_256),
    "adaptive_haze_means": (64, 0),
    "adaptive_haze": (64, 24_064),
    "adaptive_curve": (96, 1_024),
    "adaptive_decide": (96, 4_096),
    "adaptive_mapping": (64, 2_048),
    "adaptive_filter": (80, 44_160),
    "adaptive_apply": (64, 4_096),
    "adaptive_chroma": (48, 0),
    "adaptive_lut": (64, 256),
    "gate_strength": (64, 256),
    "scene_cut": (64, 22_000),
    "adjust_luts": (32, 0),
    "transpose": (64, 16_384),
    "flip": (48, 0),
    "chroma_gain": (32, 0),
    "hog_blocks": (96, 27_760),
    "hog_cells": (96, 11_776),
    "lbp": (72, 16_640),
}
"""Maximum registers per thread and bytes of shared memory per block, for at least 16 warps per SM of an H200.
"""

REPORT = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)'.*?(?P<stack>\d+) bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
    r".*?Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)


def default_sources() -> tuple[KernelSource, ...]:
    geometry, auto = Geometry(8, 8, PixelFormat.GRAY8), Options(Equalization(Mode.AUTO))
    return (*kernel_sources(geometry, Options(hog=Hog(), lbp=Lbp())), *kernel_sources(geometry, auto))


def all_sources() -> list[KernelSource]:
    """All variants of all kernels, for all geometries and options, and the naive transposition."""
    equalizations = [Equalization(mode, color=color) for mode, color in product(MODES, ColorMode)]
    options = [
        Options(equalization, lbp=lbp, heatmap=heatmap, region=Region(0, 0, 8, 8, apply_to_whole_frame=False))
        for equalization, lbp, heatmap in product(equalizations, (None, Lbp()), (False, True))
    ]
    options += [Options(hog=Hog(layout)) for layout in HogLayout]
    options += [Options(lbp=Lbp(*selected)) for selected in product(Neighborhood, LbpMapping, (False, True))]
    options += [Options(Equalization(chroma_gain=2.0))]
    options += [Options(Equalization(mode), output=Output.DISPLAY) for mode in MODES]
    options += [Options(orientation=orientation) for orientation in Orientation]
    adaptive = [Equalization(mode) for mode in Mode if mode.adaptive]
    adjusted = [Equalization(smoothing=0.5), Equalization(gate=True), Equalization(smoothing=0.5, gate=True)]
    options += [Options(one, lbp=Lbp()) for one in adjusted]
    options += [Options(mode, lbp=lbp) for mode, lbp in product(adaptive, (None, Lbp()))]
    options += [Options(mode, output=Output.DISPLAY) for mode in adaptive]
    found = [orientation_source(True, 1, naive=True)]
    for geometry, selected in product(geometries(), options):
        with suppress(OptionError):
            found += kernel_sources(geometry, selected)
    return list({replace(source, role=""): None for source in found})


def geometries() -> list[Geometry]:
    """All formats, ranges and alignments."""
    formats = [*PixelFormat]
    found = [
        Geometry(16, 16, pixel_format, range, alignment)
        for pixel_format, range, alignment in product(formats, (Range.FULL, Range.LIMITED), Alignment)
        if range is Range.FULL or pixel_format.layout.family is not Family.RGB
    ]
    return list(dict.fromkeys(found))


def compile_for(source: KernelSource, architecture: int) -> str:
    """The log of NVRTC with the report of the assembler, compiled as by CuPy."""
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


def check(source: KernelSource, architecture: int) -> None:
    log = compile_for(source, architecture)
    assert "warning" not in log.lower(), log
    report = REPORT.search(log)
    assert report is not None, log
    assert report["kernel"] == source.kernel
    assert (report["stack"], report["stores"], report["loads"]) == ("0", "0", "0"), log
    registers, shared_bytes = LIMITS[source.kernel]
    shared = re.search(r"(\d+) bytes smem", report["rest"])
    assert int(report["registers"]) <= registers, log
    assert (int(shared[1]) if shared else 0) <= shared_bytes, log


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_default_kernels_are_within_their_limits(architecture):
    for source in default_sources():
        check(source, architecture)


@pytest.mark.parametrize("architecture", EXTREMES)
def test_each_variant_is_within_its_limits(architecture):
    """Each variant on one architecture, each kernel on all three."""
    sources = all_sources()
    assert {source.kernel for source in sources} == set(LIMITS)
    first = EXTREMES.index(architecture)
    for kernel in LIMITS:
        for source in [source for source in sources if source.kernel == kernel][first :: len(EXTREMES)]:
            check(source, architecture)


def test_a_changed_header_changes_the_flags(tmp_path, monkeypatch):
    """The key of CuPy's cache is text and flags of a kernel, so the flags must depend on the headers."""
    source = default_sources()[0]
    before = source.flags
    (tmp_path / "pixels.cuh").write_text("// another")
    monkeypatch.setattr("lumaflow.cuda.compiler.FOLDER", tmp_path)
    assert [flag for flag in source.flags if flag.startswith("-DHEADERS")] != [
        flag for flag in before if flag.startswith("-DHEADERS")
    ]
