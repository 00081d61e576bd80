"""Selects the kernel sources of a lane and compiles them with NVRTC; options become -D defines."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lumaflow import adaptive
from lumaflow.adaptive import Dehaze
from lumaflow.cuda.frame_plan import FramePlan, plan_frame
from lumaflow.cuda.launch import Kernels
from lumaflow.cuda.lut_adjuster import lut_specs
from lumaflow.cuda.orientation import pixel_layout, reorient_kernel
from lumaflow.formats import Chroma, Family
from lumaflow.geometry import Geometry
from lumaflow.options import ColorMode, Hog, HogLayout, Lbp, Mode, Neighborhood, Options
from lumaflow.tables import axis_map, hog_weights

FOLDER = Path(__file__).parent / "kernels"

FLAGS = ("--std=c++17", "--fmad=false", "-lineinfo")
"""No fused multiply-add: each operation is rounded separately (docs/spec.md). CuPy adds -ftz=true."""

MODES = {Mode.IDENTITY: 0, Mode.EQUALIZE: 1, Mode.CLIPPED: 2, Mode.CLAHE: 3, Mode.STRETCH: 4}
"""Values of the define MODE."""


@dataclass(frozen=True, slots=True)
class KernelSource:
    """One variant of a kernel: the file `kernel`.cu, whose entry point has the same name, and its defines.

    role : the name that launch plans use, if it differs from `kernel`
    """

    kernel: str
    defines: tuple[str, ...]
    role: str = ""

    @property
    def name(self) -> str:
        """The name that launch plans use."""
        return self.role or self.kernel

    @property
    def text(self) -> str:
        """The source code."""
        return (FOLDER / f"{self.kernel}.cu").read_text()

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler options. The digest of the headers invalidates CuPy's cache when a header changes."""
        return (*FLAGS, f"-I{FOLDER}", f"-DHEADERS={_headers_digest()}", *self.defines)


def kernel_sources(geometry: Geometry, options: Options) -> tuple[KernelSource, ...]:
    """The kernels that a lane with this geometry and these options launches."""
    plan = plan_frame(geometry, options)
    sources = _u16_sources(plan) if plan.is_u16 else _u8_sources(plan)
    sources += _reorient_sources(plan)
    if options.equalization.mode.adaptive:
        sources += _adaptive_sources(plan)
    if plan.smooths or plan.gates:
        sources += _adjuster_sources(plan)
    if plan.has_chroma_gain:
        sources.append(_chroma_gain_source(plan))
    if options.hog is not None:
        sources.append(_hog_source(options.hog))
    if options.lbp is not None:
        sources.append(_lbp_source(options.lbp))
    return tuple(dict.fromkeys(sources))


def compile_kernels(sources: tuple[KernelSource, ...]) -> Kernels:
    """Compile the kernels for the current device, or load them from CuPy's cache.

    Raises cupy.cuda.compiler.CompileException with the compiler log.
    """
    import cupy

    return {
        source.name: cupy.RawModule(code=source.text, options=source.flags).get_function(source.kernel)
        for source in sources
    }


def orientation_source(swapped: bool, pixel_bytes: int, luma: int = -1, naive: bool = False) -> KernelSource:
    """The kernel that transposes (`swapped`) or flips planes of pixels of this size.

    luma : as in `reorient_kernel`
    naive : without shared memory, as a baseline for benchmarks
    """
    role = reorient_kernel(swapped, pixel_bytes, luma)
    if swapped:
        return KernelSource("transpose", _defines(PIXEL_BYTES=pixel_bytes, NAIVE=int(naive)), role)
    return KernelSource("flip", _defines(PIXEL_BYTES=pixel_bytes, SWAP_LUMA=luma), role)


def build_lut_source(bits: int, out_bits: int, mode: Mode) -> KernelSource:
    """The kernel that builds LUTs from histograms of 2^bits levels; LUT entries have `out_bits` bits."""
    return KernelSource("u16_build_lut", _defines(BITS=bits, OUT_BITS=out_bits, MODE=MODES[mode]))


def _u8_sources(plan: FramePlan) -> list[KernelSource]:
    """8-bit frames: one kernel counts and builds the LUTs, another applies them."""
    mode, pixels = plan.lut_mode, _pixel_defines(plan)
    luma = int(plan.needs_luma)
    sources = [
        KernelSource(
            "histogram",
            _defines(
                **pixels,
                MODE=MODES[mode],
                LIMITED=int(plan.oriented.limited),
                HEATMAP=int(plan.options.heatmap),
            ),
        ),
        KernelSource(
            "apply_clahe" if mode is Mode.CLAHE else "apply_lut",
            _defines(**pixels, COPY=int(mode is Mode.IDENTITY), LUMA=luma),
        ),
    ]
    if plan.is_partial:
        sources.append(KernelSource("apply_lut", _defines(**pixels, COPY=1, LUMA=luma), "copy"))
    return sources


