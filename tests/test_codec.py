"""Decoding, reorienting and encoding of images."""

import contextlib
import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageOps

from lumaflow.backend import open_lane
from lumaflow.errors import LumaflowError
from lumaflow.formats import Alignment, Color, Matrix, PixelFormat, Range
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, Mode, Options, Orientation
from lumaflow_service.errors import BadFrameError
from lumaflow_service.media.codec import (
    EXIF_NUMBERS,
    decode,
    display_pixels,
    encode_jpeg,
    encode_jpeg_planes,
    encode_png,
    exif_transpose,
    jpeg_planes,
    lossless_pixels,
    pack_npz,
)
from lumaflow_service.media.codec.opencv import cv2
from lumaflow_service.media.header import read_header

LIMIT = 50_000_000


def decoded(data: bytes) -> NDArray[np.uint8]:
    return decode(data, read_header(data, LIMIT))


def encoded(kind: str, image: Image.Image, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (31, 47), (1, 1, 3), (31, 47, 3), (5, 1, 3)])
def test_png_round_trip_is_exact(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    pixels = rng.integers(0, 256, shape, np.uint8)
    assert np.array_equal(decoded(encode_png(pixels)), pixels)


@pytest.mark.parametrize("shape", [(1, 1), (31, 47), (31, 47, 3)])
def test_jpeg_round_trip_is_close(shape: tuple[int, ...]) -> None:
    pixels = np.full(shape, 90, np.uint8)
    back = decoded(encode_jpeg(pixels))
    assert back.shape == shape
    assert np.abs(back.astype(int) - 90).max() <= 2


def test_pitched_pixels_encode_like_contiguous_ones(rng: np.random.Generator) -> None:
    pitched = rng.integers(0, 256, (20, 64, 3), np.uint8)[:, :41]
    packed = pitched.copy()
    assert encode_jpeg(pitched) == encode_jpeg(packed)
    assert encode_png(pitched) == encode_png(packed)


def test_jpeg_decodes_as_bgr_like_pillow(rng: np.random.Generator) -> None:
    rgb = np.kron(rng.integers(0, 256, (4, 6, 3), np.uint8), np.ones((8, 8, 1), np.uint8))
    data = encoded("JPEG", Image.fromarray(rgb), quality=95, subsampling=0)
    wanted = np.asarray(Image.open(io.BytesIO(data)))[..., ::-1].astype(int)
    assert np.abs(decoded(data).astype(int) - wanted).max() <= 2


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "1", "L"])
def test_png_variants_become_gray_colour_or_colour_with_alpha(mode: str, rng: np.random.Generator) -> None:
    image = Image.fromarray(rng.integers(0, 256, (9, 11, 3), np.uint8)).convert(mode)
    if mode in ("RGBA", "LA"):
        image.putalpha(77)
    pixels = decoded(encoded("PNG", image))
    assert np.array_equal(pixels, like_pillow(image, pixels))
    assert pixels.shape[2:] == {"1": (), "L": (), "P": (3,)}.get(mode, (4,))


