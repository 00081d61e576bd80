"""YUV frames as the planes of a JPEG, without the conversion to BGR, which takes four times as long."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from lumaflow.formats import Chroma, Matrix
from lumaflow.frame import Frame
from lumaflow_service.media.codec.opencv import cv2
from lumaflow_service.media.color import LUMA_WEIGHTS, default_matrix

Bytes = NDArray[np.uint8]
Planes = tuple[Bytes, Bytes, Bytes]


def jpeg_planes(frame: Frame) -> Planes | None:
    """Y (H, W), Cb and Cr (H/2, W/2) uint8 by BT.601 in full range, as every JPEG has them.

    None for a frame that needs the conversion to BGR: all but 8-bit NV12 and I420 of even width and height.
    An unspecified matrix is `default_matrix`.
    """
    geometry, layout = frame.geometry, frame.pixel_format.layout
    if layout.bits > 8 or geometry.width % 2 or geometry.height % 2:
        return None
    match layout.chroma:
        case Chroma.SEMI_PLANAR:
            cb, cr = frame.planes[1][..., 0], frame.planes[1][..., 1]
        case Chroma.PLANAR:
            cb, cr = frame.planes[1:]
        case _:
            return None
    return _to_jpeg_matrix(frame.planes[0], cb, cr, _matrix_of(frame), geometry.limited)


def _matrix_of(frame: Frame) -> Matrix:
    matrix = frame.color.matrix
    return default_matrix(frame.geometry.height) if matrix is Matrix.UNSPECIFIED else matrix


def _to_jpeg_matrix(luma: Bytes, cb: Bytes, cr: Bytes, matrix: Matrix, limited: bool) -> Planes:
    """The planes of luma (H, W) and of both chroma planes (H/2, W/2), converted to BT.601 of full range."""
    black, luma_gain, chroma_gain = (16, 255 / 219, 255 / 224) if limited else (0, 1.0, 1.0)
    luma_offset, jpeg_cb, jpeg_cr = (
        _weighted_sum(cb, cb_weight * chroma_gain, cr, cr_weight * chroma_gain)
        for cb_weight, cr_weight in _chroma_weights(matrix)
    )
    full_size = cv2.resize(luma_offset, luma.shape[::-1], interpolation=cv2.INTER_NEAREST)
    jpeg_luma = cv2.addWeighted(luma, luma_gain, full_size, 1, -black * luma_gain - 128)
    return np.asarray(jpeg_luma, np.uint8), jpeg_cb, jpeg_cr


def _weighted_sum(cb: Bytes, cb_weight: float, cr: Bytes, cr_weight: float) -> Bytes:
    """The weighted sum of both chroma planes around their centre, 128."""
    offset = 128 * (1 - cb_weight - cr_weight)
    return np.asarray(cv2.addWeighted(cb, cb_weight, cr, cr_weight, offset), np.uint8)


@cache
def _chroma_weights(matrix: Matrix) -> tuple[tuple[float, float], ...]:
    """The weights of a matrix's Cb and Cr in BT.601's Y, Cb and Cr.

    Y = red * R + green * G + blue * B, Cb = (B - Y) / (2 - 2 * blue), Cr = (R - Y) / (2 - 2 * red): solved
    for R, G, B by the one matrix and inserted into the other. The weight of Y in BT.601's Y is 1, and 0 in
    its Cb and Cr: gray stays the same gray.
    """
    (red, blue), (jpeg_red, jpeg_blue) = LUMA_WEIGHTS[matrix], LUMA_WEIGHTS[Matrix.BT601]
    green, jpeg_green = 1 - red - blue, 1 - jpeg_red - jpeg_blue
    in_y = (
        2 * (1 - blue) * (jpeg_blue - jpeg_green * blue / green),
        2 * (1 - red) * (jpeg_red - jpeg_green * red / green),
    )
    cb_divisor, cr_divisor = 2 * (1 - jpeg_blue), 2 * (1 - jpeg_red)
    in_cb = (2 * (1 - blue) - in_y[0]) / cb_divisor, -in_y[1] / cb_divisor
    in_cr = -in_y[0] / cr_divisor, (2 * (1 - red) - in_y[1]) / cr_divisor
    return in_y, in_cb, in_cr
