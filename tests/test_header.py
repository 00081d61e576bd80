"""Header validation: accepted and rejected images, without decoding."""

import contextlib
import io
import struct
import time
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lumaflow_service.errors import BadFrameError, TooLargeError, UnsupportedMediaError
from lumaflow_service.media.header import (
    MAX_CHUNKS,
    MAX_SCANS,
    ImageFormat,
    ImageHeader,
    exif_orientation,
    read_header,
)

LIMIT = 50_000_000


def ramp_image(width: int = 41, height: int = 23, mode: str = "RGB") -> Image.Image:
    ramp = np.add.outer(np.arange(height) * 3, np.arange(width) * 2).astype(np.uint8)
    return Image.fromarray(ramp).convert(mode)


def encoded(kind: str, image: Image.Image | None = None, **options: object) -> bytes:
    out = io.BytesIO()
    (image or ramp_image()).save(out, kind, **options)
    return out.getvalue()


def chunk(name: bytes, body: bytes = b"", length: int | None = None) -> bytes:
    size = struct.pack(">I", len(body) if length is None else length)
    return size + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width: int, height: int, bits: int = 8, color: int = 0, *chunks: bytes) -> bytes:
    ihdr = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + ihdr + b"".join(chunks or (chunk(b"IDAT"), chunk(b"IEND")))


def jpeg_with_size(width: int, height: int) -> bytes:
    data = bytearray(encoded("JPEG"))
    sof = data.index(b"\xff\xc0")
    data[sof + 5 : sof + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def jpeg_with_sof(marker: int, bits: int = 8, components: int = 3) -> bytes:
    body = struct.pack(">BHHB", bits, 16, 16, components) + bytes(3 * components)
    return b"\xff\xd8\xff" + bytes([marker]) + struct.pack(">H", len(body) + 2) + body


@pytest.mark.parametrize(
    ("kind", "mode", "options", "channels", "bits"),
    [
        ("JPEG", "RGB", {}, 3, 8),
        ("JPEG", "RGB", {"progressive": True}, 3, 8),
        ("JPEG", "RGB", {"restart_marker_blocks": 1}, 3, 8),
        ("JPEG", "L", {}, 1, 8),
        ("PNG", "RGB", {}, 3, 8),
        ("PNG", "RGBA", {}, 4, 8),
        ("PNG", "L", {}, 1, 8),
        ("PNG", "LA", {}, 4, 8),
        ("PNG", "1", {}, 1, 1),
        ("PNG", "P", {}, 3, 8),
        ("PNG", "P", {"transparency": 0}, 4, 8),
        ("PNG", "RGB", {"transparency": (0, 0, 0)}, 4, 8),
        ("PNG", "I;16", {}, 1, 16),
    ],
)
def test_size_channels_and_bits_are_read(
    kind: str, mode: str, options: dict[str, object], channels: int, bits: int
) -> None:
    header = read_header(encoded(kind, ramp_image(mode=mode), **options), LIMIT)
    assert header == ImageHeader(ImageFormat[kind], 41, 23, channels, bits, 1)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_read_and_exchanges_width_and_height(kind: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    header = read_header(memoryview(encoded(kind, exif=exif)), LIMIT)
    assert header.orientation == orientation
    assert header.upright_size == ((41, 23) if orientation < 5 else (23, 41))


@pytest.mark.parametrize(
    "tiff",
    [
        b"",
        b"MM\0*",
        b"XX\0*\0\0\0\x08" + bytes(20),
        b"MM\0*\xff\xff\xff\xff" + bytes(20),
        b"MM\0*\0\0\0\x08\xff\xff",
        b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x09\0\0",
        b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x04\0\0\0\x01\0\x06\0\0",
    ],
)
def test_damaged_exif_gives_orientation_1(tiff: bytes) -> None:
    assert exif_orientation(memoryview(tiff)) == 1


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_every_truncation_is_rejected(kind: str) -> None:
    whole = encoded(kind)
    for length in range(len(whole)):
        with pytest.raises(BadFrameError):
            read_header(whole[:length], LIMIT)


def test_a_cmyk_jpeg_decodes_to_bgr() -> None:
    header = read_header(encoded("JPEG", ramp_image(mode="CMYK")), LIMIT)
    assert (header.cmyk, header.channels, header.geometry.pixel_format) == (True, 3, "bgr24")


@pytest.mark.parametrize(
    ("color", "bits", "pixel_format"),
    [(0, 16, "gray16"), (0, 4, "gray8"), (2, 8, "bgr24"), (4, 8, "bgra32"), (6, 8, "bgra32")],
)
def test_a_header_gives_the_geometry_of_the_decoded_frame(color: int, bits: int, pixel_format: str) -> None:
    assert str(read_header(png(9, 8, bits, color), LIMIT).geometry) == f"9x8 {pixel_format}"


def test_an_animated_png_has_no_geometry() -> None:
    header = read_header(png(8, 8, 8, 0, chunk(b"acTL", bytes(8)), chunk(b"IDAT"), chunk(b"IEND")), LIMIT)
    assert header.animated
    with pytest.raises(UnsupportedMediaError, match="animated"):
        _ = header.geometry


@pytest.mark.parametrize("color", [2, 4, 6])
def test_16_bit_colour_has_no_geometry(color: int) -> None:
    with pytest.raises(UnsupportedMediaError, match="8 bits a sample, got 16 bits"):
        _ = read_header(png(9, 8, 16, color), LIMIT).geometry


def test_an_empty_body_is_rejected_as_empty() -> None:
    with pytest.raises(BadFrameError, match="empty body"):
        read_header(b"", LIMIT)


@pytest.mark.parametrize(
    ("start", "name"),
    [(b"GIF89a", "GIF"), (b"RIFF\0\0\0\0WEBP", "WebP"), (b"\0\0\0\x20ftypavif", "AVIF"), (b"BM", "BMP")],
)
def test_the_error_names_another_format(start: bytes, name: str) -> None:
    with pytest.raises(UnsupportedMediaError, match=name):
        read_header(start + bytes(64), LIMIT)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (jpeg_with_sof(0xC3), "lossless"),
        (jpeg_with_sof(0xC9), "arithmetic"),
        (jpeg_with_sof(0xC1, bits=12), "12 bits"),
        (jpeg_with_size(16, 0), "height in the frame header"),
    ],
)
def test_the_error_names_an_unsupported_variant(data: bytes, what: str) -> None:
    with pytest.raises(UnsupportedMediaError, match=what):
        read_header(data, LIMIT)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (png(0, 8), "0x8"),
        (jpeg_with_size(0, 16), "0x16"),
        (png(8, 8, 3), "3 bits"),
        (png(8, 8, 8, 5), "color type 5"),
        (png(8, 8, 8, 3), "no palette"),
        (png(8, 8, 8, 0, chunk(b"IEND")), "no IDAT"),
        (png(8, 8, 8, 0, chunk(b"IHDR", bytes(13)), chunk(b"IEND")), "IHDR"),
        (b"\x89PNG\r\n\x1a\n" + chunk(b"IDAT"), "IHDR"),
        (jpeg_with_sof(0xC0, components=2), "2 components"),
        (b"\xff\xd8\xff\xd9", "got only headers"),
        (b"\xff\xd8\xff\xda\0\x08" + bytes(6), "no frame header"),
        (b"\xff\xd8\xff\xe0\0\x01", "claims 1 bytes"),
        (b"\xff\xd8junk", "no marker at byte 2"),
    ],
)
def test_an_inconsistent_header_is_rejected(data: bytes, what: str) -> None:
    with pytest.raises(BadFrameError, match=what):
        read_header(data, LIMIT)