def _pixel_defines(plan: FramePlan) -> dict[str, int]:
    """Defines of pixels.cuh."""
    layout = plan.oriented.layout
    value = layout.family is not Family.RGB or plan.options.equalization.color is ColorMode.VALUE
    return {"CHANNELS": layout.channels, "VALUE": int(value), "CHANNEL": layout.blue or layout.luma}


def _u16_sources(plan: FramePlan) -> list[KernelSource]:
    """High bit depth: two kernels count; each output has a kernel to build LUTs and one to apply them."""
    samples = {"BITS": plan.oriented.layout.bits, "SHIFT": plan.oriented.shift}
    depth = {"BITS": plan.oriented.layout.bits}
    sources = [
        KernelSource(
            "u16_histogram", _defines(**samples, CHECK=int(plan.checks_range and plan.counts_whole_frame))
        ),
        KernelSource(
            "u16_sum_histograms",
            _defines(**depth, TILES=int(plan.tile_counts is not None), CHECK=int(plan.checks_range)),
        ),
    ]
    if plan.checks_range and not plan.counts_whole_frame:
        sources.append(KernelSource("u16_check_range", _defines(**samples)))
    if plan.options.heatmap:
        sources.append(KernelSource("u16_heatmap", _defines(**depth)))
    sources += _tone_mapper_sources(plan, "u16", 8 * plan.output.dtype.itemsize, plan.output.shift)
    if plan.display is not None:
        sources += _tone_mapper_sources(plan, "display", 8, 0)
    return sources


def _tone_mapper_sources(plan: FramePlan, name: str, out_bits: int, out_shift: int) -> list[KernelSource]:
    mode, bits = plan.lut_mode, plan.oriented.layout.bits
    pixels = _defines(BITS=bits, SHIFT=plan.oriented.shift, OUT_BITS=out_bits, OUT_SHIFT=out_shift)
    sources = []
    if mode is not Mode.IDENTITY:
        sources.append(replace(build_lut_source(bits, out_bits, mode), role=f"{name}_build_lut"))
    if mode is Mode.CLAHE:
        sources.append(KernelSource("u16_apply_clahe", pixels, f"{name}_apply_clahe"))
    if mode is not Mode.CLAHE or plan.is_partial:
        sources.append(KernelSource("u16_apply_lut", pixels, f"{name}_apply_lut"))
    return sources


def _adjuster_sources(plan: FramePlan) -> list[KernelSource]:
    """The gate, scene cuts and smoothing of a plain mode."""
    layout, levels = plan.oriented.layout, plan.level_range
    sources = [
        KernelSource(
            "adjust_luts",
            _defines(
                LUT_BITS=8 * np.dtype(dtype).itemsize,
                LEVELS=plan.levels,
                GATE=int(plan.gates),
                SMOOTH=int(plan.smooths),
            ),
            f"adjust_{name}",
        )
        for name, dtype in lut_specs(plan).items()
    ]
    if plan.gates:
        sources.append(
            KernelSource("gate_strength", _defines(BITS=layout.bits, LOW=levels.low, HIGH=levels.high))
        )
    if plan.smooths:
        deep = {"BITS": layout.bits, "SHIFT": plan.oriented.shift}
        pixels = deep if plan.is_u16 else _pixel_defines(plan)
        sources.append(KernelSource("scene_cut", _defines(DEEP=int(plan.is_u16), **pixels)))
    return sources


CHROMA = {Chroma.NONE: 0, Chroma.SEMI_PLANAR: 1, Chroma.PLANAR: 2, Chroma.PACKED: 3}
COMPONENTS = {Family.GRAY: 0, Family.RGB: 1, Family.YUV: 2}
DEHAZE = {Dehaze.NONE: 0, Dehaze.PLAIN: 1, Dehaze.AUTO: 2}
"""Values of the defines CHROMA, COMPONENTS and HAZE."""


DECIDE_CONSTANTS = (
    *("FULL_MEAN", "NONE_MEAN", "MAX_GAIN", "MAX_NOISE_OUT", "SLOW", "FAST", "TEMPORAL_ON", "TEMPORAL_OFF"),
    *("STRETCH_SPAN", "STRETCH_NONE", "STRETCH_FULL", "STRETCH_WALL_NONE", "STRETCH_WALL_FULL"),
    *("MAX_STRETCH", "HAZE_WEIGHT", "HAZE_LAG", "OMEGA", "UNTEXTURED_FLOOR", "TEXTURE_FALL"),
    *("CLEAR_DARK", "HAZY_DARK", "FADE_FRAMES"),
)
"""Constants of `lumaflow.adaptive` in adaptive_decide."""


