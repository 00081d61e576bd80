"""The kernels' source text and how it is compiled, once for every set of options that changes the code."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lumaflow.cuda.frame_plan import FramePlan, plan_frame
from lumaflow.cuda.launch import Kernels
from lumaflow.cuda.orientation import reorient_kernel, shape_of_pixels
from lumaflow.formats import Family
from lumaflow.geometry import Geometry
from lumaflow.options import ColorMode, Hog, HogLayout, Lbp, Mode, Neighborhood, Options
from lumaflow.tables import axis_map, hog_weights

FOLDER = Path(__file__).parent / "kernels"

FLAGS = ("--std=c++17", "--fmad=false", "-lineinfo")
"""No fused multiply-add: each operation is rounded on its own (spec, build rules). CuPy adds -ftz=true."""

MODES = {Mode.IDENTITY: 0, Mode.EQUALIZE: 1, Mode.CLIPPED: 2, Mode.CLAHE: 3, Mode.STRETCH: 4}
"""The numbers by which the kernels know the modes."""


@dataclass(frozen=True, slots=True)
class KernelSource:
    """One kernel of one set of options: the file `kernel`.cu, whose entry has the same name, and defines.

    role : the name by which a plan asks for it, where that is not the kernel's own
    """

    kernel: str
    defines: tuple[str, ...]
    role: str = ""

    @property
    def name(self) -> str:
        """By which plans ask for it."""
        return self.role or self.kernel

    @property
    def text(self) -> str:
        """The source as it lies in its file."""
        return (FOLDER / f"{self.kernel}.cu").read_text()

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler options; the digest makes CuPy's cache notice a changed header."""
        return (*FLAGS, f"-I{FOLDER}", f"-DHEADERS={_headers_digest()}", *self.defines)


def kernel_sources(geometry: Geometry, options: Options) -> tuple[KernelSource, ...]:
    """The kernels that a lane of this geometry and these options launches."""
    scope = plan_frame(geometry, options)
    sources = _words(scope) if scope.deep else _bytes(scope)
    sources += _turns(scope)
    if scope.gains:
        sources.append(_gain(scope))
    if options.hog is not None:
        sources.append(_hog(options.hog))
    if options.lbp is not None:
        sources.append(_lbp(options.lbp))
    return tuple(dict.fromkeys(sources))


def compile_kernels(sources: tuple[KernelSource, ...]) -> Kernels:
    """Compile (or load from CuPy's cache) the kernels for the current device.

    Raises cupy.cuda.compiler.CompileException with the compiler's log.
    """
    import cupy

    return {
        source.name: cupy.RawModule(code=source.text, options=source.flags).get_function(source.kernel)
        for source in sources
    }


def orientation_source(swapped: bool, pixel_bytes: int, luma: int = -1, naive: bool = False) -> KernelSource:
    """The kernel that turns planes of such pixels; `naive` is slower, and there to be measured against."""
    role = reorient_kernel(swapped, pixel_bytes, luma)
    if swapped:
        return KernelSource("transpose", _defines(PIXEL=pixel_bytes, NAIVE=int(naive)), role)
    return KernelSource("mirror", _defines(PIXEL=pixel_bytes, EXCHANGE=luma), role)


def tone_mapping_source(bits: int, shown: int, mode: Mode) -> KernelSource:
    """The kernel that makes LUTs of histograms of so many bits, with entries of `shown` bits."""
    return KernelSource("words_lut", _defines(BITS=bits, SHOWN=shown, MODE=MODES[mode]))