BOMBS = [
    png(20_000, 20_000, 1),
    png(2**31 - 1, 2**31 - 1),
    jpeg_with_size(30_000, 30_000) + bytes(500_000),
    png(8, 8, 8, 0, chunk(b"tEXt", length=0x3FFFFFFF)),
    png(8, 8, 8, 0, chunk(b"IDAT", length=0xFFFFFFFF)),
]


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_decompression_bomb_is_rejected_without_time_or_memory(bomb: bytes) -> None:
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises((TooLargeError, BadFrameError)):
        read_header(bomb, LIMIT)
    assert time.perf_counter() - start < 0.25
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_the_pixel_limit_is_exact() -> None:
    assert read_header(png(100, 50), 5000).width == 100
    with pytest.raises(TooLargeError, match="at most 4999 pixels, got 100x50 = 5000"):
        read_header(png(100, 50), 4999)


def test_a_side_longer_than_a_lane_allows_is_rejected() -> None:
    with pytest.raises(TooLargeError, match="sides of at most 32768"):
        read_header(png(32_769, 1), LIMIT)


def test_too_many_scans_are_rejected() -> None:
    whole = encoded("JPEG", progressive=True)
    first = whole.index(b"\xff\xda")
    scan = b"\xff\xda\0\x08\x01\x01\0\0\x3f\0" + b"\x12\xff\0\x34"
    with pytest.raises(UnsupportedMediaError, match=f"at most {MAX_SCANS} scans, got more"):
        read_header(whole[:first] + scan * (MAX_SCANS + 1) + b"\xff\xd9", LIMIT)
    assert read_header(whole[:first] + scan * MAX_SCANS + b"\xff\xd9", LIMIT).width == 41


def test_too_many_chunks_or_segments_are_rejected() -> None:
    with pytest.raises(UnsupportedMediaError, match="chunks"):
        read_header(png(8, 8, 8, 0, chunk(b"tIME") * (MAX_CHUNKS + 1)), LIMIT)
    with pytest.raises(UnsupportedMediaError, match="segments"):
        read_header(b"\xff\xd8" + b"\xff\xfe\0\x02" * 5_000, LIMIT)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), kind=st.sampled_from(["JPEG", "PNG"]))
def test_mutated_bytes_are_read_or_rejected_with_a_known_error(data: st.DataObject, kind: str) -> None:
    mutated = bytearray(encoded(kind))
    for _ in range(data.draw(st.integers(1, 8))):
        mutated[data.draw(st.integers(0, len(mutated) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(BadFrameError, TooLargeError, UnsupportedMediaError):
        header = read_header(bytes(mutated), LIMIT)
        assert 1 <= header.width * header.height <= LIMIT


def test_corrupt_files_are_rejected_unless_well_formed(shared_data: Path) -> None:
    well_formed = {
        "coffee_badcrc_idat.png",
        "coffee_bitflips.jpg",
        "exif_typeerror.jpg",
        "hopper_bad_exif.jpg",
        "icc-after-SOF.jpg",
        "libpng_badadler.png",
        "libpng_empty_ancillary_chunks.png",
        "missing_huffman.jpg",
        "padded_idat.png",
        "png_named.jpg",
    }
    passed = set()
    for path in sorted((shared_data / "images" / "corrupt").iterdir()):
        with contextlib.suppress(BadFrameError, TooLargeError, UnsupportedMediaError):
            read_header(path.read_bytes(), LIMIT)
            passed.add(path.name)
    assert passed == well_formed
