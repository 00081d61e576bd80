"""Enhancing still images, and telling what a file is."""

import io
import os
import struct
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps

from films import content, dim_frame, make_film
from lumaflow.errors import LumaflowError
from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame, LutKind
from lumaflow.options import ColorMode, Equalization, Mode, Options, Orientation, Output
from lumaflow_service.files.commands import enhance
from lumaflow_service.files.errors import BadFileError, UsageError
from lumaflow_service.files.features import open_features, with_features
from lumaflow_service.files.file_kind import FileKind, kind_of, moves
from lumaflow_service.files.image import describe_image, enhance_image
from lumaflow_service.files.run_lane import LaneJob, enhanced
from lumaflow_service.files.still import read_still, recolored
from lumaflow_service.media.codec import decode, encode_jpeg, encode_png
from lumaflow_service.media.codec.profile import with_profile
from lumaflow_service.media.codec.tiff import encode_tiff
from lumaflow_service.media.header import read_header, read_profile
from lumaflow_service.media.header.profile import MAX_BYTES

EQUALIZE = Options(equalization=Equalization(Mode.EQUALIZE))


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    path.write_bytes(encode_png(dim_frame(2)))
    return path


def pixels_of(path: Path) -> np.ndarray:
    data = path.read_bytes()
    return decode(data, read_header(data, 1 << 24))


def test_an_image_is_mapped_by_its_own_histogram(photo: Path, tmp_path: Path) -> None:
    job = LaneJob(options=EQUALIZE)
    outcome = enhance_image(photo, tmp_path / "out.png", job)
    ((_, result),) = enhanced([read_still(photo).frame], job)
    assert result.lut_kind is LutKind.OWN
    assert np.array_equal(pixels_of(outcome.target), result.frame.pixels)
    assert (outcome.frames, outcome.width, outcome.height) == (1, 96, 64)


def test_a_gray_image_stays_gray(tmp_path: Path) -> None:
    (tmp_path / "in.png").write_bytes(encode_png(dim_frame(0)[..., 0]))
    enhance_image(tmp_path / "in.png", tmp_path / "out.png", LaneJob())
    assert pixels_of(tmp_path / "out.png").shape == (64, 96)


@pytest.mark.parametrize("name", ["out.jpg", "out.JPEG"])
def test_a_jpeg_is_written_by_its_suffix(photo: Path, tmp_path: Path, name: str) -> None:
    enhance_image(photo, tmp_path / name, LaneJob())
    assert (tmp_path / name).read_bytes().startswith(b"\xff\xd8")


def test_side_by_side_is_raw_left_and_enhanced_right(photo: Path, tmp_path: Path) -> None:
    enhance_image(photo, tmp_path / "both.png", LaneJob(side_by_side=True))
    enhance_image(photo, tmp_path / "out.png", LaneJob())
    left, right = np.split(pixels_of(tmp_path / "both.png"), 2, axis=1)
    assert np.array_equal(left, dim_frame(2))
    assert np.array_equal(right, pixels_of(tmp_path / "out.png"))


def test_an_image_is_turned_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    Image.fromarray(dim_frame(2)).save(out, "JPEG", exif=exif)
    (tmp_path / "in.jpg").write_bytes(out.getvalue())
    outcome = enhance_image(tmp_path / "in.jpg", tmp_path / "out.png", LaneJob())
    assert (outcome.width, outcome.height) == (64, 96)


def test_features_of_an_image_are_those_of_one_frame(photo: Path, tmp_path: Path) -> None:
    job = LaneJob(options=with_features(EQUALIZE))
    with open_features(tmp_path / "f.npz") as features:
        assert describe_image(photo, job, features) == 1
    ((_, result),) = enhanced([read_still(photo).frame], job)
    with np.load(tmp_path / "f.npz") as npz:
        assert np.array_equal(npz["hog/000000"], result.hog)
        assert np.array_equal(npz["lbp/000000"], result.lbp)
        assert np.array_equal(npz["bins"], result.bins[None])
        assert npz["pts"].tolist() == [0]


