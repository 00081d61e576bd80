"""What goes into a lane (Frame) and what comes out (Enhanced)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import FrameError
from pipeline.stage import Stage

MAX_SIDE_PX = 32768
"""Longest side of a frame; keeps every pixel count and offset well inside 32 bits."""


class PixelFormat(StrEnum):
    """How the bytes of a frame are to be read; names as in FFmpeg."""

    GRAY8 = "gray8"
    BGR24 = "bgr24"

    @property
    def channels(self) -> int:
        """Interleaved channels of a pixel."""
        return {"gray8": 1, "bgr24": 3}[self.value]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Size and format shared by all frames of a lane; width and height in pixels."""

    width: int
    height: int
    pixel_format: PixelFormat

    def __post_init__(self) -> None:
        if not (1 <= self.width <= MAX_SIDE_PX and 1 <= self.height <= MAX_SIDE_PX):
            raise FrameError(
                f"a frame of {self.width}x{self.height} pixels came; each side must be 1..{MAX_SIDE_PX}"
            )

    def __str__(self) -> str:
        return f"{self.width}x{self.height} {self.pixel_format}"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the pixel array: (H, W), or (H, W, 3) for colour."""
        channels = self.pixel_format.channels
        return (self.height, self.width) if channels == 1 else (self.height, self.width, channels)

    @property
    def frame_bytes(self) -> int:
        """Bytes of one frame without padding."""
        return self.width * self.height * self.pixel_format.channels


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture on its way through a lane.

    pixels : (H, W) uint8 for gray8, (H, W, 3) uint8 for bgr24; rows may be pitched, pixels may not
    pts : presentation time in units of `time_base`, carried through untouched
    corrupt : the decoder doubts this frame; it is mapped, but never becomes a mapping (spec 5)

    Raises FrameError when the array does not fit the format.
    """

    pixels: NDArray[np.uint8]
    pixel_format: PixelFormat
    pts: int | None = None
    time_base: Fraction | None = None
    corrupt: bool = False

    def __post_init__(self) -> None:
        check_pixels(self.pixels, self.pixel_format)

    @property
    def geometry(self) -> Geometry:
        """Size and format of this frame."""
        height, width = self.pixels.shape[:2]
        return Geometry(width, height, self.pixel_format)


class LutKind(StrEnum):
    """Whose mapping made a picture: an earlier frame's, its own, or none (it passed unchanged)."""

    PREVIOUS = "previous"
    OWN = "own"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """Contrast of each tile of the raw frame (spec 13).

    deviation : (tiles_y, tiles_x) float64, population standard deviation in grey levels
    distance : (tiles_y, tiles_x) int64, mean distance to the uniform CDF in 1/65536 (spec 7's w)
    """

    deviation: NDArray[np.float64]
    distance: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Enhanced:
    """A lane's answer to one frame. The arrays belong to the lane: valid until its next `submit`.

    frame : the enhanced picture in the format it came in, with its pts
    sequence : number of this frame in the lane, from 0
    lut_kind, lut_age : whose mapping was applied, and how many frames old it is
    bins : (256,) uint32, histogram of the **raw** luma of this frame
    lut : (rows, columns, 256) uint8, the mapping that was applied; (1, 1, 256) in the global modes
    heatmap, hog, lbp, lbp_labels : what was asked for, else None
        hog : (blocks_y, blocks_x, 36) or compact (cells_y, cells_x, 9) float32
        lbp : (ceil(H/16), ceil(W/16), labels) uint16 counts; lbp_labels : (H, W) uint8
    stage_seconds : time of every stage that ran; empty for a frame whose times were not read
    """

    frame: Frame
    sequence: int
    lut_kind: LutKind
    lut_age: int
    bins: NDArray[np.uint32]
    lut: NDArray[np.uint8]
    stage_seconds: Mapping[Stage, float]
    heatmap: HeatMap | None = None
    hog: NDArray[np.float32] | None = None
    lbp: NDArray[np.uint16] | None = None
    lbp_labels: NDArray[np.uint8] | None = None


def check_pixels(pixels: NDArray[Any], pixel_format: PixelFormat) -> None:
    """Raise FrameError unless `pixels` is a usable array of this format (rows may be pitched)."""
    channels = pixel_format.channels
    wanted = "(H, W) uint8" if channels == 1 else f"(H, W, {channels}) uint8"
    if not isinstance(pixels, np.ndarray):
        raise FrameError(f"a {type(pixels).__name__} came; {pixel_format} needs a NumPy array {wanted}")
    came = f"an array {pixels.shape} {pixels.dtype} came; {pixel_format} needs {wanted}"
    if pixels.dtype != np.uint8:
        raise FrameError(f"{came}; convert the values to 8 bits first")
    if pixels.ndim != (2 if channels == 1 else 3) or (channels > 1 and pixels.shape[2] != channels):
        raise FrameError(came)
    if 0 in pixels.shape:
        raise FrameError(f"{came} with at least one pixel")
    packed = (1,) if channels == 1 else (channels, 1)
    if pixels.strides[1:] != packed or (
        pixels.shape[0] > 1 and pixels.strides[0] < pixels.shape[1] * channels
    ):
        raise FrameError(
            f"{came} with packed pixels (strides {pixels.strides}); pass np.ascontiguousarray(pixels)"
        )
