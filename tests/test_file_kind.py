"""The kind of a file by its first bytes."""

from pathlib import Path

import pytest
from PIL import Image

from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.file_kind import FileKind, detect_kind, is_animated
from lumaflow_service.media.header import other_image_format

FRAMES = [Image.new("RGB", (8, 8), (shade, 0, 0)) for shade in (0, 90, 180)]


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".webp", ".bmp", ".gif", ".ppm", ".jp2"])
def test_an_image_without_a_suffix_is_an_image(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"image{suffix}"
    FRAMES[0].save(path)
    assert detect_kind(path.rename(tmp_path / "image")) is FileKind.IMAGE


@pytest.mark.parametrize("suffix", [".jpg", ".mjpeg"])
def test_the_suffix_of_a_video_makes_jpeg_data_a_video(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"frames{suffix}"
    FRAMES[0].save(path, "JPEG")
    assert detect_kind(path) is (FileKind.VIDEO if suffix == ".mjpeg" else FileKind.IMAGE)


def test_a_text_file_named_like_an_image_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("text")
    with pytest.raises(UsageError, match="not an image, despite its name; expected one of JPEG, PNG"):
        detect_kind(tmp_path / "a.png")


@pytest.mark.parametrize("suffix", [".gif", ".png"])
def test_only_a_file_of_several_frames_is_animated(tmp_path: Path, suffix: str) -> None:
    FRAMES[0].save(tmp_path / f"one{suffix}")
    FRAMES[0].save(tmp_path / f"three{suffix}", save_all=True, append_images=FRAMES[1:])
    assert not is_animated(tmp_path / f"one{suffix}")
    assert is_animated(tmp_path / f"three{suffix}")


def test_a_damaged_gif_is_not_animated(tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(b"GIF89a\0")
    assert not is_animated(tmp_path / "a.gif")


@pytest.mark.parametrize(
    ("first_bytes", "name"),
    [
        (b"GIF89a", "GIF"),
        (b"BM\0\0", "BMP"),
        (b"II*\0", "TIFF"),
        (b"MM\0*", "TIFF"),
        (b"RIFF\n\n\n\nWEBP", "WebP"),
        (b"\0\0\0\x20ftypavif", "AVIF"),
        (b"\0\0\0\x20ftypheic", "HEIC"),
        (b"\xff\x4f\xff\x51", "JPEG 2000"),
        (b"P5\n", "PNM"),
        (b"\0\0\1\0\1\0", "ICO"),
        (b"\0\0\1\0ftypmp42", None),
        (b"\xff\xd8\xff\xe0", None),
        (b"", None),
    ],
)
def test_other_image_formats_have_signatures(first_bytes: bytes, name: str | None) -> None:
    assert other_image_format(first_bytes) == name
