"""Views of the last frame of a source: snapshots, MJPEG, features, histogram, heat map."""

import io
import threading
from collections.abc import Callable, Iterator

import cv2
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
HEIGHT, WIDTH = 64, 96


def frame(level: int) -> Pixels:
    """A gray ramp, as bright as `level` at its right end."""
    row = np.linspace(0, level, WIDTH).astype(np.uint8)
    return np.repeat(row[None], HEIGHT, axis=0)


def send(
    client: httpx.Client, source: str, pixels: Pixels, accept: str = "application/octet-stream"
) -> Pixels:
    """Post one raw gray frame; returns it enhanced."""
    answer = client.post(
        f"/v1/sources/{source}/frames",
        content=pixels.tobytes(),
        params={"format": "gray8", "width": WIDTH, "height": HEIGHT},
        headers={"Content-Type": "application/octet-stream", "Accept": accept},
    )
    assert answer.status_code == 200, answer.text
    return np.frombuffer(answer.content, np.uint8).reshape(HEIGHT, WIDTH)


def jpeg(data: bytes) -> Pixels:
    """A decoded JPEG as whole numbers that can be subtracted."""
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE).astype(int)


def close_to(picture: Pixels, expected: Pixels) -> bool:
    """Whether a JPEG shows the expected picture, but for its losses."""
    return picture.shape == expected.shape and float(np.abs(picture - expected.astype(int)).mean()) < 2


