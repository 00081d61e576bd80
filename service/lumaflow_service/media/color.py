"""Colour tags, matrices and ranges. Numbers are those of ITU-T H.273, as in FFmpeg and PyAV.

Range 0 and matrix, primaries or transfer 2 mean "unspecified". This module imports no FFmpeg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lumaflow.formats import Matrix, Range
from lumaflow_service.media.pixel_format import is_rgb

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext
    from av.video.frame import VideoFrame

BT709, UNSPECIFIED, BT470BG, BT601, BT2020, BT2020_CONSTANT = 1, 2, 5, 6, 9, 10
LIMITED, FULL = 1, 2
HD_LINES = 720

MATRIX_NUMBERS = {
    Matrix.UNSPECIFIED: UNSPECIFIED,
    Matrix.BT601: BT601,
    Matrix.BT709: BT709,
    Matrix.BT2020: BT2020,
}
_MATRICES = {number: matrix for matrix, number in MATRIX_NUMBERS.items()} | {
    BT470BG: Matrix.BT601,
    BT2020_CONSTANT: Matrix.BT2020,
}
_RANGES = {LIMITED: Range.LIMITED, FULL: Range.FULL}

LUMA_WEIGHTS = {
    Matrix.BT601: (0.299, 0.114),
    Matrix.BT709: (0.2126, 0.0722),
    Matrix.BT2020: (0.2627, 0.0593),
}
"""Weights of red and blue in the luma of each matrix. Green has the rest of 1."""


def default_matrix(height: int) -> Matrix:
    """The matrix that players assume for untagged video: BT.601 below 720 lines, else BT.709."""
    return Matrix.BT709 if height >= HD_LINES else Matrix.BT601


def matrix_of_number(number: int) -> Matrix:
    """The pipeline's name of a matrix; UNSPECIFIED for one that the pipeline does not have."""
    return _MATRICES.get(number, Matrix.UNSPECIFIED)


@dataclass(frozen=True, slots=True)
class ColorTags:
    """The colour tags of a decoded frame, and its height in lines."""

    matrix: int
    range: int
    primaries: int
    transfer: int
    height: int

    @classmethod
    def of(cls, frame: VideoFrame) -> ColorTags:
        """The tags of a decoded frame. For RGB: the tags of the YUV that it is encoded as."""
        matrix, range_ = int(frame.colorspace), int(frame.color_range)
        if is_rgb(frame):
            matrix, range_ = MATRIX_NUMBERS[default_matrix(frame.height)], LIMITED
        elif frame.format.name.startswith(("yuvj", "gray")):
            range_ = range_ or FULL
        return cls(matrix, range_, frame.color_primaries, frame.color_trc, frame.height)

    @property
    def pipeline_range(self) -> Range:
        """The pipeline's name of the range."""
        return _RANGES.get(self.range, Range.UNSPECIFIED)

    def apply_to(self, target: VideoCodecContext | VideoFrame) -> None:
        """Set the tags on an encoder or on a frame for it."""
        target.colorspace, target.color_range = self.matrix, self.range
        target.color_primaries, target.color_trc = self.primaries, self.transfer
