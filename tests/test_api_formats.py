"""Frames of every pixel format over HTTP: raw, high bit depth, colour, rotated, with alpha."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import httpx
import numpy as np
import pytest
from PIL import Image

from conftest import RunningService
from lumaflow.backend import open_lane
from lumaflow.formats import Alignment, PixelFormat, Range
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, Mode, Options, Orientation, Output, Region
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.media.codec import display_pixels, encode_png, lossless_pixels
from lumaflow_service.media.header import read_header

DEEP = [PixelFormat.GRAY10, PixelFormat.GRAY12, PixelFormat.GRAY14, PixelFormat.GRAY16]
RAW = {"Content-Type": "application/octet-stream"}
DEFAULT = SourceOptions().to_pipeline()
BOX = {"x": 3, "y": 2, "width": 17, "height": 9}


def dark_frame(geometry: Geometry, rng: np.random.Generator) -> Frame:
    """A frame whose samples lie in the lower half of their depth."""
    top = 1 << geometry.layout.bits
    samples = rng.integers(top // 16, top // 2, geometry.frame_bytes // geometry.dtype.itemsize)
    return Frame.from_buffer((samples << geometry.shift).astype(geometry.dtype), geometry)


def post(client: httpx.Client, source: str, frame: Frame, accept: str = "") -> httpx.Response:
    """Post one frame as it is."""
    geometry = frame.geometry
    query = {
        "format": str(geometry.pixel_format),
        "width": geometry.width,
        "height": geometry.height,
        "range": str(geometry.range),
        "alignment": str(geometry.alignment),
    }
    body = b"".join(plane.tobytes() for plane in frame.planes)
    headers = {**RAW, **({"Accept": accept} if accept else {})}
    return client.post(f"/v1/sources/{source}/frames", content=body, params=query, headers=headers)


def enhance_with_lane(frame: Frame, options: Options | None = None) -> Frame:
    """A first frame enhanced by a separate lane."""
    with open_lane("cpu", frame.geometry, options or DEFAULT) as lane:
        out = Frame.empty(lane.output)
        lane.submit(frame, out)
        return lane.collect().frame


def bytes_of(frame: Frame) -> bytes:
    return b"".join(plane.tobytes() for plane in frame.planes)


def decode_image(answer: httpx.Response) -> np.ndarray:
    assert answer.status_code == 200, answer.text
    return cv2.imdecode(np.frombuffer(answer.content, np.uint8), cv2.IMREAD_UNCHANGED)


@pytest.mark.parametrize("size", [(64, 40), (33, 21)])
@pytest.mark.parametrize("pixel_format", list(PixelFormat))
def test_raw_response_of_every_format_is_exact(
    client: httpx.Client, rng: np.random.Generator, pixel_format: PixelFormat, size: tuple[int, int]
) -> None:
    frame = dark_frame(Geometry(*size, pixel_format), rng)
    answer = post(client, f"format-{pixel_format}-{size[0]}", frame)
    assert answer.status_code == 200, answer.text
    assert answer.content == bytes_of(enhance_with_lane(frame))
    assert answer.headers["X-Lumaflow-Shown"] == str(frame.geometry)


@pytest.mark.parametrize("pixel_format", list(PixelFormat))
def test_every_format_has_png_views_histogram_and_npz(
    client: httpx.Client, rng: np.random.Generator, pixel_format: PixelFormat
) -> None:
    frame, source = dark_frame(Geometry(64, 40, pixel_format), rng), f"shown-{pixel_format}"
    wanted = enhance_with_lane(frame)
    png = decode_image(post(client, source, frame, "image/png"))
    assert np.array_equal(png, lossless_pixels(wanted))
    assert png.dtype == (np.uint16 if pixel_format in DEEP else np.uint8)
    assert client.get(f"/v1/sources/{source}").json()["geometry"]["format"] == pixel_format
    for view in ("enhanced", "raw", "split"):
        shown = decode_image(client.get(f"/v1/sources/{source}/snapshot.jpg", params={"view": view}))
        assert shown.shape == display_pixels(wanted).shape
    counts = client.get(f"/v1/sources/{source}/histogram").json()
    assert sum(counts["before"]) == sum(counts["after"]) == 64 * 40
    assert len(counts["mapping"]) == 256
    assert 0 <= min(counts["mapping"]) <= max(counts["mapping"]) <= 255
    npz = np.load(io.BytesIO(post(client, source, frame, "application/x-npz").content))
    planes = [npz[name] for name in npz if name.startswith("enhanced")]
    assert sum(plane.nbytes for plane in planes) == frame.geometry.frame_bytes


def test_split_snapshot_is_raw_left_and_enhanced_right(
    client: httpx.Client, rng: np.random.Generator
) -> None:
    frame = dark_frame(Geometry(64, 48, PixelFormat.GRAY12), rng)
    post(client, "halves", frame)
    views = {}
    for view in ("enhanced", "raw", "split"):
        shown = decode_image(client.get("/v1/sources/halves/snapshot.jpg", params={"view": view}))
        views[view] = shown.astype(int)
    assert np.abs(views["split"][:, :24] - views["raw"][:, :24]).mean() < 3
    assert np.abs(views["split"][:, 40:] - views["enhanced"][:, 40:]).mean() < 3
    assert np.abs(views["raw"] - display_pixels(frame)).mean() < 8  # white noise, at the quality of views


@pytest.mark.parametrize("alignment", list(Alignment))
def test_response_keeps_the_alignment_of_the_frame(
    client: httpx.Client, rng: np.random.Generator, alignment: Alignment
) -> None:
    geometry = Geometry(40, 24, PixelFormat.GRAY12, alignment=alignment)
    frame = dark_frame(geometry, rng)
    answer = post(client, f"aligned-{alignment}", frame)
    assert answer.content == bytes_of(enhance_with_lane(frame))
    state = client.get(f"/v1/sources/aligned-{alignment}").json()
    assert state["geometry"]["alignment"] == alignment


def test_full_range_frame_uses_the_full_range(client: httpx.Client, rng: np.random.Generator) -> None:
    frames = {
        range_: dark_frame(Geometry(40, 24, PixelFormat.NV12, range_), rng)
        for range_ in (Range.FULL, Range.LIMITED)
    }
    highest = {}
    for range_, frame in frames.items():
        answer = post(client, f"range-{range_}", frame)
        assert answer.content == bytes_of(enhance_with_lane(frame))
        highest[range_] = max(answer.content[: 40 * 24])
    assert highest[Range.FULL] > highest[Range.LIMITED]
    assert highest[Range.LIMITED] <= 235


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"mode": "stretch"}, Options(Equalization(Mode.STRETCH))),
        ({"output": "display"}, replace(DEFAULT, output=Output.DISPLAY)),
        ({"orientation": "rotate90"}, replace(DEFAULT, orientation=Orientation.ROTATE90)),
        ({"region": BOX}, replace(DEFAULT, region=Region(3, 2, 17, 9))),
        (
            {"region": {**BOX, "everywhere": False}},
            replace(DEFAULT, region=Region(3, 2, 17, 9, apply_to_whole_frame=False)),
        ),
    ],
)
def test_options_reach_the_lane(
    client: httpx.Client, rng: np.random.Generator, options: dict[str, Any], wanted: Options
) -> None:
    source = "-".join(map(str, options)) + str(len(json.dumps(options)))
    client.put(f"/v1/sources/{source}", json={"options": options})
    frame = dark_frame(Geometry(40, 24, PixelFormat.GRAY12), rng)
    answer = post(client, source, frame)
    assert answer.status_code == 200, answer.text
    assert answer.content == bytes_of(enhance_with_lane(frame, wanted))


def test_chroma_gain_reaches_the_lane(client: httpx.Client, rng: np.random.Generator) -> None:
    client.put("/v1/sources/gain", json={"options": {"mode": "clahe", "chroma_gain": 0.5}})
    frame = dark_frame(Geometry(40, 24, PixelFormat.I420), rng)
    wanted = enhance_with_lane(frame, Options(Equalization(chroma_gain=0.5)))
    assert post(client, "gain", frame).content == bytes_of(wanted)


def test_region_of_null_removes_the_region(client: httpx.Client) -> None:
    client.put("/v1/sources/whole", json={"options": {"region": BOX}})
    kept_ = client.patch("/v1/sources/whole", json={"options": {"clamp": True}}).json()["options"]
    assert (kept_["region"], kept_["clamp"]) == ({**BOX, "everywhere": True}, True)
    freed = client.patch("/v1/sources/whole", json={"options": {"region": None}}).json()["options"]
    assert (freed["region"], freed["clamp"]) == (None, True)


def test_values_beyond_the_depth_are_rejected_or_clamped_and_counted(client: httpx.Client) -> None:
    pixels = np.arange(24 * 40, dtype=np.uint16).reshape(24, 40) % 1000
    pixels[3, :7] = 1024
    frame = Frame(pixels, PixelFormat.GRAY10)
    good = Frame(np.minimum(pixels, 1023), PixelFormat.GRAY10)
    answers = [post(client, "beyond", one) for one in (good, frame, good)]
    assert [answer.status_code for answer in answers] == [200, 400, 200], answers[1].text
    assert answers[2].headers["X-Lumaflow-Lut"] == "previous"
    client.put("/v1/sources/clamping", json={"options": {"clamp": True}})
    assert post(client, "clamping", frame, "application/json").json()["clamped"] == 7


@pytest.mark.parametrize(
    ("options", "form", "words"),
    [
        ({"region": {**BOX, "x": 30}}, PixelFormat.GRAY8, "inside the frame of 40x24"),
        ({"output": "display"}, PixelFormat.NV12, "needs gray frames"),
        ({"orientation": "rotate90"}, PixelFormat.YUYV, "nv12 or i420"),
    ],
)
def test_options_that_do_not_fit_the_frame_get_422(
    client: httpx.Client, rng: np.random.Generator, options: dict[str, Any], form: PixelFormat, words: str
) -> None:
    client.put("/v1/sources/unfit", json={"options": options})
    answer = post(client, "unfit", dark_frame(Geometry(40, 24, form), rng))
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


@pytest.mark.parametrize(
    ("form", "length"),
    [
        ("gray12", 33 * 21 * 2),
        ("nv12", 33 * 21 + 17 * 11 * 2),
        ("p010", 2 * (33 * 21 + 17 * 11 * 2)),
        ("uyvy", 1428),
    ],
)
def test_error_of_a_wrong_body_length_names_the_expected_length(
    client: httpx.Client, form: str, length: int
) -> None:
    query = {"format": form, "width": 33, "height": 21}
    answer = client.post("/v1/sources/wrong/frames", content=bytes(length + 1), params=query, headers=RAW)
    assert answer.status_code == 400
    assert f"expected {length} bytes" in answer.json()["detail"]


def test_bgr_of_limited_range_is_rejected(client: httpx.Client) -> None:
    query = {"format": "bgr24", "width": 4, "height": 4, "range": "limited"}
    answer = client.post("/v1/sources/wrong/frames", content=bytes(48), params=query, headers=RAW)
    assert (answer.status_code, "expand it" in answer.json()["detail"]) == (400, True)


def test_source_fixed_to_an_alignment_rejects_others(client: httpx.Client, rng: np.random.Generator) -> None:
    shape = {"width": 40, "height": 24, "format": "gray12", "alignment": "msb"}
    client.put("/v1/sources/fixed12", json={"geometry": shape})
    aligned = dark_frame(Geometry(40, 24, PixelFormat.GRAY12, alignment=Alignment.MSB), rng)
    assert post(client, "fixed12", aligned).status_code == 200
    refused = post(client, "fixed12", dark_frame(Geometry(40, 24, PixelFormat.GRAY12), rng))
    assert refused.status_code == 409
    assert "expected a frame of 40x24 gray12 msb" in refused.json()["detail"]


# Images


def send(client: httpx.Client, source: str, body: bytes, media: str = "image/png") -> httpx.Response:
    return client.post(f"/v1/sources/{source}/frames", content=body, headers={"Content-Type": media})


def test_16_bit_png_response_has_16_bits(client: httpx.Client, rng: np.random.Generator) -> None:
    frame = dark_frame(Geometry(40, 24, PixelFormat.GRAY16), rng)
    answer = decode_image(send(client, "png16", encode_png(frame.pixels)))
    assert np.array_equal(answer, enhance_with_lane(frame).pixels)


def test_alpha_is_unchanged(client: httpx.Client, rng: np.random.Generator) -> None:
    frame = dark_frame(Geometry(40, 24, PixelFormat.BGRA32), rng)
    answer = decode_image(send(client, "alpha", encode_png(frame.pixels)))
    assert np.array_equal(answer, enhance_with_lane(frame).pixels)
    assert np.array_equal(answer[..., 3], frame.pixels[..., 3])


def test_16_bit_colour_error_says_what_to_do(client: httpx.Client) -> None:
    answer = send(client, "png48", encode_png(np.zeros((4, 4, 3), np.uint16)))
    assert answer.status_code == 415
    assert "convert it" in answer.json()["detail"]


def test_cmyk_jpeg_is_converted_to_bgr(client: httpx.Client) -> None:
    out = io.BytesIO()
    Image.new("RGB", (32, 16), (200, 40, 30)).convert("CMYK").save(out, "JPEG")
    client.put("/v1/sources/inks", json={"options": {"mode": "identity"}})
    shown = decode_image(send(client, "inks", out.getvalue(), "image/jpeg"))
    assert np.abs(shown.reshape(-1, 3).mean(axis=0) - (30, 40, 200)).max() < 4


def test_exif_orientation_and_option_are_both_applied_once(client: httpx.Client) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    Image.fromarray(np.arange(15, dtype=np.uint8).reshape(3, 5)).save(out, "PNG", exif=exif)
    pixels = np.arange(15).reshape(3, 5)
    for orientation, wanted in (("none", np.rot90(pixels, -1)), ("rotate180", np.rot90(pixels, 2))):
        options = {"mode": "identity", "orientation": orientation}
        client.put("/v1/sources/sideways", json={"options": options})
        assert np.array_equal(decode_image(send(client, "sideways", out.getvalue())), wanted)


def test_every_unusual_image_is_enhanced_in_its_depth_or_rejected(
    service: RunningService, shared_data: Path
) -> None:
    worker, answered = service.worker, 0
    for folder in ("odd_formats", "medical16", "corrupt"):
        for path in sorted((shared_data / "images" / folder).iterdir()):
            body = path.read_bytes()
            media = "image/jpeg" if body.startswith(b"\xff\xd8") else "image/png"
            headers = {"Content-Type": media, "Accept": "image/png"}
            answer = service.client.post("/v1/sources/odd/frames", content=body, headers=headers)
            assert answer.status_code in (200, 400, 413, 415), path.name
            if answer.status_code != 200:
                assert len(answer.json()["detail"]) > 20, path.name
                continue
            answered += 1
            header = read_header(body, 1 << 28)
            made = decode_image(answer)
            assert made.shape[:2] == header.upright_size[::-1], path.name
            assert made.shape[2:] == (() if header.channels == 1 else (header.channels,)), path.name
            assert made.dtype == (np.uint16 if header.bits == 16 else np.uint8), path.name
    assert answered > 60
    assert service.worker == worker


# The description


def test_openapi_names_every_format_and_option(client: httpx.Client) -> None:
    description = client.get("/openapi.json").json()
    route = description["paths"]["/v1/sources/{source}/frames"]["post"]
    query = {one["name"]: one for one in route["parameters"] if one["in"] == "query"}
    assert set(query) == {"format", "width", "height", "range", "alignment", "matrix", "features"}
    assert all(not one["required"] for one in query.values())
    assert all(form in query["format"]["description"] for form in PixelFormat)
    schemas = description["components"]["schemas"]
    assert schemas["PixelFormat"]["enum"] == list(PixelFormat)
    options = set(schemas["SourceOptions"]["properties"])
    assert {"chroma_gain", "output", "orientation", "region", "clamp"} <= options
    assert "stretch" in schemas["Mode"]["enum"]
    assert all(form in client.get("/docs").text for form in PixelFormat)
