"""POST of a frame: what the worker is sent, the headers of the response, and the response to each error."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from fake_engine import REPLY, FakeService, fake_service
from lumaflow_service import errors
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.slots import RESERVED_SLOTS

FRAMES = "/v1/sources/gate/frames"
RAW = {"Content-Type": "application/octet-stream"}
PNG = {"Content-Type": "image/png"}
GRAY = {"format": "gray8", "width": "4", "height": "2"}


@pytest.fixture
def service() -> Iterator[FakeService]:
    with fake_service() as running:
        yield running


# what the worker is sent --------------------------------------------------------------------------


def test_a_raw_frame_reaches_the_worker_with_its_whole_geometry(service: FakeService) -> None:
    query = {
        "format": "gray10",
        "width": "4",
        "height": "2",
        "range": "limited",
        "alignment": "msb",
        "matrix": "bt709",
    }
    response = service.client.post(FRAMES, params=query, content=bytes(range(16)), headers=RAW)
    assert response.status_code == 200
    (job,) = service.engine.jobs
    assert job.geometry == GeometryJson(4, 2, "gray10", "limited", "msb", "bt709")
    assert (job.source, job.media, job.answer, job.length) == ("gate", MediaType.RAW, MediaType.RAW, 16)
    assert service.engine.bodies == [bytes(range(16))]


def test_an_image_reaches_the_worker_in_the_body_buffer(service: FakeService) -> None:
    headers = {**PNG, "Accept": "application/x-npz"}
    service.client.post(FRAMES, params={"features": "lbp,hog"}, content=b"image", headers=headers)
    (job,) = service.engine.jobs
    assert (job.geometry, job.media, job.answer) == (None, MediaType.PNG, MediaType.NPZ)
    assert job.features == ["lbp", "hog"]
    assert job.options["features"] == ["hog", "lbp"]
    assert service.engine.bodies == [b"image"]


def test_frames_of_a_source_are_numbered_from_zero(service: FakeService) -> None:
    for number in range(3):
        response = service.client.post(FRAMES, content=b"image", headers=PNG)
        assert response.headers["X-Lumaflow-Frame"] == f"{number}"
    assert [job.sequence for job in service.engine.jobs] == [0, 1, 2]


def test_the_options_of_a_source_reach_the_worker(service: FakeService) -> None:
    service.client.put("/v1/sources/gate", json={"options": {"mode": "equalize", "clip_limit": 3.5}})
    service.client.post(FRAMES, content=b"image", headers=PNG)
    (job,) = service.engine.jobs
    assert (job.options["mode"], job.options["clip_limit"]) == ("equalize", 3.5)


def test_an_image_of_a_fixed_source_is_sent_with_the_fixed_geometry(service: FakeService) -> None:
    geometry = {"width": 4, "height": 2, "format": "gray8"}
    service.client.put("/v1/sources/gate", json={"geometry": geometry})
    service.client.post(FRAMES, content=b"image", headers=PNG)
    assert service.engine.jobs[0].geometry == GeometryJson(4, 2, "gray8", "full")


def test_a_raw_frame_of_another_geometry_than_the_fixed_one_is_a_409(service: FakeService) -> None:
    service.client.put("/v1/sources/gate", json={"geometry": {"width": 2, "height": 2, "format": "gray8"}})
    response = service.client.post(FRAMES, params=GRAY, content=bytes(8), headers=RAW)
    assert (response.status_code, service.engine.jobs) == (409, [])
    assert "expected a frame of 2x2 gray8, got 4x2 gray8" in response.json()["detail"]


# headers of the response --------------------------------------------------------------------------


def test_server_timing_has_each_stage_in_milliseconds(service: FakeService) -> None:
    response = service.client.post(FRAMES, content=b"image", headers=PNG)
    assert response.headers["Server-Timing"] == (
        "upload;dur=1.000, histogram;dur=2.500, lut;dur=0.030, apply;dur=1500.000, download;dur=0.000"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Lumaflow-Lut", "own"),
        ("X-Lumaflow-Shown", "4x2 gray8"),
        ("X-Lumaflow-Device", "cpu"),
        ("Cache-Control", "no-store"),
        ("Content-Type", "image/png"),
        ("Content-Length", "8"),
        ("X-Content-Type-Options", "nosniff"),
    ],
)
def test_the_response_has_the_headers_of_the_reply(service: FakeService, name: str, value: str) -> None:
    response = service.client.post(FRAMES, content=b"image", headers=PNG)
    assert (response.headers[name], response.content) == (value, b"enhanced")


def test_the_response_is_copied_from_the_buffer_that_the_reply_names(service: FakeService) -> None:
    service.engine.reply = replace(REPLY, buffer="enhanced")
    service.engine.content = bytes(range(8))
    response = service.client.post(FRAMES, params=GRAY, content=bytes(8), headers=RAW)
    assert response.content == bytes(range(8))


def test_a_json_response_has_every_value_of_the_reply(service: FakeService) -> None:
    headers = {**PNG, "Accept": "application/json"}
    response = service.client.post(FRAMES, content=b"image", headers=headers)
    assert response.json() == {
        "sequence": 0,
        "lut": "own",
        "lut_age": 3,
        "tone": None,
        "device": "cpu",
        "geometry": {
            "width": 4,
            "height": 2,
            "format": "gray8",
            "range": "full",
            "alignment": "lsb",
            "matrix": "unspecified",
        },
        "clamped": 5,
        "stage_seconds": REPLY.stage_seconds,
        "frame_seconds": 0.25,
    }


# errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "query", "content", "status"),
    [
        ({"Content-Type": "text/plain"}, {}, b"x", 415),
        ({"Content-Type": ""}, {}, b"x", 415),
        ({**PNG, "Accept": "text/html"}, {}, b"x", 406),
        (PNG, {"features": "sift"}, b"x", 422),
        (RAW, {}, bytes(8), 400),
        (RAW, GRAY, bytes(7), 400),
        (RAW, GRAY, bytes(9), 400),
        (RAW, {**GRAY, "format": "bgr24", "range": "limited"}, bytes(24), 400),
        (RAW, {**GRAY, "width": "100000"}, bytes(8), 422),
        (PNG, {}, bytes((1 << 20) + 1), 413),
    ],
)
def test_a_wrong_request_reaches_no_worker_and_no_slot(
    service: FakeService, headers: dict[str, str], query: dict[str, str], content: bytes, status: int
) -> None:
    response = service.client.post(FRAMES, params=query, content=content, headers=headers)
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    assert (service.engine.jobs, service.state.ring.in_use) == ([], 0)
    assert service.client.get("/v1/sources").json() == {"sources": []}


def test_a_chunked_frame_that_is_too_long_frees_its_slot(service: FakeService) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield bytes(1 << 19)

    response = service.client.post(FRAMES, content=chunks(), headers=PNG)
    assert (response.status_code, service.state.ring.in_use) == (413, 0)
    assert response.headers["Connection"] == "close"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.BadFrameError("unreadable"), 400),
        (errors.UnsupportedMediaError("a GIF"), 415),
        (errors.WorkerUnavailableError("starting"), 503),
        (errors.WorkerStuckError("killed"), 504),
    ],
)
def test_an_error_of_the_worker_frees_the_slot_and_removes_a_new_source(
    service: FakeService, error: Exception, status: int
) -> None:
    service.engine.error = error
    response = service.client.post(FRAMES, content=b"image", headers=PNG)
    assert (response.status_code, response.json()["detail"]) == (status, str(error))
    assert service.state.ring.in_use == 0
    assert service.client.get("/v1/sources/gate").status_code == 404


@pytest.mark.parametrize(
    ("error", "status"), [(errors.WorkerUnavailableError, 503), (errors.WorkerStuckError, 504)]
)
def test_a_client_is_told_when_to_retry(service: FakeService, error: type[Exception], status: int) -> None:
    service.engine.error = error("restarting")
    response = service.client.post(FRAMES, content=b"image", headers=PNG)
    assert (response.status_code, response.headers["Retry-After"]) == (status, "1")


def test_two_slots_stay_free_for_views(service: FakeService) -> None:
    leases = [service.state.ring.acquire() for _ in range(4 - RESERVED_SLOTS)]
    response = service.client.post(FRAMES, content=b"image", headers=PNG)
    assert (response.status_code, response.headers["Retry-After"]) == (429, "1")
    leases[0].release()
    assert service.client.post(FRAMES, content=b"image", headers=PNG).status_code == 200


def test_a_source_that_has_had_a_frame_survives_a_failed_one(service: FakeService) -> None:
    service.client.post(FRAMES, content=b"image", headers=PNG)
    service.engine.error = errors.BadFrameError("unreadable")
    assert service.client.post(FRAMES, content=b"image", headers=PNG).status_code == 400
    assert service.client.get("/v1/sources/gate").json()["frames"] == 1


def test_the_preset_of_the_settings_is_the_default_of_every_source() -> None:
    with fake_service(preset="night") as service:
        assert service.client.get("/v1/about").json()["options"]["preset"] == "night"
        service.client.post(FRAMES, content=b"image", headers=PNG)
        assert service.engine.jobs[-1].options["mode"] == "lowlight"
        made = service.client.put("/v1/sources/a", json={"options": {"features": ["hog"]}}).json()
        assert (made["options"]["preset"], made["options"]["features"]) == ("night", ["hog"])
        made = service.client.put("/v1/sources/a", json={"options": {"mode": "clahe"}}).json()
        assert (made["options"]["preset"], made["options"]["mode"]) == (None, "clahe")
        made = service.client.put("/v1/sources/a", json={"options": {"preset": "auto"}}).json()
        assert (made["options"]["preset"], made["options"]["mode"]) == ("auto", "auto")
