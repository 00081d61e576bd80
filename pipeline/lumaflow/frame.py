"""What goes into a lane (Frame) and what comes out (Enhanced)."""

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
"""Every frame of a source has the same one, and is asked for it several times."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture on its way through a lane. Rows of every plane may be pitched, pixels may not.

    pixels : the first plane, uint8 up to 8 bits, else uint16: (H, W) for gray and for the luma of nv12,
        i420 and p010; (H, W, 3) for bgr24 and rgb24; (H, W, 4) for bgra32; (H, W', 2) for yuyv and uyvy,
        W' the even width
    pts : presentation time in units of `time_base`, carried through untouched
    corrupt : the decoder doubts this frame; it is mapped, but never becomes a mapping (spec 5)
    chroma : the other planes, for an odd width or height rounded up: (ceil(H/2), ceil(W/2), 2) Cb and Cr
        of nv12 and p010; Cb and Cr, (ceil(H/2), ceil(W/2)) each, of i420
    color : tags, carried through untouched
    alignment : of gray10, gray12 and gray14
    width : in pixels, for a yuyv or uyvy frame of odd width; else it is that of `pixels`

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
        """A frame over an array, without a copy; the format is told by shape and type unless it is given.

        pixels : (H, W) uint8: gray8, (H, W) uint16: gray16, (H, W, 3) uint8: bgr24, (H, W, 4) uint8: bgra32
        tags : as for `Frame`. Raises FrameError.
        """
        return cls(pixels, pixel_format or _format_told_by(pixels), **tags)

    @classmethod
    def from_dlpack(cls, pixels: Any, pixel_format: PixelFormat | None = None, **tags: Any) -> Self:
        """As `from_numpy`, over any array that has DLPack: a PyTorch tensor, say.

        In host memory, or on a GPU, where it is as `from_cupy`; so may the chroma among the `tags`.
        """
        if on_device(pixels):
            from lumaflow.cuda.interop import view

            chroma = tuple(view(plane) for plane in tags.pop("chroma", ()))
            return cls.from_numpy(view(pixels), pixel_format, chroma=chroma, **tags)
        try:
            plane = np.from_dlpack(pixels)
        except (AttributeError, BufferError, RuntimeError, TypeError) as error:
            raise FrameError(
                f"a {type(pixels).__name__} came, which gives NumPy no view ({error}); pass an array in host"
                " memory that has DLPack"
            ) from error
        return cls.from_numpy(plane, pixel_format, **tags)

    @classmethod
    def from_buffer(cls, memory: Any, geometry: Geometry) -> Self:
        """A frame whose planes lie one after the other in `memory`, unpadded, as in FFmpeg's rawvideo.

        memory : any buffer of `geometry.frame_bytes` bytes
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
        """A frame in new memory, its pixels undefined."""
        return cls.from_buffer(np.empty(geometry.frame_bytes, np.uint8), geometry)

    @property
    def geometry(self) -> Geometry:
        """Size, format, range and alignment of this frame."""
        height, width = self.pixels.shape[:2]
        return _geometry(self.width or width, height, self.pixel_format, self.color.range, self.alignment)

    @property
    def planes(self) -> tuple[Plane, ...]:
        """All planes, the first one first."""
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
    """Whose mapping made a picture: an earlier frame's, its own, or none (it passed unchanged)."""

    PREVIOUS = "previous"
    OWN = "own"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """Contrast of each tile of the raw frame (spec 13).

    deviation : (tiles_y, tiles_x) float64, population standard deviation in 8-bit grey levels
    distance : (tiles_y, tiles_x) int64, mean distance to the uniform CDF in 1/65536 (spec 7's w)
    """

    deviation: NDArray[np.float64]
    distance: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Enhanced:
    """A lane's answer to one frame. The arrays belong to the lane: valid until its next `submit`.

    frame : the enhanced picture of the lane's `output` geometry, with the time and tags it came with
    sequence : number of this frame in the lane, from 0
    lut_kind, lut_age : whose mapping was applied, and how many frames old it is
    bins : (2^b,) uint32, histogram of the **raw** luma of this frame (or of its region)
    lut : (rows, columns, 2^b) uint8, or uint16 for a deep output: the mapping that was applied;
        (1, 1, 2^b) in the global modes
    heatmap, hog, lbp, lbp_labels : what was asked for, else None; of the 8-bit display luma
        hog : (blocks_y, blocks_x, 36) or compact (cells_y, cells_x, 9) float32
        lbp : (ceil(H/16), ceil(W/16), labels) uint16 counts; lbp_labels : (H, W) uint8
    stage_seconds : time of every stage that ran; empty for a frame whose times were not read
    clamped : values beyond the depth, each set to the highest level (only with `Options.clamp`)
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


def check_frame_planes(frame: Frame) -> None:
    """Raise FrameError unless all planes of `frame` are usable arrays that fit its format."""
    layout, name = frame.pixel_format.layout, str(frame.pixel_format)
    _check_array(frame.pixels, name, layout, (None, None))
    _check_width(frame)
    shapes = frame.geometry.plane_shapes
    if len(frame.planes) != len(shapes):
        raise FrameError(
            f"{len(frame.planes)} planes came; {name} has {len(shapes)}: {', '.join(map(str, shapes))}"
        )
    for plane, shape in zip(frame.chroma, shapes[1:], strict=True):
        _check_array(plane, f"the chroma of {name}", layout, shape)


def _format_told_by(pixels: Plane) -> PixelFormat:
    kind = (str(getattr(pixels, "dtype", "")), getattr(pixels, "shape", ())[2:])
    told = {
        ("uint8", ()): PixelFormat.GRAY8,
        ("uint16", ()): PixelFormat.GRAY16,
        ("uint8", (3,)): PixelFormat.BGR24,
        ("uint8", (4,)): PixelFormat.BGRA32,
    }
    if kind not in told:
        raise FrameError(
            f"an array {getattr(pixels, 'shape', '')} {kind[0]} came, which tells no pixel format; give it"
        )
    return told[kind]


def _check_width(frame: Frame) -> None:
    width = frame.pixels.shape[1]
    if frame.pixel_format.layout.chroma is Chroma.PACKED:
        if width % 2 or (frame.width or width) not in (width - 1, width):
            raise FrameError(
                f"{frame.pixel_format} of width {frame.width or width} came in rows of {width} pixels;"
                " it needs rows of whole pairs, and for an odd width also Frame(..., width=...)"
            )
    elif frame.width not in (None, width):
        raise FrameError(f"a width of {frame.width} came with pixels {frame.pixels.shape}; leave it out")


def _check_array(array: Any, name: str, layout: Layout, shape: tuple[int | None, ...]) -> None:
    """Raise FrameError unless `array` has this shape (None: any size) and packed pixels in pitched rows."""
    if shape == (None, None) and layout.channels > 1:
        shape = (None, None, layout.channels)
    trouble = _trouble(array, layout, shape)
    if trouble is not None:
        axes = ("HW"[axis] if size is None else str(size) for axis, size in enumerate(shape))
        wanted = f"({', '.join(axes)}) {layout.dtype}"
        raise FrameError(f"{_name(array)} came; {name} needs {wanted}{trouble}")


def _trouble(array: Any, layout: Layout, shape: tuple[int | None, ...]) -> str | None:
    """What else to say about an array that cannot be used; None for one that can."""
    if not (isinstance(array, np.ndarray) or _is_cupys(array)):
        return " as a NumPy or CuPy array"
    if array.dtype != layout.dtype:
        return f"; convert the values to {layout.bits} bits first"
    if array.ndim != len(shape) or any(
        size is not None and size != own for size, own in zip(shape, array.shape, strict=True)
    ):
        return ""
    if 0 in array.shape:
        return " with at least one pixel"
    if not _has_packed_pixels(array):
        return f" with packed pixels (strides {array.strides}); pass np.ascontiguousarray(pixels)"
    return None


def _name(array: Any) -> str:
    if isinstance(array, np.ndarray) or _is_cupys(array):
        return f"an array {array.shape} {array.dtype}"
    return f"a {type(array).__name__}"


def _is_cupys(array: Any) -> bool:
    """Whether this is a CuPy array, told without CuPy."""
    return type(array).__module__.partition(".")[0] == "cupy"


def _has_packed_pixels(array: Plane) -> bool:
    step = array.itemsize
    packed = (step,) if array.ndim == 2 else (array.shape[2] * step, step)
    row_bytes = array.nbytes // array.shape[0]
    return array.strides[1:] == packed and (array.shape[0] == 1 or array.strides[0] >= row_bytes)
