"""Enhancing still images, and telling what a file is."""

import io
from pathlib import Path

import numpy as np
import pytest
from films import dim_frame, make_film
from PIL import Image

from pipeline.errors import LumaflowError
from pipeline.frame import LutKind
from pipeline.options import Equalization, Mode, Options
from service.codec import decode, encode_jpeg, encode_png
from service.files.errors import BadFileError, UsageError
from service.files.features import open_features, with_features
from service.files.flow import Job, enhanced
from service.files.image import describe_image, enhance_image, read_image
from service.files.kind import Kind, kind_of
from service.header import read_header

EQUALIZE = Options(equalization=Equalization(Mode.EQUALIZE))


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    path.write_bytes(encode_png(dim_frame(2)))
    return path


def pixels_of(path: Path) -> np.ndarray:
    data = path.read_bytes()
    return decode(data, read_header(data, 1 << 20))


def test_an_image_is_mapped_by_its_own_histogram(photo: Path, tmp_path: Path) -> None:
    job = Job(options=EQUALIZE)
    outcome = enhance_image(photo, tmp_path / "out.png", job)
    ((_, result),) = enhanced([read_image(photo)], job)
    assert result.lut_kind is LutKind.OWN
    assert np.array_equal(pixels_of(outcome.target), result.frame.pixels)
    assert (outcome.frames, outcome.width, outcome.height) == (1, 96, 64)


def test_a_gray_image_stays_gray(tmp_path: Path) -> None:
    (tmp_path / "in.png").write_bytes(encode_png(dim_frame(0)[..., 0]))
    enhance_image(tmp_path / "in.png", tmp_path / "out.png", Job())
    assert pixels_of(tmp_path / "out.png").shape == (64, 96)


@pytest.mark.parametrize("name", ["out.jpg", "out.JPEG"])
def test_a_jpeg_is_written_by_its_suffix(photo: Path, tmp_path: Path, name: str) -> None:
    enhance_image(photo, tmp_path / name, Job())
    assert (tmp_path / name).read_bytes().startswith(b"\xff\xd8")


def test_side_by_side_is_raw_left_and_enhanced_right(photo: Path, tmp_path: Path) -> None:
    enhance_image(photo, tmp_path / "both.png", Job(side_by_side=True))
    enhance_image(photo, tmp_path / "out.png", Job())
    left, right = np.split(pixels_of(tmp_path / "both.png"), 2, axis=1)
    assert np.array_equal(left, dim_frame(2))
    assert np.array_equal(right, pixels_of(tmp_path / "out.png"))


def test_an_image_is_turned_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    Image.fromarray(dim_frame(2)).save(out, "JPEG", exif=exif)
    (tmp_path / "in.jpg").write_bytes(out.getvalue())
    outcome = enhance_image(tmp_path / "in.jpg", tmp_path / "out.png", Job())
    assert (outcome.width, outcome.height) == (64, 96)


def test_features_of_an_image_are_those_of_one_frame(photo: Path, tmp_path: Path) -> None:
    job = Job(options=with_features(EQUALIZE))
    with open_features(tmp_path / "f.npz") as features:
        assert describe_image(photo, job, features) == 1
    ((_, result),) = enhanced([read_image(photo)], job)
    with np.load(tmp_path / "f.npz") as npz:
        assert np.array_equal(npz["hog/000000"], result.hog)
        assert np.array_equal(npz["lbp/000000"], result.lbp)
        assert np.array_equal(npz["bins"], result.bins[None])
        assert npz["pts"].tolist() == [0]


def test_a_suffix_that_is_no_image_is_refused(photo: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.jpg or \.png"):
        enhance_image(photo, tmp_path / "out.mp4", Job())


def test_a_broken_image_is_refused_in_one_sentence_and_nothing_written(
    photo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(photo.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(40)
    photo.write_bytes(data)
    with pytest.raises(BadFileError, match=r"photo\.png: a PNG came"):
        enhance_image(photo, tmp_path / "out.png", Job())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["photo.png"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.bin", encode_jpeg(dim_frame(0)), Kind.IMAGE),
        ("a.mp4", encode_png(dim_frame(0)), Kind.VIDEO),
        ("a.jpg", b"text", Kind.IMAGE),
        ("a.mp4", b"\0\0\0\x18ftypisom", Kind.VIDEO),
        ("a", b"anything", Kind.VIDEO),
    ],
)
def test_a_file_is_known_by_its_first_bytes(tmp_path: Path, name: str, data: bytes, kind: Kind) -> None:
    (tmp_path / name).write_bytes(data)
    assert kind_of(tmp_path / name) is kind
    assert kind_of(tmp_path) is Kind.FOLDER


def test_missing_empty_and_foreign_files_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "a.jpg").write_bytes(b"GIF89a" + bytes(20))
    with pytest.raises(UsageError, match="does not exist"):
        kind_of(tmp_path / "missing")
    with pytest.raises(BadFileError, match="is empty"):
        kind_of(tmp_path / "empty")
    with pytest.raises(UsageError, match="GIF"):
        kind_of(tmp_path / "a.jpg")


def test_an_unreadable_video_named_as_an_image_is_refused_as_an_image(tmp_path: Path) -> None:
    film = make_film(tmp_path / "a.mp4", frames=2).rename(tmp_path / "a.jpg")
    with pytest.raises(BadFileError, match="neither a JPEG nor a PNG"):
        enhance_image(film, tmp_path / "out.jpg", Job())


def test_every_corrupt_image_is_enhanced_or_refused(tmp_path: Path, shared_data: Path) -> None:
    done = set()
    for source in sorted((shared_data / "images" / "corrupt").iterdir()):
        try:
            enhance_image(source, tmp_path / "out.png", Job(force=True))
        except LumaflowError:
            continue
        done.add(source.name)
    assert done == {"exif_typeerror.jpg", "missing_huffman.jpg", "padded_idat.png", "png_named.jpg"}