def test_snapshots_of_every_view_show_the_last_frame(client: httpx.Client) -> None:
    send(client, "views", frame(90))
    raw = frame(60)
    enhanced = send(client, "views", raw)
    views = {
        view: client.get("/v1/sources/views/snapshot.jpg", params={"view": view} if view else {})
        for view in ("", "enhanced", "raw", "split")
    }
    for answer in views.values():
        assert answer.headers["Content-Type"] == "image/jpeg"
        assert answer.headers["X-Lumaflow-Frame"] == "1"
        assert answer.headers["Cache-Control"] == "no-store"
    split = np.hstack([raw[:, : WIDTH // 2], enhanced[:, WIDTH // 2 :]])
    assert close_to(jpeg(views[""].content), enhanced)
    assert close_to(jpeg(views["enhanced"].content), enhanced)
    assert close_to(jpeg(views["raw"].content), raw)
    assert close_to(jpeg(views["split"].content), split)
    assert not close_to(jpeg(views["raw"].content), enhanced)


def test_view_both_is_raw_above_enhanced_and_thumbnail_is_small(client: httpx.Client) -> None:
    raw = np.repeat(np.repeat(frame(60), 16, axis=0), 16, axis=1)
    answer = client.post(
        "/v1/sources/large/frames",
        content=raw.tobytes(),
        params={"format": "gray8", "width": raw.shape[1], "height": raw.shape[0]},
        headers={"Content-Type": "application/octet-stream"},
    )
    enhanced = np.frombuffer(answer.content, np.uint8).reshape(raw.shape)
    both = client.get("/v1/sources/large/snapshot.jpg", params={"view": "both"}).content
    assert close_to(jpeg(both), np.vstack([raw, enhanced]))
    small = jpeg(client.get("/v1/sources/large/snapshot.jpg", params={"view": "thumbnail"}).content)
    assert close_to(small, cv2.resize(enhanced, (384, 256), interpolation=cv2.INTER_AREA))


def test_unknown_view_is_rejected(client: httpx.Client) -> None:
    send(client, "views", frame(90))
    answer = client.get("/v1/sources/views/snapshot.jpg", params={"view": "upside-down"})
    assert answer.status_code == 422
    assert "view" in answer.json()["detail"]


def test_views_of_a_source_without_frame_get_404(client: httpx.Client) -> None:
    client.put("/v1/sources/blank", json={})
    for path in ("snapshot.jpg", "features.npz", "histogram", "heatmap.png"):
        answer = client.get(f"/v1/sources/blank/{path}")
        assert answer.status_code == 404, path
        assert "send one first" in answer.json()["detail"]


def test_histogram_counts_every_pixel_before_and_after(client: httpx.Client) -> None:
    client.put("/v1/sources/counted", json={"options": {"mode": "equalize"}})
    raw = frame(60)
    enhanced = send(client, "counted", raw)
    answer = client.get("/v1/sources/counted/histogram").json()
    assert (answer["sequence"], answer["lut"]) == (0, "own")
    assert answer["before"] == np.bincount(raw.ravel(), minlength=256).tolist()
    assert answer["after"] == np.bincount(enhanced.ravel(), minlength=256).tolist()
    mapping = np.array(answer["mapping"])
    assert mapping.shape == (256,)
    np.testing.assert_array_equal(mapping[raw], enhanced)


@pytest.mark.parametrize("color", ["value", "luma"])
def test_histogram_of_a_colour_frame_counts_the_lut_input(
    client: httpx.Client, rng: np.random.Generator, color: str
) -> None:
    source = f"colour-{color}"
    client.put(f"/v1/sources/{source}", json={"options": {"mode": "equalize", "color": color}})
    pixels = rng.integers(0, 70, (HEIGHT, WIDTH, 3), np.uint8)
    answer = client.post(
        f"/v1/sources/{source}/frames",
        content=pixels.tobytes(),
        params={"format": "bgr24", "width": WIDTH, "height": HEIGHT},
        headers={"Content-Type": "application/octet-stream"},
    )
    enhanced = np.frombuffer(answer.content, np.uint8).reshape(pixels.shape)
    counted = client.get(f"/v1/sources/{source}/histogram").json()
    for name, picture in (("before", pixels), ("after", enhanced)):
        ycrcb = cv2.cvtColor(picture, cv2.COLOR_BGR2YCrCb)[..., 0]
        plane = picture.max(axis=2) if color == "value" else ycrcb
        assert counted[name] == np.bincount(plane.ravel(), minlength=256).tolist(), name


def test_features_are_those_of_the_source_options(client: httpx.Client) -> None:
    client.put("/v1/sources/makes", json={"options": {"features": ["lbp", "heatmap"]}})
    send(client, "makes", frame(80))
    every = np.load(io.BytesIO(client.get("/v1/sources/makes/features.npz").content))
    assert set(every) == {"bins", "lut", "lbp", "heatmap_deviation", "heatmap_distance"}
    assert every["lbp"].shape == (4, 6, 59)
    one = client.get("/v1/sources/makes/features.npz", params={"features": "lbp"})
    assert set(np.load(io.BytesIO(one.content))) == {"lbp"}
    refused = client.get("/v1/sources/makes/features.npz", params={"features": "smell"})
    assert refused.status_code == 422
    assert "hog,lbp,histogram,heatmap" in refused.json()["detail"]


def test_heat_map_is_bright_for_high_contrast(client: httpx.Client) -> None:
    client.put("/v1/sources/warm", json={"options": {"features": ["heatmap"], "tiles": "2x2"}})
    pixels = np.zeros((HEIGHT, WIDTH), np.uint8)
    pixels[: HEIGHT // 2, : WIDTH // 2 : 2] = 255
    send(client, "warm", pixels)
    answer = client.get("/v1/sources/warm/heatmap.png")
    assert answer.headers["Content-Type"] == "image/png"
    picture = cv2.imdecode(np.frombuffer(answer.content, np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape == (32, 32, 3)
    assert picture[:16, :16].mean() > 100 > 20 > picture[16:, 16:].mean()


@pytest.mark.parametrize("layout", ["opencv", "compact"])
def test_hog_strokes_follow_the_edges(client: httpx.Client, layout: str) -> None:
    client.put("/v1/sources/edges", json={"options": {"features": ["hog"], "hog_layout": layout}})
    pixels = np.zeros((HEIGHT, WIDTH), np.uint8)
    pixels[:, WIDTH // 2 + 4 :] = 200
    send(client, "edges", pixels)
    content = client.get("/v1/sources/edges/hog.png").content
    strokes = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)[..., 3]
    rows, columns = np.nonzero(strokes > 128)
    assert np.ptp(rows) > 0.8 * strokes.shape[0]  # an upright edge: strokes from top to bottom,
    assert np.ptp(columns) < 0.3 * strokes.shape[1]  # around the middle alone
    assert abs(columns.mean() / strokes.shape[1] - 0.54) < 0.1


def test_lbp_is_bright_for_varied_texture(client: httpx.Client, rng: np.random.Generator) -> None:
    client.put("/v1/sources/texture", json={"options": {"features": ["lbp"], "mode": "identity"}})
    pixels = np.zeros((HEIGHT, WIDTH), np.uint8)
    pixels[:, WIDTH // 2 :] = rng.integers(0, 255, (HEIGHT, WIDTH // 2), np.uint8)
    send(client, "texture", pixels)
    content = client.get("/v1/sources/texture/lbp.png").content
    picture = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_GRAYSCALE)
    assert picture.shape == (64, 96)
    assert picture[:, 64:].mean() > picture[:, :32].mean() + 50


@pytest.mark.parametrize("feature", ["heatmap", "hog", "lbp"])
def test_missing_feature_error_says_how_to_enable_it(client: httpx.Client, feature: str) -> None:
    send(client, "cold", frame(80))
    answer = client.get(f"/v1/sources/cold/{feature}.png")
    assert answer.status_code == 404
    assert "add it to the features" in answer.json()["detail"]


@pytest.fixture
def camera(client: httpx.Client) -> Iterator[Callable[[str], None]]:
    """Starts a client that sends ever other frames to a source; it ends with the test."""
    stop = threading.Event()
    threads: list[threading.Thread] = []

    def film(source: str) -> None:
        number = 0
        while not stop.is_set():
            send(client, source, frame(40 + number % 16 * 12))
            number += 1
            stop.wait(0.02)

    def start(source: str) -> None:
        send(client, source, frame(40))
        threads.append(threading.Thread(target=film, args=(source,)))
        threads[-1].start()

    yield start
    stop.set()
    for thread in threads:
        thread.join()


def watched(client: httpx.Client, source: str, view: str, parts: int) -> list[tuple[int, bytes]]:
    """The first pictures of a live answer, with the number of the frame each shows."""
    pictures: list[tuple[int, bytes]] = []
    received = b""
    with client.stream("GET", f"/v1/sources/{source}/live.mjpg", params={"view": view}) as answer:
        assert answer.headers["Content-Type"] == "multipart/x-mixed-replace; boundary=frame"
        for chunk in answer.iter_bytes():
            received += chunk
            *whole, received = received.split(b"\r\n--frame\r\n")
            for part in whole:
                head, _, picture = part.partition(b"\r\n\r\n")
                fields = dict(line.split(b": ") for line in head.replace(b"--frame\r\n", b"").split(b"\r\n"))
                assert int(fields[b"Content-Length"]) == len(picture)
                pictures.append((int(fields[b"X-Lumaflow-Frame"]), picture))
            if len(pictures) >= parts:
                return pictures
    return pictures


@pytest.mark.parametrize("view", ["enhanced", "raw", "split"])
def test_mjpeg_streams_frames_in_order(
    client: httpx.Client, camera: Callable[[str], None], view: str
) -> None:
    camera(f"live-{view}")
    pictures = watched(client, f"live-{view}", view, 6)
    numbers = [number for number, _ in pictures]
    assert numbers == sorted(set(numbers))
    assert len({picture for _, picture in pictures}) > 1
    assert all(jpeg(picture).shape == (HEIGHT, WIDTH) for _, picture in pictures)


def test_viewers_of_the_same_view_share_one_encoding(
    client: httpx.Client, camera: Callable[[str], None]
) -> None:
    camera("shared")
    seen: list[dict[int, bytes]] = []
    viewers = [
        threading.Thread(target=lambda: seen.append(dict(watched(client, "shared", "enhanced", 20))))
        for _ in range(3)
    ]
    for viewer in viewers:
        viewer.start()
    for viewer in viewers:
        viewer.join()
    common = set.intersection(*map(set, seen))
    assert common
    assert all(len({pictures[number] for pictures in seen}) == 1 for number in common)


def test_mjpeg_ends_when_its_source_is_deleted(client: httpx.Client) -> None:
    send(client, "ending", frame(50))
    with client.stream("GET", "/v1/sources/ending/live.mjpg") as answer:
        parts = answer.iter_raw()
        next(parts)
        client.delete("/v1/sources/ending")
        rest = b"".join(parts)
    assert rest.count(b"X-Lumaflow-Frame") <= 1


def test_mjpeg_of_an_unknown_source_gets_404(client: httpx.Client) -> None:
    assert client.get("/v1/sources/nobody/live.mjpg").status_code == 404
