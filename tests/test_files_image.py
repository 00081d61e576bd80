"""Enhancing still images, and detecting the kind of a file."""

import io
import os
import struct
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps

from lumaflow.errors import LumaflowError
from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame, LutKind
from lumaflow.options import ColorMode, Equalization, Mode, Options, Orientation, Output
from lumaflow_service.files.commands import enhance
from lumaflow_service.files.errors import BadFileError, UsageError
from lumaflow_service.files.features import open_features, with_features
from lumaflow_service.files.file_kind import FileKind, detect_kind, is_animated
from lumaflow_service.files.image import enhance_image, extract_image_features
from lumaflow_service.files.run_lane import LaneJob, run_lane
from lumaflow_service.files.still_image import read_still_image, scale_by_value
from lumaflow_service.media.codec import decode, encode_jpeg, encode_png
from lumaflow_service.media.codec.icc_profile import MAX_BYTES, insert_icc_profile, read_icc_profile
from lumaflow_service.media.codec.tiff import encode_tiff
from lumaflow_service.media.header import read_header
from make_video import dim_frame, make_video, read_video

EQUALIZE = Options(equalization=Equalization(Mode.EQUALIZE))


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    path.write_bytes(encode_png(dim_frame(2)))
    return path


def pixels_of(path: Path) -> np.ndarray:
    data = path.read_bytes()
    return decode(data, read_header(data, 1 << 24))


def test_an_image_is_enhanced_with_its_own_lut(photo: Path, tmp_path: Path) -> None:
    job = LaneJob(options=EQUALIZE)
    outcome = enhance_image(photo, tmp_path / "out.png", job)
    ((_, result),) = run_lane([read_still_image(photo).frame], job)
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


def test_an_image_is_stored_upright(tmp_path: Path) -> None:
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
        assert extract_image_features(photo, job, features) == 1
    ((_, result),) = run_lane([read_still_image(photo).frame], job)
    with np.load(tmp_path / "f.npz") as npz:
        assert np.array_equal(npz["hog/000000"], result.hog)
        assert np.array_equal(npz["lbp/000000"], result.lbp)
        assert np.array_equal(npz["bins"], result.bins[None])
        assert npz["pts"].tolist() == [0]


