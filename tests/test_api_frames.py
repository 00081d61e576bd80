"""POST of frames: every request and response type, and the sequence rule over HTTP."""

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from lumaflow.backend import open_lane
from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, Mode, Options
from lumaflow_service.config.options import SourceOptions

Pixels = NDArray[np.uint8]


def dark_frame(rng: np.random.Generator, height: int = 90, width: int = 120, channels: int = 3) -> Pixels:
    """A dark, smooth, noisy picture."""
    ramp = np.linspace(5, 60, width)[None, :, None] + np.linspace(0, 20, height)[:, None, None]
    noisy = ramp + rng.normal(0, 4, (height, width, channels))
    pixels = noisy.clip(0, 255).astype(np.uint8)
    return pixels[..., 0].copy() if channels == 1 else pixels


def png(pixels: Pixels) -> bytes:
    """The picture as PNG."""
    return cv2.imencode(".png", pixels)[1].tobytes()


def decode_image(data: bytes) -> Pixels:
    """The picture in an answer."""
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)


def post(client: httpx.Client, source: str, body: bytes, media: str, **more: str) -> httpx.Response:
    """Post one frame; an `accept` among the keywords is a header, all others are the query."""
    accept = more.pop("accept", None)
    headers = {"Content-Type": media, **({"Accept": accept} if accept else {})}
    return client.post(f"/v1/sources/{source}/frames", content=body, params=more, headers=headers)


def enhance_with_lane(frames: list[Pixels], options: Options | None = None) -> list[Pixels]:
    """These frames enhanced by a separate lane."""
    form = PixelFormat.GRAY8 if frames[0].ndim == 2 else PixelFormat.BGR24
    height, width = frames[0].shape[:2]
    with open_lane("cpu", Geometry(width, height, form), options or SourceOptions().to_pipeline()) as lane:
        enhanced = []
        for frame in frames:
            lane.submit(Frame(frame, form))
            enhanced.append(lane.collect().frame.pixels.copy())
    return enhanced


def test_dark_jpeg_becomes_brighter_and_has_all_headers(
    client: httpx.Client, rng: np.random.Generator
) -> None:
    pixels = dark_frame(rng)
    body = cv2.imencode(".jpg", pixels)[1].tobytes()
    answer = post(client, "jpeg", body, "image/jpeg")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "image/jpeg"
    picture = decode_image(answer.content)
    assert picture.shape == pixels.shape
    assert picture.mean() > 1.3 * pixels.mean()
    assert answer.headers["X-Lumaflow-Frame"] == "0"
    assert answer.headers["X-Lumaflow-Lut"] == "own"
    assert answer.headers["X-Lumaflow-Device"] == "cpu"
    stages = dict(entry.split(";dur=") for entry in answer.headers["Server-Timing"].split(", "))
    assert list(stages) == ["upload", "histogram", "lut", "apply", "download"]
    assert all(float(milliseconds) >= 0 for milliseconds in stages.values())