def test_a_suffix_that_is_no_image_is_refused(photo: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.jpg, \.png or \.tif"):
        enhance_image(photo, tmp_path / "out.mp4", LaneJob())


def test_a_broken_image_is_refused_in_one_sentence_and_nothing_written(
    photo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(photo.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(40)
    photo.write_bytes(data)
    with pytest.raises(BadFileError, match=r"photo\.png: a PNG came"):
        enhance_image(photo, tmp_path / "out.png", LaneJob())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["photo.png"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.bin", encode_jpeg(dim_frame(0)), FileKind.IMAGE),
        ("a.mp4", encode_png(dim_frame(0)), FileKind.VIDEO),
        ("a", b"GIF89a", FileKind.IMAGE),
        ("a", b"II*\0", FileKind.IMAGE),
        ("a.mp4", b"\0\0\0\x18ftypisom", FileKind.VIDEO),
        ("a", b"anything", FileKind.VIDEO),
    ],
)
def test_a_file_is_known_by_its_first_bytes(tmp_path: Path, name: str, data: bytes, kind: FileKind) -> None:
    (tmp_path / name).write_bytes(data)
    assert kind_of(tmp_path / name) is kind
    assert kind_of(tmp_path) is FileKind.FOLDER


def test_missing_empty_and_foreign_files_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "a.jpg").write_bytes(b"\0\0\0\x20ftypheic" + bytes(20))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="store it in a file first"):
        kind_of(tmp_path / "pipe")
    with pytest.raises(UsageError, match="does not exist"):
        kind_of(tmp_path / "missing")
    with pytest.raises(UsageError, match="is empty"):
        kind_of(tmp_path / "empty")
    with pytest.raises(UsageError, match="HEIC"):
        kind_of(tmp_path / "a.jpg")


def test_what_is_no_image_is_refused_under_an_images_name(tmp_path: Path) -> None:
    film = make_film(tmp_path / "a.mp4", frames=2).rename(tmp_path / "a.jpg")
    with pytest.raises(UsageError, match=r"a\.jpg is no image, whatever its name; .* JPEG, PNG, .* WebP"):
        kind_of(film)


# Colour profiles


def profile_of(path: Path) -> bytes | None:
    with Image.open(path) as image:
        image.load()
        return image.info.get("icc_profile")


def made_profile(space: bytes = b"RGB ", size: int = 600) -> bytes:
    """Bytes that look like a profile of this colour space."""
    filler = np.random.default_rng(7).bytes(size)
    return filler[:16] + space + filler[20:36] + b"acsp" + filler[40:]


@pytest.mark.parametrize("target", ["out.jpg", "out.png", "out.tif"])
@pytest.mark.parametrize("name", ["in.jpg", "in.png", "in.tif", "in.webp"])
def test_a_profile_goes_along(tmp_path: Path, name: str, target: str) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    source = save(tmp_path / name, dim_frame(2), icc_profile=profile)
    outcome = enhance_image(source, tmp_path / target, LaneJob(options=EQUALIZE))
    assert profile_of(outcome.target) == profile
    assert outcome.notes == []
    assert outcome.target.read_bytes()[2:4] == b"\xff\xe0" or target != "out.jpg"
    plain = save(tmp_path / f"plain-{name}", dim_frame(2))
    enhance_image(plain, tmp_path / f"plain-{target}", LaneJob(options=EQUALIZE))
    assert profile_of(tmp_path / f"plain-{target}") is None
    assert np.array_equal(Image.open(outcome.target), Image.open(tmp_path / f"plain-{target}"))


def test_a_profile_larger_than_a_segment_goes_along(tmp_path: Path) -> None:
    profile = made_profile(size=150_001)
    source = save(tmp_path / "in.jpg", dim_frame(2), icc_profile=profile)
    for name in ("out.jpg", "out.png", "out.tif"):
        assert profile_of(enhance_image(source, tmp_path / name, LaneJob()).target) == profile


def test_deep_pictures_keep_their_profile(tmp_path: Path, rng: np.random.Generator) -> None:
    for pixels, space in ((deep(rng), b"GRAY"), (deep(rng, 3), b"RGB "), (deep(rng, 4), b"RGB ")):
        profile = made_profile(space, 501)
        (tmp_path / "in.tif").write_bytes(with_profile(encode_tiff(pixels, 16), profile))
        outcome = enhance_image(tmp_path / "in.tif", tmp_path / "out.tif", LaneJob(force=True))
        assert read_still(outcome.target).profile == profile
        assert read_still(outcome.target).bits == 16


