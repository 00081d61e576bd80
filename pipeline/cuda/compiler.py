"""The kernels' source text and how it is compiled, once for every set of options that changes the code."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.cuda.launch import Kernels
from pipeline.frame import PixelFormat
from pipeline.options import ColorMode, Hog, HogLayout, Lbp, Mode, Neighborhood, Options
from pipeline.tables import hog_weights

FOLDER = Path(__file__).parent / "kernels"

FLAGS = ("--std=c++17", "--fmad=false", "-lineinfo")
"""No fused multiply-add: each operation is rounded on its own (spec, build rules). CuPy adds -ftz=true."""

MODES = {Mode.IDENTITY: 0, Mode.EQUALIZE: 1, Mode.CLIPPED: 2, Mode.CLAHE: 3}
"""The numbers by which the kernels know the modes."""


@dataclass(frozen=True, slots=True)
class Source:
    """One kernel of one set of options: the file `kernel`.cu, whose entry has the same name, and defines."""

    kernel: str
    defines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The source as it lies in its file."""
        return (FOLDER / f"{self.kernel}.cu").read_text()

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler options; the digest makes CuPy's cache notice a changed header."""
        return (*FLAGS, f"-I{FOLDER}", f"-DHEADERS={_headers_digest()}", *self.defines)


def kernel_sources(pixel_format: PixelFormat, options: Options) -> tuple[Source, ...]:
    """The kernels that a lane of this format and these options launches."""
    sources = [_histogram(pixel_format, options), _apply(pixel_format, options)]
    if options.hog is not None:
        sources.append(_hog(options.hog))
    if options.lbp is not None:
        sources.append(_lbp(options.lbp))
    return tuple(sources)


def compile_kernels(pixel_format: PixelFormat, options: Options) -> Kernels:
    """Compile (or load from CuPy's cache) the kernels for the current device.

    Raises cupy.cuda.compiler.CompileException with the compiler's log.
    """
    import cupy

    return {
        source.kernel: cupy.RawModule(code=source.text, options=source.flags).get_function(source.kernel)
        for source in kernel_sources(pixel_format, options)
    }


def _histogram(pixel_format: PixelFormat, options: Options) -> Source:
    return Source(
        "histogram",
        _defines(
            CHANNELS=pixel_format.channels,
            VALUE=_maps_value(pixel_format, options),
            MODE=MODES[options.equalization.mode],
            HEATMAP=int(options.heatmap),
        ),
    )


def _apply(pixel_format: PixelFormat, options: Options) -> Source:
    mode = options.equalization.mode
    features = options.hog is not None or options.lbp is not None
    return Source(
        "apply_clahe" if mode is Mode.CLAHE else "apply_lut",
        _defines(
            CHANNELS=pixel_format.channels,
            VALUE=_maps_value(pixel_format, options),
            COPY=int(mode is Mode.IDENTITY),
            LUMA=int(features and pixel_format is PixelFormat.BGR24),
        ),
    )


def _hog(hog: Hog) -> Source:
    if hog.layout is HogLayout.COMPACT:
        return Source("hog_cells", ())
    # Constants in the code, not loads: each weight becomes the immediate operand of a multiplication.
    weights = ",".join(f"{float(weight).hex()}f" for weight in hog_weights().ravel())
    return Source("hog_blocks", (f"-DHOG_WEIGHTS={weights}",))


def _lbp(lbp: Lbp) -> Source:
    return Source(
        "lbp",
        _defines(
            CIRCLE=int(lbp.neighborhood is Neighborhood.CIRCLE),
            LABELS=lbp.mapping.labels,
            KEEP_LABELS=int(lbp.labels),
        ),
    )


def _maps_value(pixel_format: PixelFormat, options: Options) -> int:
    """1 if the value is mapped, 0 for the luma; 1 for gray frames, which know no difference."""
    return int(pixel_format is PixelFormat.GRAY8 or options.equalization.color is ColorMode.VALUE)


def _defines(**values: int) -> tuple[str, ...]:
    return tuple(f"-D{name}={value}" for name, value in values.items())


def _headers_digest() -> int:
    headers: Mapping[str, bytes] = {path.name: path.read_bytes() for path in FOLDER.glob("*.cuh")}
    return zlib.crc32(b"".join(headers[name] for name in sorted(headers)))
