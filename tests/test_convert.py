"""YUV frames of the pipeline converted to BGR."""

import cv2
import numpy as np
import pytest

from lumaflow.formats import Chroma, Color, Matrix, PixelFormat, Range
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow_service.media.convert import yuv_to_bgr

YUV = [PixelFormat.NV12, PixelFormat.I420, PixelFormat.P010, PixelFormat.YUYV, PixelFormat.UYVY]


def flat(geometry: Geometry, luma: int, cb: int, cr: int, matrix: Matrix = Matrix.UNSPECIFIED) -> Frame:
    """A frame of one 8-bit colour."""
    frame = Frame.empty(geometry)
    layout, scale = geometry.layout, 256 if geometry.layout.bits > 8 else 1
    if layout.chroma is Chroma.PACKED:
        frame.pixels[..., layout.luma] = luma
        frame.pixels[:, 0::2, 1 - layout.luma], frame.pixels[:, 1::2, 1 - layout.luma] = cb, cr
    else:
        frame.pixels[:] = luma * scale
        for plane, level in zip(frame.chroma, (cb, cr), strict=False):
            plane[:] = np.array([cb, cr]) * scale if layout.chroma is Chroma.SEMI_PLANAR else level
    return Frame(
        frame.pixels,
        geometry.pixel_format,
        chroma=frame.chroma,
        color=Color(geometry.range, matrix),
        width=geometry.width,
    )


@pytest.mark.parametrize("size", [(16, 8), (7, 5), (1, 1)])
@pytest.mark.parametrize("pixel_format", YUV)
def test_black_and_white_follow_the_range(pixel_format: PixelFormat, size: tuple[int, int]) -> None:
    for range_, black, white in ((Range.LIMITED, 16, 235), (Range.FULL, 0, 255)):
        geometry = Geometry(*size, pixel_format, range_)
        assert yuv_to_bgr(flat(geometry, black, 128, 128)).max() <= 1
        shown = yuv_to_bgr(flat(geometry, white, 128, 128))
        assert shown.min() >= 254
        assert shown.shape == (size[1], size[0], 3)


@pytest.mark.parametrize("pixel_format", YUV)
@pytest.mark.parametrize(
    ("matrix", "red"),
    [(Matrix.BT601, (81, 90, 240)), (Matrix.BT709, (63, 102, 240)), (Matrix.BT2020, (74, 97, 240))],
)
def test_red_is_red_by_the_matrix_of_the_frame(
    pixel_format: PixelFormat, matrix: Matrix, red: tuple[int, int, int]
) -> None:
    shown = yuv_to_bgr(flat(Geometry(16, 8, pixel_format), *red, matrix)).reshape(-1, 3).astype(int)
    assert np.abs(shown - (0, 0, 255)).max() <= 3


def test_an_unspecified_matrix_follows_the_height() -> None:
    for height, matrix in ((704, Matrix.BT601), (720, Matrix.BT709)):
        geometry = Geometry(8, height, PixelFormat.NV12)
        specified, unspecified = flat(geometry, 90, 80, 200, matrix), flat(geometry, 90, 80, 200)
        assert np.array_equal(yuv_to_bgr(specified), yuv_to_bgr(unspecified))


def test_nv12_agrees_with_opencv_on_a_smooth_image() -> None:
    ramp = np.add.outer(np.arange(64), np.arange(96)).astype(np.uint8)
    geometry = Geometry(96, 64, PixelFormat.NV12)
    memory = np.concatenate([ramp.ravel() + 20, np.repeat(ramp[::2, ::2].ravel() // 2 + 90, 2)]).astype(
        np.uint8
    )
    wanted = cv2.cvtColor(memory.reshape(96, 96), cv2.COLOR_YUV2BGR_NV12)
    assert np.abs(yuv_to_bgr(Frame.from_buffer(memory, geometry)).astype(int) - wanted).max() <= 3