@pytest.mark.parametrize("space", [b"CMYK", b"GRAY"])
def test_a_profile_of_another_space_is_left_out_with_a_note(tmp_path: Path, space: bytes) -> None:
    source = save(tmp_path / "in.jpg", dim_frame(2), icc_profile=made_profile(space))
    outcome = enhance_image(source, tmp_path / "out.png", LaneJob())
    assert profile_of(outcome.target) is None
    assert outcome.notes == [
        "its colour profile is left out: it is not one of the RGB or gray that is stored"
    ]


def test_a_damaged_profile_stops_no_image(tmp_path: Path) -> None:
    good = with_profile(encode_png(dim_frame(2)), made_profile())
    at = good.index(b"iCCP") + 20
    bad = bytearray(good)
    bad[at : at + 30] = bytes(30)
    assert read_profile(good) == made_profile()
    assert read_profile(bytes(bad)) is None
    assert read_profile(with_profile(encode_png(dim_frame(2)), bytes(MAX_BYTES + 1))) is None
    jpeg = with_profile(encode_jpeg(dim_frame(2)), made_profile(size=100_000))
    assert read_profile(jpeg.replace(b"ICC_PROFILE\0\2", b"ICC_PROFILE\0\3")) is None


# Depth, alpha, other formats


def deep(rng: np.random.Generator, *rest: int, bits: int = 16) -> np.ndarray:
    return rng.integers(0, 1 << bits - 2, (24, 40, *rest), np.uint16)


def save(path: Path, pixels: np.ndarray, **options: object) -> Path:
    """A file made by Pillow of gray, RGB or RGBA pixels."""
    Image.fromarray(pixels).save(path, **options)
    return path


def through_a_lane(frame: Frame, options: Options = EQUALIZE) -> np.ndarray:
    ((_, result),) = enhanced([frame], LaneJob(options=options))
    return result.frame.pixels.copy()