def _adaptive_sources(plan: FramePlan) -> list[KernelSource]:
    """The kernels of an adaptive mode; frames are also counted and copied by those of mode identity."""
    oriented, output, parameters = plan.oriented, plan.output, plan.adaptive
    layout = oriented.layout
    limited = int(oriented.limited)
    samples = {
        "CHANNELS": layout.channels,
        "CHANNEL": layout.blue or layout.luma,
        "BITS": layout.bits,
        "SHIFT": oriented.shift,
        "LIMITED": limited,
    }
    levels = {**samples, "OUT_BITS": output.layout.bits, "OUT_LIMITED": int(output.limited)}
    haze = {"COMPONENTS": COMPONENTS[layout.family], "LIMITED": limited}
    chroma = CHROMA[layout.chroma]
    mapped = {
        **levels,
        "OUT_SHIFT": output.shift if output.layout.bits > 8 else 0,
        "LUMA": int(plan.needs_luma),
        "CHROMA_ROWS": (0, 2, 2, 1)[chroma],
    }
    decide = _defines(**haze, HAZE=DEHAZE[parameters.dehaze]) + _constants(*DECIDE_CONSTANTS)
    sources = [
        KernelSource("adaptive_statistics", _defines(**samples)),
        KernelSource(
            "adaptive_curve",
            _defines(RGB=int(layout.family is Family.RGB)) + _constants("WHITE_TARGET", "BRIGHT_LEVEL"),
        ),
        KernelSource("adaptive_decide", decide),
        KernelSource("adaptive_mapping", ()),
        KernelSource("adaptive_apply", _defines(**mapped)),
        KernelSource("adaptive_lut", _defines(**levels)),
    ]
    if parameters.dehaze is not Dehaze.NONE:
        means = _defines(**samples, COMPONENTS=haze["COMPONENTS"], CHROMA=chroma)
        sources.append(KernelSource("adaptive_haze_means", means))
        sources.append(KernelSource("adaptive_haze", _defines(COMPONENTS=haze["COMPONENTS"], LIMITED=0)))
    if parameters.denoise:
        sources.append(KernelSource("adaptive_filter", _defines(**samples) + _constants("STILL_WEIGHT")))
    if chroma:
        defines = {name: samples[name] for name in ("BITS", "SHIFT", "CHANNEL")}
        sources.append(KernelSource("adaptive_chroma", _defines(**defines, CHROMA=chroma)))
    return sources


def _reorient_sources(plan: FramePlan) -> list[KernelSource]:
    """The kernels that reorient the planes; the first plane needs none if only its rows are reversed."""
    if not plan.is_reoriented:
        return []
    planes = range(int(plan.reverses_rows), len(plan.geometry.plane_shapes))
    swapped = axis_map(plan.options.orientation).swapped
    layouts = [pixel_layout(plan, plane)[2:] for plane in planes]
    return [orientation_source(swapped, pixel_bytes, luma) for pixel_bytes, luma in layouts]


def _chroma_gain_source(plan: FramePlan) -> KernelSource:
    layout, bits = plan.oriented.layout, 8 * plan.oriented.dtype.itemsize
    packed = layout.channels == 2
    defines = _defines(BITS=bits, STRIDE=1 + packed, OFFSET=int(packed) * (1 - layout.luma))
    return KernelSource("chroma_gain", defines)


def _hog_source(hog: Hog) -> KernelSource:
    if hog.layout is HogLayout.COMPACT:
        return KernelSource("hog_cells", ())
    # Compile-time constants: each weight becomes an immediate operand instead of a load.
    weights = ",".join(f"{float(weight).hex()}f" for weight in hog_weights().ravel())
    return KernelSource("hog_blocks", (f"-DHOG_WEIGHTS={weights}",))


def _lbp_source(lbp: Lbp) -> KernelSource:
    return KernelSource(
        "lbp",
        _defines(
            CIRCLE=int(lbp.neighborhood is Neighborhood.CIRCLE),
            LABELS=lbp.mapping.labels,
            KEEP_LABELS=int(lbp.labels),
        ),
    )


def _defines(**values: int) -> tuple[str, ...]:
    return tuple(f"-D{name}={value}" for name, value in values.items())


def _constants(*names: str) -> tuple[str, ...]:
    """Defines of constants of `lumaflow.adaptive`; a float becomes float32."""
    values = {name: getattr(adaptive, name) for name in names}
    return tuple(
        f"-D{name}={value}" if isinstance(value, int) else f"-D{name}={float(np.float32(value)).hex()}f"
        for name, value in values.items()
    )


def _headers_digest() -> int:
    headers: Mapping[str, bytes] = {path.name: path.read_bytes() for path in FOLDER.glob("*.cuh")}
    return zlib.crc32(b"".join(headers[name] for name in sorted(headers)))
