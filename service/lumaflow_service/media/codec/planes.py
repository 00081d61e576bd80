"""YUV frames as the planes a JPEG holds, without the way through BGR, which takes four times as long."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from lumaflow.formats import Chroma, Matrix
from lumaflow.frame import Frame
from lumaflow_service.media.codec.opencv import cv2

Bytes = NDArray[np.uint8]
Planes = tuple[Bytes, Bytes, Bytes]

HD_LINES = 720
_WEIGHTS = {Matrix.BT601: (0.299, 0.114), Matrix.BT709: (0.2126, 0.0722), Matrix.BT2020: (0.2627, 0.0593)}
"""How much red and blue weigh in the luma of each matrix; the rest is green's."""


def jpeg_planes(frame: Frame) -> Planes | None:
    """Y (H, W), Cb and Cr (H/2, W/2) uint8 by BT.601 in full range, as every JPEG has them.

    None for what has to go through BGR: all but 8-bit NV12 and I420 of even width and height. A matrix that
    is not said is that of BT.601 below 720 lines, of BT.709 from there, as in players.
    """
    geometry, layout = frame.geometry, frame.pixel_format.layout
    if layout.bits > 8 or geometry.width % 2 or geometry.height % 2:
        return None
    match layout.chroma:
        case Chroma.SEMI_PLANAR:
            blue, red = frame.planes[1][..., 0], frame.planes[1][..., 1]
        case Chroma.PLANAR:
            blue, red = frame.planes[1:]
        case _:
            return None
    return _converted(frame.planes[0], blue, red, _matrix_of(frame), geometry.limited)


def _matrix_of(frame: Frame) -> Matrix:
    if frame.color.matrix is Matrix.UNSPECIFIED:
        return Matrix.BT709 if frame.geometry.height >= HD_LINES else Matrix.BT601
    return frame.color.matrix


def _converted(luma: Bytes, blue: Bytes, red: Bytes, matrix: Matrix, limited: bool) -> Planes:
    """The planes of luma (H, W) and of the two of chroma (H/2, W/2)."""
    low, luma_gain, chroma_gain = (16, 255 / 219, 255 / 224) if limited else (0, 1.0, 1.0)
    share, in_blue, in_red = (
        _mixed(blue, of_blue * chroma_gain, red, of_red * chroma_gain) for of_blue, of_red in _gains(matrix)
    )
    spread = cv2.resize(share, luma.shape[::-1], interpolation=cv2.INTER_NEAREST)
    shown = cv2.addWeighted(luma, luma_gain, spread, 1, -low * luma_gain - 128)
    return np.asarray(shown, np.uint8), in_blue, in_red


def _mixed(blue: Bytes, of_blue: float, red: Bytes, of_red: float) -> Bytes:
    """So much of the one and so much of the other, all around 128."""
    return np.asarray(cv2.addWeighted(blue, of_blue, red, of_red, 128 * (1 - of_blue - of_red)), np.uint8)


@cache
def _gains(matrix: Matrix) -> tuple[tuple[float, float], ...]:
    """What Cb and Cr of a matrix give to Y, to Cb and to Cr of BT.601.

    Y = red * R + green * G + blue * B, Cb = (B - Y) / (2 - 2 * blue), Cr = (R - Y) / (2 - 2 * red): solved
    for R, G, B by the one matrix and put into the other. Y gives all to Y: a gray stays that gray.
    """
    (red, blue), (jpeg_red, jpeg_blue) = _WEIGHTS[matrix], _WEIGHTS[Matrix.BT601]
    green, jpeg_green = 1 - red - blue, 1 - jpeg_red - jpeg_blue
    into_y = (
        2 * (1 - blue) * (jpeg_blue - jpeg_green * blue / green),
        2 * (1 - red) * (jpeg_red - jpeg_green * red / green),
    )
    of_blue, of_red = 2 * (1 - jpeg_blue), 2 * (1 - jpeg_red)
    into_blue = (2 * (1 - blue) - into_y[0]) / of_blue, -into_y[1] / of_blue
    into_red = -into_y[0] / of_red, (2 * (1 - red) - into_y[1]) / of_red
    return into_y, into_blue, into_red