def test_a_16_bit_png_keeps_its_depth(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = deep(rng)
    (tmp_path / "in.png").write_bytes(encode_png(pixels))
    outcome = enhance_image(tmp_path / "in.png", tmp_path / "out.png", LaneJob(options=EQUALIZE))
    made = pixels_of(outcome.target)
    assert np.array_equal(made, through_a_lane(Frame(pixels, PixelFormat.GRAY16)))
    assert (made.dtype, outcome.notes) == (np.uint16, [])


def test_a_jpeg_shows_deep_levels_in_8_bits_and_says_so(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = np.kron(deep(rng, bits=18), np.ones((8, 8), np.uint16))
    (tmp_path / "in.png").write_bytes(encode_png(pixels))
    job = LaneJob(options=Options(equalization=Equalization(Mode.IDENTITY)))
    outcome = enhance_image(tmp_path / "in.png", tmp_path / "out.jpg", job)
    made = pixels_of(outcome.target)
    assert np.abs(made - np.rint(pixels * (255 / 65535))).mean() < 4
    assert outcome.notes == ["its 16 bits are shown in the 8 of a JPEG; .png and .tif keep them"]


def test_a_jpeg_of_deep_gray_has_the_mapping_that_is_made_for_8_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    pixels, seen = deep(rng), []
    (tmp_path / "in.png").write_bytes(encode_png(pixels))
    monkeypatch.setattr(
        "lumaflow_service.files.image.encode_jpeg", lambda shown, quality: seen.append(shown) or b""
    )
    enhance_image(tmp_path / "in.png", tmp_path / "out.jpg", LaneJob(options=EQUALIZE))
    options = replace(EQUALIZE, output=Output.DISPLAY)
    assert np.array_equal(seen[0], through_a_lane(Frame(pixels, PixelFormat.GRAY16), options))


@pytest.mark.parametrize("bits", [10, 12, 14, 16])
def test_a_tiff_keeps_its_levels_and_tells_its_bits(
    tmp_path: Path, rng: np.random.Generator, bits: int
) -> None:
    pixels = deep(rng, bits=bits)
    source = save(tmp_path / "in.tif", pixels, tiffinfo={281: (1 << bits) - 1})
    outcome = enhance_image(source, tmp_path / "out.tif", LaneJob(options=EQUALIZE))
    wanted = through_a_lane(Frame(pixels, PixelFormat(f"gray{bits}")))
    assert np.array_equal(np.asarray(Image.open(outcome.target)), wanted)
    assert wanted.max() == (1 << bits) - 1
    assert read_still(outcome.target).bits == bits


def test_bits_that_a_tiff_denies_having_count_as_16(tmp_path: Path, rng: np.random.Generator) -> None:
    source = save(tmp_path / "in.tif", deep(rng), tiffinfo={281: 1023})
    assert read_still(source).bits == 16


def test_samples_packed_in_12_bits_have_12(shared_data: Path) -> None:
    folder = shared_data / "images" / "medical16"
    packed, plain = read_still(folder / "12bit.cropped.tif"), read_still(folder / "12in16bit.tif")
    assert (packed.bits, plain.bits) == (12, 16)
    assert np.array_equal(packed.frame.pixels, plain.frame.pixels)


@pytest.mark.parametrize(("channels", "suffix"), [(3, ".png"), (4, ".png"), (3, ".tif"), (4, ".tif")])
def test_16_bit_colour_is_scaled_by_its_value(
    tmp_path: Path, rng: np.random.Generator, channels: int, suffix: str
) -> None:
    pixels = deep(rng, channels)
    pixels[0, 0, :3] = 0
    encode = encode_png if suffix == ".png" else lambda colors: encode_tiff(colors, 16)
    (tmp_path / f"in{suffix}").write_bytes(encode(pixels))
    outcome = enhance_image(tmp_path / f"in{suffix}", tmp_path / "out.png", LaneJob(options=EQUALIZE))
    made = pixels_of(outcome.target)
    value = pixels[..., :3].max(axis=2)
    mapped = through_a_lane(Frame(value, PixelFormat.GRAY16))
    assert np.array_equal(made[..., :3].max(axis=2), mapped)
    for y, x in [(0, 0), (3, 4), (23, 39)]:
        for channel in range(3):
            exact = Fraction(int(pixels[y, x, channel]) * int(mapped[y, x]), max(int(value[y, x]), 1))
            assert made[y, x, channel] == (round(exact) if value[y, x] else mapped[y, x])
    if channels == 4:
        assert np.array_equal(made[..., 3], pixels[..., 3])


def test_recolouring_rounds_ties_to_even_and_keeps_gray_gray() -> None:
    colors = np.array([[[1, 2, 2], [3, 2, 2], [7, 7, 7], [0, 0, 0]]], np.uint16)
    value = colors.max(axis=2)
    made = recolored(colors, value, np.array([[5, 5, 65535, 9]], np.uint16))
    assert made.tolist() == [[[2, 5, 5], [5, 3, 3], [65535, 65535, 65535], [9, 9, 9]]]


def test_16_bit_colour_by_its_luma_is_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    (tmp_path / "in.png").write_bytes(encode_png(deep(rng, 3)))
    job = LaneJob(options=Options(equalization=Equalization(color=ColorMode.LUMA)))
    with pytest.raises(UsageError, match="--color luma"):
        enhance_image(tmp_path / "in.png", tmp_path / "out.png", job)


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_alpha_is_kept(tmp_path: Path, rng: np.random.Generator, suffix: str) -> None:
    pixels = rng.integers(0, 90, (24, 40, 4), np.uint8)
    source = save(tmp_path / "in.webp", pixels, lossless=True, exact=True)
    outcome = enhance_image(source, tmp_path / f"out{suffix}", LaneJob(options=EQUALIZE))
    made = np.asarray(Image.open(outcome.target))
    wanted = through_a_lane(Frame(pixels[..., [2, 1, 0, 3]].copy(), PixelFormat.BGRA32))
    assert np.array_equal(made[..., [2, 1, 0, 3]], wanted)
    assert np.array_equal(made[..., 3], pixels[..., 3])


def test_alpha_that_a_jpeg_cannot_hold_is_mentioned(tmp_path: Path, rng: np.random.Generator) -> None:
    source = save(tmp_path / "in.png", rng.integers(0, 90, (24, 40, 4), np.uint8))
    outcome = enhance_image(source, tmp_path / "out.jpg", LaneJob())
    assert pixels_of(outcome.target).shape == (24, 40, 3)
    assert outcome.notes == ["its alpha is left out of a JPEG; .png and .tif keep it"]


@pytest.mark.parametrize(
    ("suffix", "options"),
    [(".webp", {"lossless": True}), (".bmp", {}), (".ppm", {}), (".tif", {}), (".jp2", {}), (".gif", {})],
)
def test_other_formats_give_the_same_picture(tmp_path: Path, suffix: str, options: dict[str, object]) -> None:
    rgb = (dim_frame(2) // 51 * 51)[..., ::-1]
    frame = read_still(save(tmp_path / f"in{suffix}", rgb, **options)).frame
    assert np.array_equal(frame.pixels[..., :3], rgb[..., ::-1])


@pytest.mark.parametrize("suffix", [".webp", ".tif", ".png"])
@pytest.mark.parametrize("number", range(1, 9))
def test_a_tag_turns_every_format(tmp_path: Path, suffix: str, number: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = number
    options = {"lossless": True} if suffix == ".webp" else {}
    source = save(tmp_path / f"in{suffix}", dim_frame(2), exif=exif, **options)
    wanted = np.asarray(ImageOps.exif_transpose(Image.open(source)))
    assert np.array_equal(read_still(source).frame.pixels[..., ::-1], wanted)


@pytest.mark.parametrize("suffix", [".webp", ".png"])
def test_an_orientation_is_taken_in_place_of_the_tag(tmp_path: Path, suffix: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    options = {"lossless": True} if suffix == ".webp" else {}
    source = save(tmp_path / f"in{suffix}", dim_frame(2)[..., ::-1].copy(), exif=exif, **options)
    as_stored = read_still(source, Orientation.NONE).frame.pixels
    assert np.array_equal(as_stored, dim_frame(2))
    assert np.array_equal(read_still(source, Orientation.FLIP_X).frame.pixels, as_stored[:, ::-1])


@pytest.mark.parametrize("suffix", [".gif", ".png", ".webp"])
def test_of_an_animation_the_first_picture_is_enhanced_and_that_is_said(tmp_path: Path, suffix: str) -> None:
    source = animation(tmp_path / f"in{suffix}")
    outcome = enhance_image(source, tmp_path / "out.png", LaneJob())
    assert outcome.notes[0].startswith("the first of its 3 pictures is enhanced")
    assert (".mp4" in outcome.notes[0]) is moves(source) is (suffix != ".webp")


@pytest.mark.parametrize("suffix", [".gif", ".png"])
def test_an_animation_becomes_a_video_under_the_name_of_one(tmp_path: Path, suffix: str) -> None:
    source = animation(tmp_path / f"in{suffix}")
    assert enhance(source, tmp_path / "out.mp4", LaneJob(), None) == 0
    assert len(content(tmp_path / "out.mp4").pictures) == 3


def animation(path: Path) -> Path:
    first, *rest = (Image.fromarray(dim_frame(4 * n)[..., ::-1].copy()) for n in range(3))
    first.save(path, save_all=True, append_images=rest, duration=80)
    return path


def test_what_is_no_image_is_not_called_a_bad_video(tmp_path: Path) -> None:
    (tmp_path / "page.svg").write_text("<svg/>")
    with pytest.raises(UsageError, match="no image that is read: JPEG, PNG, AVIF"):
        enhance(tmp_path / "page.svg", tmp_path / "out.png", LaneJob(), None)


def test_a_colour_multiplied_by_its_alpha_is_divided_by_it(tmp_path: Path) -> None:
    stored = np.array([[[100, 200, 300, 32768], [0, 0, 0, 0], [7, 8, 9, 65535], [9, 9, 9, 3]]], np.uint16)
    tags = {
        256: (4, 4, 1), 257: (4, 1, 1), 258: (3, 0, 4), 259: (3, 1, 1), 262: (3, 2, 1), 273: (4, 0, 1),
        277: (3, 4, 1), 278: (4, 1, 1), 279: (4, stored.nbytes, 1), 338: (3, 1, 1),
    }  # fmt: skip
    end = 8 + 2 + 12 * len(tags) + 4
    tags[258], tags[273] = (3, end, 4), (4, end + 8, 1)
    entries = [struct.pack("<HHII", tag, kind, count, value) for tag, (kind, value, count) in tags.items()]
    head = struct.pack("<2sHIH", b"II", 42, 8, len(tags)) + b"".join(entries) + bytes(4)
    pixels = stored[..., [2, 1, 0, 3]].astype("<u2").tobytes()
    (tmp_path / "in.tif").write_bytes(head + struct.pack("<4H", 16, 16, 16, 16) + pixels)
    colors = read_still(tmp_path / "in.tif").colors
    assert colors is not None
    assert colors.tolist() == [
        [[200, 400, 600, 32768], [0, 0, 0, 0], [7, 8, 9, 65535], [65535, 65535, 65535, 3]]
    ]


def test_lab_becomes_the_colour_it_means(tmp_path: Path) -> None:
    lab = np.zeros((8, 8, 3), np.uint8)
    lab[..., 0] = 136  # L* 53.2, a* 80, b* 67: red
    lab[..., 1:] = (80, 67)
    Image.fromarray(lab, "LAB").save(tmp_path / "in.tif")
    blue, green, red = read_still(tmp_path / "in.tif").frame.pixels[4, 4].tolist()
    assert red > 245
    assert max(blue, green) < 30


def test_a_kind_of_tiff_that_is_not_read_is_named(tmp_path: Path) -> None:
    Image.new("F", (8, 8)).save(tmp_path / "in.tif")
    with pytest.raises(UsageError, match="of the kind F came; convert it"):
        read_still(tmp_path / "in.tif")


def test_a_bomb_in_any_format_is_refused_by_its_header(tmp_path: Path) -> None:
    header = b"BM" + struct.pack("<IIIIiiHHIIIIII", 100, 0, 54, 40, 60_000, 60_000, 1, 24, 0, 0, 0, 0, 0, 0)
    (tmp_path / "in.bmp").write_bytes(header + bytes(50))
    with pytest.raises(UsageError, match="scale it down"):
        read_still(tmp_path / "in.bmp")


REFUSED = {
    "coffee_f32.tif": "floating point",
    "sk_multipage_rgb.tif": "floating point",
    "ljt_testimgari.jpg": "arithmetic",
    "ljt_testorig12.jpg": "12 bits",
    "motion_photo.heic": "HEIC",
    "bmp_rgb32bf.bmp": "bitfields",
    "rgb32rle.tga": "no image that is read",
}
"""Sound images that are refused, and what the sentence names."""


def test_every_image_is_enhanced_or_refused_with_a_sentence(tmp_path: Path, shared_data: Path) -> None:
    refused = {}
    for source in sorted((shared_data / "images").rglob("*.*")):
        if source.parent.name == "corrupt" or source.suffix == ".txt":
            continue
        try:
            assert enhance(source, tmp_path / "out.png", LaneJob(force=True), None) == 0
        except LumaflowError as error:
            refused[source.name] = str(error)
            continue
        frame = read_still(source).frame
        made = pixels_of(tmp_path / "out.png")
        assert made.shape[:2] == (frame.geometry.height, frame.geometry.width), source.name
        assert made.itemsize == frame.pixels.itemsize, source.name
    assert refused.keys() == REFUSED.keys()
    assert all(words in refused[name] for name, words in REFUSED.items())


def test_every_corrupt_image_is_enhanced_or_refused(tmp_path: Path, shared_data: Path) -> None:
    done = set()
    for source in sorted((shared_data / "images" / "corrupt").iterdir()):
        try:
            enhance_image(source, tmp_path / "out.png", LaneJob(force=True))
        except LumaflowError:
            continue
        done.add(source.name)
    assert done == {
        "bmp_badrle.bmp",
        "exif_typeerror.jpg",
        "missing_huffman.jpg",
        "padded_idat.png",
        "png_named.jpg",
        "total-pages-zero.tif",
    }