def test_a_suffix_of_no_image_is_rejected(photo: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.jpg, \.png or \.tif"):
        enhance_image(photo, tmp_path / "out.mp4", LaneJob())


def test_a_damaged_image_gives_one_error_and_no_output(
    photo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(photo.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(40)
    photo.write_bytes(data)
    with pytest.raises(BadFileError, match=r"photo\.png: the PNG "):
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
def test_the_kind_is_detected_by_the_first_bytes(
    tmp_path: Path, name: str, data: bytes, kind: FileKind
) -> None:
    (tmp_path / name).write_bytes(data)
    assert detect_kind(tmp_path / name) is kind
    assert detect_kind(tmp_path) is FileKind.FOLDER


def test_missing_empty_and_unsupported_files_have_their_own_errors(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "a.jpg").write_bytes(b"\0\0\0\x20ftypheic" + bytes(20))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="save it to a file first"):
        detect_kind(tmp_path / "pipe")
    with pytest.raises(UsageError, match="does not exist"):
        detect_kind(tmp_path / "missing")
    with pytest.raises(UsageError, match="is empty"):
        detect_kind(tmp_path / "empty")
    with pytest.raises(UsageError, match="HEIC"):
        detect_kind(tmp_path / "a.jpg")


def test_a_video_named_like_an_image_is_rejected(tmp_path: Path) -> None:
    film = make_video(tmp_path / "a.mp4", frames=2).rename(tmp_path / "a.jpg")
    with pytest.raises(UsageError, match=r"a\.jpg is not an image, despite its name; .* JPEG, PNG, .* WebP"):
        detect_kind(film)


# Colour profiles


def icc_profile_of(path: Path) -> bytes | None:
    with Image.open(path) as image:
        image.load()
        return image.info.get("icc_profile")


def fake_icc_profile(space: bytes = b"RGB ", size: int = 600) -> bytes:
    """Bytes with the signature and the colour space of an ICC profile."""
    filler = np.random.default_rng(7).bytes(size)
    return filler[:16] + space + filler[20:36] + b"acsp" + filler[40:]


@pytest.mark.parametrize("target", ["out.jpg", "out.png", "out.tif"])
@pytest.mark.parametrize("name", ["in.jpg", "in.png", "in.tif", "in.webp"])
def test_an_icc_profile_is_copied(tmp_path: Path, name: str, target: str) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    source = save(tmp_path / name, dim_frame(2), icc_profile=profile)
    outcome = enhance_image(source, tmp_path / target, LaneJob(options=EQUALIZE))
    assert icc_profile_of(outcome.target) == profile
    assert outcome.warnings == []
    assert outcome.target.read_bytes()[2:4] == b"\xff\xe0" or target != "out.jpg"
    plain = save(tmp_path / f"plain-{name}", dim_frame(2))
    enhance_image(plain, tmp_path / f"plain-{target}", LaneJob(options=EQUALIZE))
    assert icc_profile_of(tmp_path / f"plain-{target}") is None
    assert np.array_equal(Image.open(outcome.target), Image.open(tmp_path / f"plain-{target}"))


def test_an_icc_profile_larger_than_a_segment_is_copied(tmp_path: Path) -> None:
    profile = fake_icc_profile(size=150_001)
    source = save(tmp_path / "in.jpg", dim_frame(2), icc_profile=profile)
    for name in ("out.jpg", "out.png", "out.tif"):
        assert icc_profile_of(enhance_image(source, tmp_path / name, LaneJob()).target) == profile


def test_16_bit_images_keep_their_icc_profile(tmp_path: Path, rng: np.random.Generator) -> None:
    for pixels, space in ((levels16(rng), b"GRAY"), (levels16(rng, 3), b"RGB "), (levels16(rng, 4), b"RGB ")):
        profile = fake_icc_profile(space, 501)
        (tmp_path / "in.tif").write_bytes(insert_icc_profile(encode_tiff(pixels, 16), profile))
        outcome = enhance_image(tmp_path / "in.tif", tmp_path / "out.tif", LaneJob(force=True))
        assert read_still_image(outcome.target).icc_profile == profile
        assert read_still_image(outcome.target).bits == 16


@pytest.mark.parametrize("space", [b"CMYK", b"GRAY"])
def test_an_icc_profile_of_another_colour_space_is_left_out_with_a_warning(
    tmp_path: Path, space: bytes
) -> None:
    source = save(tmp_path / "in.jpg", dim_frame(2), icc_profile=fake_icc_profile(space))
    outcome = enhance_image(source, tmp_path / "out.png", LaneJob())
    assert icc_profile_of(outcome.target) is None
    assert outcome.warnings == ["its ICC profile is left out: it is neither RGB nor gray as the output is"]


def test_a_damaged_icc_profile_is_ignored(tmp_path: Path) -> None:
    good = insert_icc_profile(encode_png(dim_frame(2)), fake_icc_profile())
    at = good.index(b"iCCP") + 20
    bad = bytearray(good)
    bad[at : at + 30] = bytes(30)
    assert read_icc_profile(good) == fake_icc_profile()
    assert read_icc_profile(bytes(bad)) is None
    assert read_icc_profile(insert_icc_profile(encode_png(dim_frame(2)), bytes(MAX_BYTES + 1))) is None
    jpeg = insert_icc_profile(encode_jpeg(dim_frame(2)), fake_icc_profile(size=100_000))
    assert read_icc_profile(jpeg) == fake_icc_profile(size=100_000)
    assert read_icc_profile(jpeg.replace(b"ICC_PROFILE\0\2", b"XCC_PROFILE\0\2")) is None


# Depth, alpha, other formats


def levels16(rng: np.random.Generator, *rest: int, bits: int = 16) -> np.ndarray:
    return rng.integers(0, 1 << bits - 2, (24, 40, *rest), np.uint16)


def save(path: Path, pixels: np.ndarray, **options: object) -> Path:
    """Save gray, RGB or RGBA pixels with Pillow."""
    Image.fromarray(pixels).save(path, **options)
    return path


def enhanced_pixels(frame: Frame, options: Options = EQUALIZE) -> np.ndarray:
    ((_, result),) = run_lane([frame], LaneJob(options=options))
    return result.frame.pixels.copy()


def test_a_16_bit_png_keeps_its_depth(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = levels16(rng)
    (tmp_path / "in.png").write_bytes(encode_png(pixels))
    outcome = enhance_image(tmp_path / "in.png", tmp_path / "out.png", LaneJob(options=EQUALIZE))
    made = pixels_of(outcome.target)
    assert np.array_equal(made, enhanced_pixels(Frame(pixels, PixelFormat.GRAY16)))
    assert (made.dtype, outcome.warnings) == (np.uint16, [])


def test_a_jpeg_of_16_bits_has_8_bits_and_a_warning(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = np.kron(levels16(rng, bits=18), np.ones((8, 8), np.uint16))
    (tmp_path / "in.png").write_bytes(encode_png(pixels))
    job = LaneJob(options=Options(equalization=Equalization(Mode.IDENTITY)))
    outcome = enhance_image(tmp_path / "in.png", tmp_path / "out.jpg", job)
    made = pixels_of(outcome.target)
    assert np.abs(made - np.rint(pixels * (255 / 65535))).mean() < 4
    assert outcome.warnings == ["its 16 bits are reduced to the 8 bits of a JPEG; .png and .tif keep them"]


def test_a_jpeg_of_16_bit_gray_uses_the_8_bit_lut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    pixels, seen = levels16(rng), []
    (tmp_path / "in.png").write_bytes(encode_png(pixels))
    monkeypatch.setattr(
        "lumaflow_service.files.image.encode_jpeg", lambda shown, quality: seen.append(shown) or b""
    )
    enhance_image(tmp_path / "in.png", tmp_path / "out.jpg", LaneJob(options=EQUALIZE))
    options = replace(EQUALIZE, output=Output.DISPLAY)
    assert np.array_equal(seen[0], enhanced_pixels(Frame(pixels, PixelFormat.GRAY16), options))


@pytest.mark.parametrize("bits", [10, 12, 14, 16])
def test_a_tiff_keeps_its_levels_and_its_bit_depth(
    tmp_path: Path, rng: np.random.Generator, bits: int
) -> None:
    pixels = levels16(rng, bits=bits)
    source = save(tmp_path / "in.tif", pixels, tiffinfo={281: (1 << bits) - 1})
    outcome = enhance_image(source, tmp_path / "out.tif", LaneJob(options=EQUALIZE))
    wanted = enhanced_pixels(Frame(pixels, PixelFormat(f"gray{bits}")))
    assert np.array_equal(np.asarray(Image.open(outcome.target)), wanted)
    assert wanted.max() == (1 << bits) - 1
    assert read_still_image(outcome.target).bits == bits


def test_levels_above_the_tagged_depth_of_a_tiff_mean_16_bits(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    source = save(tmp_path / "in.tif", levels16(rng), tiffinfo={281: 1023})
    assert read_still_image(source).bits == 16


def test_samples_packed_in_12_bits_have_12(shared_data: Path) -> None:
    folder = shared_data / "images" / "medical16"
    packed, plain = read_still_image(folder / "12bit.cropped.tif"), read_still_image(folder / "12in16bit.tif")
    assert (packed.bits, plain.bits) == (12, 16)
    assert np.array_equal(packed.frame.pixels, plain.frame.pixels)


@pytest.mark.parametrize(("channels", "suffix"), [(3, ".png"), (4, ".png"), (3, ".tif"), (4, ".tif")])
def test_16_bit_colour_is_scaled_by_its_value(
    tmp_path: Path, rng: np.random.Generator, channels: int, suffix: str
) -> None:
    pixels = levels16(rng, channels)
    pixels[0, 0, :3] = 0
    encode = encode_png if suffix == ".png" else lambda colors: encode_tiff(colors, 16)
    (tmp_path / f"in{suffix}").write_bytes(encode(pixels))
    outcome = enhance_image(tmp_path / f"in{suffix}", tmp_path / "out.png", LaneJob(options=EQUALIZE))
    made = pixels_of(outcome.target)
    value = pixels[..., :3].max(axis=2)
    mapped = enhanced_pixels(Frame(value, PixelFormat.GRAY16))
    assert np.array_equal(made[..., :3].max(axis=2), mapped)
    for y, x in [(0, 0), (3, 4), (23, 39)]:
        for channel in range(3):
            exact = Fraction(int(pixels[y, x, channel]) * int(mapped[y, x]), max(int(value[y, x]), 1))
            assert made[y, x, channel] == (round(exact) if value[y, x] else mapped[y, x])
    if channels == 4:
        assert np.array_equal(made[..., 3], pixels[..., 3])


def test_scale_by_value_rounds_ties_to_even_and_keeps_gray_gray() -> None:
    colors = np.array([[[1, 2, 2], [3, 2, 2], [7, 7, 7], [0, 0, 0]]], np.uint16)
    value = colors.max(axis=2)
    made = scale_by_value(colors, value, np.array([[5, 5, 65535, 9]], np.uint16))
    assert made.tolist() == [[[2, 5, 5], [5, 3, 3], [65535, 65535, 65535], [9, 9, 9]]]


def test_16_bit_colour_with_color_luma_is_rejected(tmp_path: Path, rng: np.random.Generator) -> None:
    (tmp_path / "in.png").write_bytes(encode_png(levels16(rng, 3)))
    job = LaneJob(options=Options(equalization=Equalization(color=ColorMode.LUMA)))
    with pytest.raises(UsageError, match="--color luma"):
        enhance_image(tmp_path / "in.png", tmp_path / "out.png", job)


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_alpha_is_kept(tmp_path: Path, rng: np.random.Generator, suffix: str) -> None:
    pixels = rng.integers(0, 90, (24, 40, 4), np.uint8)
    source = save(tmp_path / "in.webp", pixels, lossless=True, exact=True)
    outcome = enhance_image(source, tmp_path / f"out{suffix}", LaneJob(options=EQUALIZE))
    made = np.asarray(Image.open(outcome.target))
    wanted = enhanced_pixels(Frame(pixels[..., [2, 1, 0, 3]].copy(), PixelFormat.BGRA32))
    assert np.array_equal(made[..., [2, 1, 0, 3]], wanted)
    assert np.array_equal(made[..., 3], pixels[..., 3])


def test_alpha_in_a_jpeg_gives_a_warning(tmp_path: Path, rng: np.random.Generator) -> None:
    source = save(tmp_path / "in.png", rng.integers(0, 90, (24, 40, 4), np.uint8))
    outcome = enhance_image(source, tmp_path / "out.jpg", LaneJob())
    assert pixels_of(outcome.target).shape == (24, 40, 3)
    assert outcome.warnings == ["a JPEG has no alpha channel; .png and .tif keep it"]


@pytest.mark.parametrize(
    ("suffix", "options"),
    [(".webp", {"lossless": True}), (".bmp", {}), (".ppm", {}), (".tif", {}), (".jp2", {}), (".gif", {})],
)
def test_other_formats_decode_to_the_same_pixels(
    tmp_path: Path, suffix: str, options: dict[str, object]
) -> None:
    rgb = (dim_frame(2) // 51 * 51)[..., ::-1]
    frame = read_still_image(save(tmp_path / f"in{suffix}", rgb, **options)).frame
    assert np.array_equal(frame.pixels[..., :3], rgb[..., ::-1])


@pytest.mark.parametrize("suffix", [".webp", ".tif", ".png"])
@pytest.mark.parametrize("number", range(1, 9))
def test_the_exif_tag_reorients_every_format(tmp_path: Path, suffix: str, number: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = number
    options = {"lossless": True} if suffix == ".webp" else {}
    source = save(tmp_path / f"in{suffix}", dim_frame(2), exif=exif, **options)
    wanted = np.asarray(ImageOps.exif_transpose(Image.open(source)))
    assert np.array_equal(read_still_image(source).frame.pixels[..., ::-1], wanted)


@pytest.mark.parametrize("suffix", [".webp", ".png"])
def test_an_orientation_overrides_the_exif_tag(tmp_path: Path, suffix: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    options = {"lossless": True} if suffix == ".webp" else {}
    source = save(tmp_path / f"in{suffix}", dim_frame(2)[..., ::-1].copy(), exif=exif, **options)
    as_stored = read_still_image(source, Orientation.NONE).frame.pixels
    assert np.array_equal(as_stored, dim_frame(2))
    assert np.array_equal(read_still_image(source, Orientation.FLIP_X).frame.pixels, as_stored[:, ::-1])


@pytest.mark.parametrize("suffix", [".gif", ".png", ".webp"])
def test_of_an_animation_the_first_frame_is_enhanced_with_a_warning(tmp_path: Path, suffix: str) -> None:
    source = animation(tmp_path / f"in{suffix}")
    outcome = enhance_image(source, tmp_path / "out.png", LaneJob())
    assert outcome.warnings[0].startswith("only the first of its 3 frames is enhanced")
    assert (".mp4" in outcome.warnings[0]) is is_animated(source) is (suffix != ".webp")


@pytest.mark.parametrize("suffix", [".gif", ".png"])
def test_an_animation_becomes_a_video_by_the_suffix_of_the_output(tmp_path: Path, suffix: str) -> None:
    source = animation(tmp_path / f"in{suffix}")
    assert enhance(source, tmp_path / "out.mp4", LaneJob(), None) == 0
    assert len(read_video(tmp_path / "out.mp4").frames) == 3


def animation(path: Path) -> Path:
    first, *rest = (Image.fromarray(dim_frame(4 * n)[..., ::-1].copy()) for n in range(3))
    first.save(path, save_all=True, append_images=rest, duration=80)
    return path


def test_an_svg_is_rejected_as_an_image_not_as_a_video(tmp_path: Path) -> None:
    (tmp_path / "page.svg").write_text("<svg/>")
    with pytest.raises(UsageError, match="is not an image; expected one of JPEG, PNG, AVIF"):
        enhance(tmp_path / "page.svg", tmp_path / "out.png", LaneJob(), None)


def test_premultiplied_colour_is_divided_by_alpha(tmp_path: Path) -> None:
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
    colors = read_still_image(tmp_path / "in.tif").color16
    assert colors is not None
    assert colors.tolist() == [
        [[200, 400, 600, 32768], [0, 0, 0, 0], [7, 8, 9, 65535], [65535, 65535, 65535, 3]]
    ]


def test_lab_is_converted_to_rgb(tmp_path: Path) -> None:
    lab = np.zeros((8, 8, 3), np.uint8)
    lab[..., 0] = 136  # L* 53.2, a* 80, b* 67: red
    lab[..., 1:] = (80, 67)
    Image.fromarray(lab, "LAB").save(tmp_path / "in.tif")
    blue, green, red = read_still_image(tmp_path / "in.tif").frame.pixels[4, 4].tolist()
    assert red > 245
    assert max(blue, green) < 30


def test_the_error_names_an_unsupported_mode_of_tiff(tmp_path: Path) -> None:
    Image.new("F", (8, 8)).save(tmp_path / "in.tif")
    with pytest.raises(UsageError, match="of mode F; convert it"):
        read_still_image(tmp_path / "in.tif")


def test_a_decompression_bomb_is_rejected_by_its_header(tmp_path: Path) -> None:
    header = b"BM" + struct.pack("<IIIIiiHHIIIIII", 100, 0, 54, 40, 60_000, 60_000, 1, 24, 0, 0, 0, 0, 0, 0)
    (tmp_path / "in.bmp").write_bytes(header + bytes(50))
    with pytest.raises(UsageError, match="scale the image"):
        read_still_image(tmp_path / "in.bmp")


REJECTED = {
    "coffee_f32.tif": "floating point",
    "sk_multipage_rgb.tif": "floating point",
    "ljt_testimgari.jpg": "arithmetic",
    "ljt_testorig12.jpg": "12 bits",
    "motion_photo.heic": "HEIC",
    "bmp_rgb32bf.bmp": "bitfields",
    "rgb32rle.tga": "is not an image",
}
"""Undamaged images that are rejected, and words of the error."""


def test_every_image_is_enhanced_or_rejected_with_a_reason(tmp_path: Path, shared_data: Path) -> None:
    rejected = {}
    for source in sorted((shared_data / "images").rglob("*.*")):
        if source.parent.name == "corrupt" or source.suffix == ".txt":
            continue
        try:
            assert enhance(source, tmp_path / "out.png", LaneJob(force=True), None) == 0
        except LumaflowError as error:
            rejected[source.name] = str(error)
            continue
        frame = read_still_image(source).frame
        made = pixels_of(tmp_path / "out.png")
        assert made.shape[:2] == (frame.geometry.height, frame.geometry.width), source.name
        assert made.itemsize == frame.pixels.itemsize, source.name
    assert rejected.keys() == REJECTED.keys()
    assert all(words in rejected[name] for name, words in REJECTED.items())


def test_every_corrupt_image_is_enhanced_or_rejected(tmp_path: Path, shared_data: Path) -> None:
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