def _bytes(scope: FramePlan) -> list[KernelSource]:
    """A frame of 8 bits is counted by one kernel, which also makes its mapping, and mapped by another."""
    mode, layout = scope.options.equalization.mode, scope.turned.layout
    value = layout.family is not Family.RGB or scope.options.equalization.color is ColorMode.VALUE
    pixels = {"CHANNELS": layout.channels, "VALUE": int(value), "PLACE": layout.blue or layout.luma}
    luma = int(scope.needs_luma)
    sources = [
        KernelSource(
            "histogram",
            _defines(
                **pixels,
                MODE=MODES[mode],
                LIMITED=int(scope.turned.limited),
                HEATMAP=int(scope.options.heatmap),
            ),
        ),
        KernelSource(
            "apply_clahe" if mode is Mode.CLAHE else "apply_lut",
            _defines(**pixels, COPY=int(mode is Mode.IDENTITY), LUMA=luma),
        ),
    ]
    if scope.beside:
        sources.append(KernelSource("apply_lut", _defines(**pixels, COPY=1, LUMA=luma), "beside"))
    return sources


def _words(scope: FramePlan) -> list[KernelSource]:
    """A deep frame is counted in two steps; then each of its curves is made and used."""
    words = {"BITS": scope.turned.layout.bits, "SHIFT": scope.turned.shift}
    depth = {"BITS": scope.turned.layout.bits}
    sources = [
        KernelSource("words_count", _defines(**words, CHECK=int(scope.checked and scope.counts_all))),
        KernelSource(
            "words_sum",
            _defines(**depth, TILES=int(scope.tile_counts is not None), CHECK=int(scope.checked)),
        ),
    ]
    if scope.checked and not scope.counts_all:
        sources.append(KernelSource("words_check", _defines(**words)))
    if scope.options.heatmap:
        sources.append(KernelSource("words_heatmap", _defines(**depth)))
    sources += _curve(scope, "words", 8 * scope.output.dtype.itemsize, scope.output.shift)
    if scope.display is not None:
        sources += _curve(scope, "display", 8, 0)
    return sources


def _curve(scope: FramePlan, name: str, shown: int, shift: int) -> list[KernelSource]:
    mode, bits = scope.options.equalization.mode, scope.turned.layout.bits
    pixels = _defines(BITS=bits, SHIFT=scope.turned.shift, SHOWN=shown, RAISE=shift)
    sources = []
    if mode is not Mode.IDENTITY:
        sources.append(replace(tone_mapping_source(bits, shown, mode), role=f"{name}_lut"))
    if mode is Mode.CLAHE:
        sources.append(KernelSource("words_clahe", pixels, f"{name}_clahe"))
    if mode is not Mode.CLAHE or scope.beside:
        sources.append(KernelSource("words_apply", pixels, f"{name}_apply"))
    return sources


def _turns(scope: FramePlan) -> list[KernelSource]:
    """The kernels for all planes, but for the first one where it is turned for free."""
    if not scope.turns:
        return []
    planes = range(int(scope.turns_rows_alone), len(scope.geometry.plane_shapes))
    swapped = axis_map(scope.options.orientation).swapped
    shapes = [shape_of_pixels(scope, plane)[2:] for plane in planes]
    return [orientation_source(swapped, pixel_bytes, luma) for pixel_bytes, luma in shapes]


def _gain(scope: FramePlan) -> KernelSource:
    layout, bits = scope.turned.layout, 8 * scope.turned.dtype.itemsize
    woven = layout.channels == 2
    return KernelSource("chroma", _defines(BITS=bits, EVERY=1 + woven, FIRST=int(woven) * (1 - layout.luma)))


def _hog(hog: Hog) -> KernelSource:
    if hog.layout is HogLayout.COMPACT:
        return KernelSource("hog_cells", ())
    # Constants in the code, not loads: each weight becomes the immediate operand of a multiplication.
    weights = ",".join(f"{float(weight).hex()}f" for weight in hog_weights().ravel())
    return KernelSource("hog_blocks", (f"-DHOG_WEIGHTS={weights}",))


def _lbp(lbp: Lbp) -> KernelSource:
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


def _headers_digest() -> int:
    headers: Mapping[str, bytes] = {path.name: path.read_bytes() for path in FOLDER.glob("*.cuh")}
    return zlib.crc32(b"".join(headers[name] for name in sorted(headers)))