def test_second_frame_uses_the_lut_of_the_first_exactly(
    client: httpx.Client, rng: np.random.Generator
) -> None:
    client.put("/v1/sources/sequence", json={"options": {"mode": "clahe"}})
    frames = [dark_frame(rng), 255 - dark_frame(rng), dark_frame(rng) // 2]
    answers = [post(client, "sequence", png(frame), "image/png") for frame in frames]
    assert [answer.headers["X-Lumaflow-Lut"] for answer in answers] == ["own", "previous", "previous"]
    assert [answer.headers["X-Lumaflow-Frame"] for answer in answers] == ["0", "1", "2"]
    for answer, expected in zip(answers, enhance_with_lane(frames, Options()), strict=True):
        assert answer.headers["Content-Type"] == "image/png"
        np.testing.assert_array_equal(decode_image(answer.content), expected)


def test_tone_of_a_dark_frame_is_in_headers_and_json(client: httpx.Client, rng: np.random.Generator) -> None:
    dark = png(dark_frame(rng, 240, 320))
    first, second = (post(client, "tone", dark, "image/png") for _ in range(2))
    assert (first.headers["X-Lumaflow-Lut"], second.headers["X-Lumaflow-Lut"]) == ("own", "previous")
    mode, *figures = second.headers["X-Lumaflow-Tone"].split(";")
    assert mode == "lowlight"
    assert [figure.partition("=")[0] for figure in figures] == ["strength", "gain", "noise", "haze"]
    tone = post(client, "tone", dark, "image/png", accept="application/json").json()["tone"]
    assert tone["mode"] == "lowlight"
    assert tone["gain"] > 1.3
    assert tone["reason"].startswith("dark: mean")
    assert client.get("/v1/sources/tone").json()["tone"] == tone
    assert 'lumaflow_tone_strength{source="tone"}' in client.get("/metrics").text


@pytest.mark.parametrize(("form", "channels"), [("gray8", 1), ("bgr24", 3)])
@pytest.mark.parametrize("size", [(1, 1), (1, 17), (13, 1), (97, 101)])
def test_raw_frame_of_every_size_is_exact(
    client: httpx.Client, rng: np.random.Generator, form: str, channels: int, size: tuple[int, int]
) -> None:
    height, width = size
    frame = dark_frame(rng, height, width, channels)
    query = {"format": form, "width": str(width), "height": str(height)}
    source = f"raw-{form}-{height}x{width}"
    answer = post(client, source, frame.tobytes(), "application/octet-stream", **query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/octet-stream"
    expected = enhance_with_lane([frame])[0]
    np.testing.assert_array_equal(np.frombuffer(answer.content, np.uint8).reshape(frame.shape), expected)


def test_gray_png_stays_gray(client: httpx.Client, rng: np.random.Generator) -> None:
    frame = dark_frame(rng, channels=1)
    answer = post(client, "gray", png(frame), "image/png")
    np.testing.assert_array_equal(decode_image(answer.content), enhance_with_lane([frame])[0])


def test_json_response_has_no_image(client: httpx.Client, rng: np.random.Generator) -> None:
    figures = post(client, "figures", png(dark_frame(rng)), "image/png", accept="application/json").json()
    assert figures["geometry"] == {
        "width": 120,
        "height": 90,
        "format": "bgr24",
        "range": "full",
        "alignment": "lsb",
        "matrix": "unspecified",
    }
    assert (figures["sequence"], figures["lut"], figures["lut_age"]) == (0, "own", 0)
    assert figures["device"] == "cpu"
    assert set(figures["stage_seconds"]) == {"upload", "histogram", "lut", "apply", "download"}
    assert figures["frame_seconds"] > 0


def test_npz_contains_requested_features(client: httpx.Client, rng: np.random.Generator) -> None:
    client.put("/v1/sources/npz", json={"options": {"mode": "clahe"}})
    frame = dark_frame(rng)
    query = {"features": "hog,lbp,histogram,heatmap", "accept": "application/x-npz"}
    answer = post(client, "npz", png(frame), "image/png", **query)
    arrays = np.load(io.BytesIO(answer.content))
    np.testing.assert_array_equal(arrays["enhanced"], enhance_with_lane([frame], Options())[0])
    assert arrays["bins"].sum() == frame.shape[0] * frame.shape[1]
    assert arrays["lut"].shape == (8, 8, 256)
    assert arrays["hog"].shape == ((90 - 16) // 8 + 1, (120 - 16) // 8 + 1, 36)
    assert arrays["lbp"].shape == (6, 8, 59)
    assert arrays["heatmap_deviation"].shape == arrays["heatmap_distance"].shape == (8, 8)


def test_npz_contains_no_other_features(client: httpx.Client, rng: np.random.Generator) -> None:
    answer = post(
        client, "npz-lbp", png(dark_frame(rng)), "image/png", features="lbp", accept="application/x-npz"
    )
    assert set(np.load(io.BytesIO(answer.content))) == {"enhanced", "lbp"}


def test_repeated_feature_request_keeps_the_lut(client: httpx.Client, rng: np.random.Generator) -> None:
    luts = [
        post(client, "asking", png(dark_frame(rng)), "image/png", **query).headers["X-Lumaflow-Lut"]
        for query in ({}, {"features": "hog"}, {"features": "hog"}, {})
    ]
    assert luts == ["own", "own", "previous", "previous"]


def test_new_frame_size_uses_its_own_lut_and_continues_the_sequence(
    client: httpx.Client, rng: np.random.Generator
) -> None:
    frames = [dark_frame(rng), dark_frame(rng, 50, 40), dark_frame(rng, 50, 40)]
    answers = [post(client, "resized", png(frame), "image/png") for frame in frames]
    assert [answer.headers["X-Lumaflow-Lut"] for answer in answers] == ["own", "own", "previous"]
    assert [answer.headers["X-Lumaflow-Frame"] for answer in answers] == ["0", "1", "2"]


def test_options_of_the_source_are_used(client: httpx.Client, rng: np.random.Generator) -> None:
    client.put("/v1/sources/equalized", json={"options": {"mode": "equalize"}})
    frame = dark_frame(rng)
    answer = post(client, "equalized", png(frame), "image/png")
    expected = enhance_with_lane([frame], Options(Equalization(Mode.EQUALIZE)))[0]
    np.testing.assert_array_equal(decode_image(answer.content), expected)


def test_identity_mode_returns_the_frame_unchanged(client: httpx.Client, rng: np.random.Generator) -> None:
    client.put("/v1/sources/unchanged", json={"options": {"mode": "identity"}})
    frame = dark_frame(rng)
    answer = post(client, "unchanged", png(frame), "image/png")
    assert answer.headers["X-Lumaflow-Lut"] == "identity"
    np.testing.assert_array_equal(decode_image(answer.content), frame)


def test_concurrent_frames_are_enhanced_in_sequence_order(
    client: httpx.Client, rng: np.random.Generator
) -> None:
    frames = [rng.integers(0, 40 + 12 * n, (60, 80), np.uint8) for n in range(16)]
    query = {"format": "gray8", "width": "80", "height": "60"}
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(
                lambda frame: post(client, "side", frame.tobytes(), "application/octet-stream", **query),
                frames,
            )
        )
    numbers = [int(answer.headers["X-Lumaflow-Frame"]) for answer in answers]
    assert sorted(numbers) == list(range(16))
    expected = enhance_with_lane(
        [frame for _, frame in sorted(zip(numbers, frames, strict=True), key=lambda p: p[0])]
    )
    for number, answer in zip(numbers, answers, strict=True):
        np.testing.assert_array_equal(
            np.frombuffer(answer.content, np.uint8).reshape(60, 80), expected[number], f"frame {number}"
        )


def test_sources_are_independent(client: httpx.Client, rng: np.random.Generator) -> None:
    frames = {f"apart-{n}": [dark_frame(rng, 40 + n, 50) for _ in range(6)] for n in range(3)}

    def send_all(source: str) -> list[Pixels]:
        return [
            decode_image(post(client, source, png(frame), "image/png").content) for frame in frames[source]
        ]

    with ThreadPoolExecutor(3) as pool:
        for source, answers in zip(frames, pool.map(send_all, frames), strict=True):
            for answer, expected in zip(answers, enhance_with_lane(frames[source]), strict=True):
                np.testing.assert_array_equal(answer, expected)


def test_photographs_keep_their_size(client: httpx.Client, shared_data: Path) -> None:
    for path in sorted((shared_data / "images" / "lowlight").glob("*.jpg"))[:4]:
        answer = post(client, "photographs", path.read_bytes(), "image/jpeg")
        assert answer.status_code == 200, answer.text
        assert decode_image(answer.content).shape[:2] == cv2.imread(str(path)).shape[:2]