def like_pillow(image: Image.Image, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The pixels of an image by Pillow, in the same number of channels."""
    mode = {(): "L", (3,): "RGB", (4,): "RGBA"}[pixels.shape[2:]]
    levels = np.asarray(image.convert(mode))
    return levels if mode == "L" else levels[..., [2, 1, 0, 3][: levels.shape[2]]]


@pytest.mark.parametrize("shape", [(7, 5), (7, 5, 3), (7, 5, 4)])
def test_png_of_16_bits_round_trips_exactly(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    pixels = rng.integers(0, 65536, shape, np.uint16)
    assert np.array_equal(decoded(encode_png(pixels)), pixels)


def test_a_cmyk_jpeg_decodes_to_its_printed_colours(rng: np.random.Generator) -> None:
    rgb = np.kron(rng.integers(0, 256, (4, 6, 3), np.uint8), np.ones((16, 16, 1), np.uint8))
    image = Image.fromarray(rgb).convert("CMYK")
    made = decoded(encoded("JPEG", image, quality=98, subsampling=0))
    assert np.abs(made[8::16, 8::16, ::-1].astype(int) - rgb[8::16, 8::16]).max() <= 6


@pytest.mark.parametrize("alignment", list(Alignment))
def test_gray12_is_scaled_to_16_bits_losslessly_and_to_8_for_display(alignment: Alignment) -> None:
    levels = np.array([[0, 1, 2047, 4095]], np.uint16)
    shift = 4 if alignment is Alignment.MSB else 0
    frame = Frame(levels << shift, PixelFormat.GRAY12, alignment=alignment)
    assert display_pixels(frame).tolist() == [[0, 0, 127, 255]]
    assert lossless_pixels(frame).tolist() == [[0, 16, 0x7FF7, 65535]]
    assert np.array_equal(lossless_pixels(frame) >> 4, levels)


@pytest.mark.parametrize("bits", [10, 12, 14, 16])
def test_every_level_is_scaled_to_255_for_display(bits: int) -> None:
    levels = np.arange(1 << bits, dtype=np.uint16).reshape(32, -1)
    wanted = np.rint(levels.astype(np.float32) * np.float32(255 / ((1 << bits) - 1)))
    assert np.array_equal(display_pixels(Frame(levels, PixelFormat(f"gray{bits}"))), wanted)


def test_limited_gray_is_displayed_in_full_range() -> None:
    frame = Frame(np.array([[0, 16, 126, 235, 255]], np.uint8), PixelFormat.GRAY8, color=Color(Range.LIMITED))
    assert display_pixels(frame).tolist() == [[0, 0, 128, 255, 255]]


def test_lossless_pixels_have_alpha_and_display_pixels_do_not(rng: np.random.Generator) -> None:
    frame = Frame(rng.integers(0, 256, (4, 5, 4), np.uint8), PixelFormat.BGRA32)
    assert lossless_pixels(frame) is frame.pixels
    assert np.array_equal(display_pixels(frame), frame.pixels[..., :3])


def test_rgb_is_displayed_as_bgr(rng: np.random.Generator) -> None:
    frame = Frame(rng.integers(0, 256, (4, 5, 3), np.uint8), PixelFormat.RGB24)
    assert np.array_equal(display_pixels(frame), frame.pixels[..., ::-1])


YUV420 = (PixelFormat.NV12, PixelFormat.I420)


def yuv(pixel_format: PixelFormat, range_: Range, matrix: Matrix, size: tuple[int, int] = (96, 64)) -> Frame:
    """Smooth colours of low saturation, all inside the RGB range."""
    width, height = size
    geometry = Geometry(width, height, pixel_format, range_)
    frame = Frame.from_buffer(memoryview(bytearray(geometry.frame_bytes)), geometry)
    y, x = np.mgrid[:height, :width]
    frame.planes[0][:] = 100 + 60 * x / width
    blue, red = 92 + 72 * x[::2, ::2] / width, 92 + 72 * y[::2, ::2] / height
    if pixel_format is PixelFormat.NV12:
        frame.planes[1][:] = np.stack((blue, red), axis=2)
    else:
        frame.planes[1][:], frame.planes[2][:] = blue, red
    return replace(frame, color=Color(range_, matrix))


@pytest.mark.parametrize("matrix", Matrix)
@pytest.mark.parametrize("range_", [Range.LIMITED, Range.FULL])
@pytest.mark.parametrize("pixel_format", YUV420)
def test_jpeg_planes_have_the_colours_of_display_pixels(
    pixel_format: PixelFormat, range_: Range, matrix: Matrix
) -> None:
    frame = yuv(pixel_format, range_, matrix)
    planes = jpeg_planes(frame)
    assert planes is not None
    data = encode_jpeg_planes(*planes, quality=100)
    shown = np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)).astype(int)
    difference = shown - display_pixels(frame)
    assert np.abs(difference.mean(axis=(0, 1))).max() < 0.6
    assert np.abs(difference).max() < 6


def test_an_unspecified_matrix_is_bt709_from_720_lines() -> None:
    for height, same in ((718, Matrix.BT601), (720, Matrix.BT709)):
        unspecified, specified = (
            jpeg_planes(yuv(PixelFormat.I420, Range.LIMITED, matrix, (16, height)))
            for matrix in (Matrix.UNSPECIFIED, same)
        )
        assert unspecified is not None
        assert specified is not None
        assert all(map(np.array_equal, unspecified, specified))


@pytest.mark.parametrize(
    "geometry",
    [
        Geometry(15, 16, PixelFormat.I420),
        Geometry(16, 15, PixelFormat.NV12),
        Geometry(16, 16, PixelFormat.P010),
        Geometry(16, 16, PixelFormat.YUYV),
        Geometry(16, 16, PixelFormat.BGR24),
        Geometry(16, 16, PixelFormat.GRAY8),
    ],
    ids=str,
)
def test_other_frames_have_no_jpeg_planes(geometry: Geometry) -> None:
    assert jpeg_planes(Frame.from_buffer(memoryview(bytes(geometry.frame_bytes)), geometry)) is None


@pytest.mark.parametrize("orientation", list(Orientation))
def test_exif_transpose_agrees_with_the_orientation_of_a_lane(
    orientation: Orientation, rng: np.random.Generator
) -> None:
    pixels = rng.integers(0, 256, (5, 8), np.uint8)
    options = Options(Equalization(Mode.IDENTITY), orientation=orientation)
    with open_lane("cpu", Geometry(8, 5, PixelFormat.GRAY8), options) as lane:
        lane.submit(Frame(pixels, PixelFormat.GRAY8))
        assert np.array_equal(exif_transpose(pixels, EXIF_NUMBERS[orientation]), lane.collect().frame.pixels)


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_each_exif_orientation_decodes_upright(orientation: int, mode: str, rng: np.random.Generator) -> None:
    shape = (23, 41) if mode == "L" else (23, 41, 3)
    image = Image.fromarray(rng.integers(0, 256, shape, np.uint8))
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded("PNG", image, exif=exif)
    wanted = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))))
    assert np.array_equal(decoded(data), wanted if mode == "L" else wanted[..., ::-1])


def test_decode_fills_out_and_rejects_a_wrong_out(rng: np.random.Generator) -> None:
    pixels = rng.integers(0, 256, (5, 9, 3), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded("PNG", Image.fromarray(pixels[..., ::-1]), exif=exif)
    header = read_header(data, LIMIT)
    out = np.zeros((9, 5, 3), np.uint8)
    assert decode(memoryview(data), header, out) is out
    assert np.array_equal(out, np.rot90(pixels, -1))
    with pytest.raises(ValueError, match=r"expected out of \(9, 5, 3\) uint8"):
        decode(data, header, np.zeros((5, 9, 3), np.uint8))


def test_damaged_data_with_a_valid_header_is_rejected(rng: np.random.Generator) -> None:
    pixels = rng.integers(0, 256, (64, 64, 3), np.uint8)
    for whole in (encode_png(pixels), encode_jpeg(pixels)):
        data = bytearray(whole)
        middle = len(data) // 2
        data[middle : middle + 64] = bytes(64)
        with pytest.raises(BadFrameError, match=r"cannot be decoded|damaged"):
            decoded(bytes(data))


def test_the_header_of_another_image_is_rejected() -> None:
    for encode in (encode_png, encode_jpeg):
        header = read_header(encode(np.zeros((8, 8), np.uint8)), LIMIT)
        with pytest.raises(BadFrameError):
            decode(encode(np.zeros((16, 16), np.uint8)), header)


def test_npz_contains_every_array_by_name(rng: np.random.Generator) -> None:
    arrays = {"bins": rng.integers(0, 9, 256, np.uint32), "hog": rng.random((2, 3, 36), np.float32)}
    with np.load(io.BytesIO(pack_npz(arrays))) as loaded:
        assert set(loaded) == set(arrays)
        assert all(np.array_equal(loaded[name], arrays[name]) for name in arrays)


def test_opencv_has_a_pixel_limit() -> None:
    code = "import lumaflow_service.media.codec, os; print(os.environ['OPENCV_IO_MAX_IMAGE_PIXELS'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 1 << 28


def test_corrupt_files_are_rejected_or_decode_completely(shared_data: Path) -> None:
    fine = {
        "exif_typeerror.jpg",
        "missing_huffman.jpg",
        "padded_idat.png",
        "png_named.jpg",
    }
    passed = set()
    for path in sorted((shared_data / "images" / "corrupt").iterdir()):
        with contextlib.suppress(LumaflowError):
            decoded(path.read_bytes())
            passed.add(path.name)
    assert passed == fine


def test_odd_sizes_and_formats_decode_like_pillow(shared_data: Path) -> None:
    checked = 0
    for path in sorted((shared_data / "images" / "odd_formats").glob("*.png")):
        try:
            animated = read_header(path.read_bytes(), LIMIT).animated
            pixels = decoded(path.read_bytes())
        except LumaflowError:
            continue
        if animated:
            continue
        if pixels.dtype == np.uint8:
            assert np.array_equal(pixels, like_pillow(Image.open(path), pixels)), path.name
        checked += 1
    assert checked > 15
