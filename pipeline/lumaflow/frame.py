"""The input of a lane (`Frame`) and its result (`Enhanced`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lumaflow.array_device import on_device
from lumaflow.errors import FrameError
from lumaflow.formats import Alignment, Chroma, Color, Layout, PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.stage import Stage

Plane = NDArray[Any]
"""One plane of a frame: uint8, or uint16 above 8 bits."""

UNTAGGED = Color()

PLANE_FIELDS = ("pixels", "pixel_format", "chroma", "width")
"""Fields that describe the planes; the others are metadata: timestamps and tags."""

_geometry = lru_cache(256)(Geometry)
"""Cached: all frames of a source have the same geometry, and each needs it several times."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One video frame or image: its planes, timestamps and tags.

    The rows of a plane can have padding between them; the pixels of a row cannot.

    pixels : the first plane, uint8, or uint16 above 8 bits. (H, W) for gray and for the luma of nv12, i420
        and p010; (H, W, 3) for bgr24 and rgb24; (H, W, 4) for bgra32; (H, W', 2) for yuyv and uyvy, where
        W' is W rounded up to even
    pts : presentation timestamp in units of `time_base`; the enhanced frame has the same
    corrupt : decoded with errors: the frame is enhanced, but its LUT is not used for the next one (spec 5)
    chroma : the other planes. nv12, p010: one (ceil(H/2), ceil(W/2), 2) plane of Cb and Cr; i420: a Cb and
        a Cr plane of (ceil(H/2), ceil(W/2))
    color : the enhanced frame has the same
    alignment : of gray10, gray12 and gray14
    width : in pixels, needed only for yuyv and uyvy frames of odd width

    Raises FrameError when an array does not fit the format.
    """

    pixels: Plane
    pixel_format: PixelFormat
    pts: int | None = None
    time_base: Fraction | None = None
    corrupt: bool = False
    chroma: tuple[Plane, ...] = ()
    color: Color = UNTAGGED
    alignment: Alignment = Alignment.LSB
    width: int | None = None

    def __post_init__(self) -> None:
        check_frame_planes(self)

    @classmethod
    def from_numpy(cls, pixels: Plane, pixel_format: PixelFormat | None = None, **tags: Any) -> Self:
        """Wrap an array of NumPy or CuPy in a frame, without a copy.

        pixels : by default (H, W) uint8 is gray8, (H, W) uint16 gray16, (H, W, 3) uint8 bgr24 and
            (H, W, 4) uint8 bgra32. A CuPy array needs a lane on its GPU, which reads it after all work that
            is on CuPy's current stream at `submit`
        tags : other fields of Frame

        Raises FrameError.
        """
        return cls(pixels, pixel_format or _default_format(pixels), **tags)

    @classmethod
    def from_dlpack(cls, pixels: Any, pixel_format: PixelFormat | None = None, **tags: Any) -> Self:
        """Wrap any array that supports DLPack, such as a PyTorch tensor, as `from_numpy` does.

        On a GPU the chroma planes in `tags` can be such arrays too. Raises FrameError.
        """
        if on_device(pixels):
            from lumaflow.cuda.interop import view

            chroma = tuple(view(plane) for plane in tags.pop("chroma", ()))
            return cls.from_numpy(view(pixels), pixel_format, chroma=chroma, **tags)
        try:
            plane = np.from_dlpack(pixels)
        except (AttributeError, BufferError, RuntimeError, TypeError) as error:
            raise FrameError(
                f"expected an array with DLPack in host memory, got {type(pixels).__name__} ({error});"
                " convert it to NumPy first"
            ) from error
        return cls.from_numpy(plane, pixel_format, **tags)

    @classmethod
    def from_buffer(cls, memory: Any, geometry: Geometry) -> Self:
        """Return a frame over `memory`, with the planes one after the other, as in FFmpeg's rawvideo.

        memory : a buffer of `geometry.frame_bytes` bytes, rows without padding
        """
        samples = np.frombuffer(memory, geometry.dtype)
        planes, start = [], 0
        for shape in geometry.plane_shapes:
            size = int(np.prod(shape))
            planes.append(samples[start : start + size].reshape(shape))
            start += size
        return cls(
            planes[0],
            geometry.pixel_format,
            chroma=tuple(planes[1:]),
            color=Color(geometry.range),
            alignment=geometry.alignment,
            width=geometry.width,
        )

    @classmethod
    def empty(cls, geometry: Geometry) -> Self:
        """Return a frame in new memory with undefined pixels."""
        return cls.from_buffer(np.empty(geometry.frame_bytes, np.uint8), geometry)

    @property
    def geometry(self) -> Geometry:
        """Size, format, range and alignment of this frame."""
        height, width = self.pixels.shape[:2]
        return _geometry(self.width or width, height, self.pixel_format, self.color.range, self.alignment)

    @property
    def planes(self) -> tuple[Plane, ...]:
        """All planes, `pixels` first."""
        return (self.pixels, *self.chroma)

    def with_metadata_of(self, source: "Frame") -> "Frame":
        """Return a frame over the planes of this one, with the timestamps and tags of `source`."""
        combined = object.__new__(Frame)  # skips the checks: these planes have passed them
        for name, value in zip(PLANE_FIELDS, _plane_values(self), strict=True):
            object.__setattr__(combined, name, value)
        for name, value in zip(METADATA_FIELDS, _metadata_values(source), strict=True):
            object.__setattr__(combined, name, value)
        return combined


METADATA_FIELDS = tuple(name for name in Frame.__dataclass_fields__ if name not in PLANE_FIELDS)
_plane_values, _metadata_values = attrgetter(*PLANE_FIELDS), attrgetter(*METADATA_FIELDS)


class LutKind(StrEnum):
    """The LUT of a frame: that of an earlier frame, its own, or the identity (`Mode.IDENTITY`)."""

    PREVIOUS = "previous"
    OWN = "own"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """Contrast of each tile of the raw frame (spec 13).

    deviation : (tiles_y, tiles_x) float64, population standard deviation in 8-bit gray levels
    distance : (tiles_y, tiles_x) int64, mean distance to the uniform CDF in 1/65536 (`w` of spec 7)
    """

    deviation: NDArray[np.float64]
    distance: NDArray[np.int64]


class Tone(StrEnum):
    """The main effect of an adaptive mode on a frame."""

    BYPASS = "bypass"
    STRETCH = "stretch"
    LOWLIGHT = "lowlight"
    DEHAZE = "dehaze"


@dataclass(frozen=True, slots=True)
class ToneReport:
    """What an adaptive mode did to a frame, and why (spec 16.9).

    mode : the main effect
    strength : of that effect, 0 to 1
    gain : of dark levels; 1: unchanged
    noise : standard deviation of the noise at level 0, in 8-bit levels
    black, white : levels that the mapping takes as black and as white, in 8-bit levels
    haze : strength of the haze removal, 0 to 1
    cut : True if a scene cut precedes the frame, or no frame does
    denoised : True if the noise filters changed the frame
    reason : one sentence
    """

    mode: Tone
    strength: float
    gain: float
    noise: float
    black: float
    white: float
    haze: float
    cut: bool
    denoised: bool
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Enhanced:
    """The result of one frame. The lane owns the arrays; they are valid until its next `submit`.

    frame : the enhanced frame, of the lane's `output` geometry, with the timestamps and tags of the raw one
    sequence : number of this frame in the lane, from 0
    lut_kind, lut_age : which LUT was applied, and how many frames earlier it was built
    bins : (2^b,) uint32, histogram of the luma of the **raw** frame, or of its region
    lut : (rows, columns, 2^b) uint8, or uint16 for an output above 8 bits: the LUTs that were applied;
        (1, 1, 2^b) in every mode but CLAHE; in an adaptive mode the mean of its local curves
    heatmap : of the raw frame, or None
    hog : (blocks_y, blocks_x, 36) or compact (cells_y, cells_x, 9) float32, or None
    lbp : (ceil(H/16), ceil(W/16), labels) uint16 counts, or None
    lbp_labels : (H, W) uint8, or None. HOG and LBP are computed from the enhanced luma at 8 bits
    stage_seconds : duration of every stage that ran; empty for a frame that was not timed
    clamped : number of values above the bit depth, set to the highest level (only with `Options.clamp`)
    tone : what an adaptive mode did, or None in a plain mode
    """

    frame: Frame
    sequence: int
    lut_kind: LutKind
    lut_age: int
    bins: NDArray[np.uint32]
    lut: Plane
    stage_seconds: Mapping[Stage, float]
    heatmap: HeatMap | None = None
    hog: NDArray[np.float32] | None = None
    lbp: NDArray[np.uint16] | None = None
    lbp_labels: NDArray[np.uint8] | None = None
    clamped: int = 0
    tone: ToneReport | None = None


def check_frame_planes(frame: Frame) -> None:
    """Raise FrameError unless all planes fit the format of the frame."""
    layout, name = frame.pixel_format.layout, str(frame.pixel_format)
    _check_array(frame.pixels, name, layout, (None, None))
    _check_width(frame)
    shapes = frame.geometry.plane_shapes
    if len(frame.planes) != len(shapes):
        raise FrameError(
            f"expected {len(shapes)} planes for {name}: {', '.join(map(str, shapes))}, got"
            f" {len(frame.planes)}; pass the others as chroma"
        )
    for plane, shape in zip(frame.chroma, shapes[1:], strict=True):
        _check_array(plane, f"the chroma of {name}", layout, shape)


def _default_format(pixels: Plane) -> PixelFormat:
    dtype, shape = str(getattr(pixels, "dtype", "")), getattr(pixels, "shape", ())
    formats = {
        ("uint8", ()): PixelFormat.GRAY8,
        ("uint16", ()): PixelFormat.GRAY16,
        ("uint8", (3,)): PixelFormat.BGR24,
        ("uint8", (4,)): PixelFormat.BGRA32,
    }
    pixel_format = formats.get((dtype, shape[2:]))
    if pixel_format is None:
        raise FrameError(f"{_describe(pixels)} has no default pixel format; pass pixel_format")
    return pixel_format


def _check_width(frame: Frame) -> None:
    width = frame.pixels.shape[1]
    if frame.pixel_format.layout.chroma is Chroma.PACKED:
        if width % 2 or (frame.width or width) not in (width - 1, width):
            raise FrameError(
                f"expected rows of an even number of pixels for {frame.pixel_format}, got {width} pixels for"
                f" width {frame.width or width}; pad the rows, and pass width=... for an odd width"
            )
    elif frame.width not in (None, width):
        raise FrameError(f"expected width {width}, that of the pixels, got {frame.width}; leave it out")


def _check_array(array: Any, name: str, layout: Layout, shape: tuple[int | None, ...]) -> None:
    """Raise FrameError unless `array` has this shape (None: any size) and rows of packed pixels."""
    if shape == (None, None) and layout.channels > 1:
        shape = (None, None, layout.channels)
    advice = _advice(array, layout, shape)
    if advice is not None:
        axes = ("HW"[axis] if size is None else str(size) for axis, size in enumerate(shape))
        expected = f"({', '.join(axes)}) {layout.dtype} for {name}"
        raise FrameError(f"expected {expected}, got {_describe(array)}; {advice}")


def _advice(array: Any, layout: Layout, shape: tuple[int | None, ...]) -> str | None:
    """Return how to make the array usable; None if it is."""
    if not _is_array(array):
        return "pass a NumPy or CuPy array"
    if array.dtype != layout.dtype:
        return f"convert the values to {layout.bits} bits"
    if array.ndim != len(shape) or any(
        size is not None and size != own for size, own in zip(shape, array.shape, strict=True)
    ):
        return "pass another array or pixel_format"
    if 0 in array.shape:
        return "pass at least one pixel"
    if not _has_packed_pixels(array):
        return "pass np.ascontiguousarray(pixels)"
    return None


def _describe(array: Any) -> str:
    if not _is_array(array):
        return type(array).__name__
    return f"{array.shape} {array.dtype} with strides {array.strides}"


def _is_array(array: Any) -> bool:
    """Return True for an array of NumPy or CuPy, without importing CuPy."""
    return isinstance(array, np.ndarray) or type(array).__module__.partition(".")[0] == "cupy"


def _has_packed_pixels(array: Plane) -> bool:
    step = array.itemsize
    packed = (step,) if array.ndim == 2 else (array.shape[2] * step, step)
    row_bytes = array.nbytes // array.shape[0]
    return array.strides[1:] == packed and (array.shape[0] == 1 or array.strides[0] >= row_bytes)
