"""One-shot images: enhanced like a first frame, stored under an id until they expire or are evicted."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import cv2
import httpx
import numpy as np
import pytest

from lumaflow_service.config.options import SourceOptions
from lumaflow_service.control.one_shot_images import RETENTION_SECONDS, OneShotImage, OneShotImages
from lumaflow_service.errors import TooLargeError, UnknownImageError
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Op, Reply
from lumaflow_service.ipc.slots import SlotLease, SlotMemory, SlotRing

PICTURE = np.tile(np.arange(0, 96, dtype=np.uint8), (64, 1))
PNG = {"Content-Type": "image/png"}


def png(picture: np.ndarray) -> bytes:
    """An image as a person has it."""
    return cv2.imencode(".png", picture)[1].tobytes()


def test_a_one_shot_image_equals_a_first_frame(client: httpx.Client) -> None:
    options = '{"mode": "equalize"}'
    client.put("/v1/sources/like-a-trial", json={"options": {"mode": "equalize"}})
    frame = client.post("/v1/sources/like-a-trial/frames", content=png(PICTURE), headers=PNG)
    made = client.post("/v1/trials", params={"options": options}, content=png(PICTURE), headers=PNG)
    assert made.status_code == 201
    state = made.json()
    assert (state["media"], state["options"]["mode"], state["figures"]["lut"]) == (
        "image/png",
        "equalize",
        "own",
    )
    assert 0 < state["seconds_left"] <= RETENTION_SECONDS
    where = made.headers["Location"]
    assert client.get(where).json()["id"] == state["id"]
    before, after = (client.get(f"{where}/{which}") for which in ("before", "after"))
    assert (before.content, after.content) == (png(PICTURE), frame.content)
    assert before.headers["Content-Type"] == after.headers["Content-Type"] == "image/png"
    assert before.headers["X-Content-Type-Options"] == "nosniff"


def test_a_one_shot_image_creates_no_source(client: httpx.Client) -> None:
    before = client.get("/v1/sources").json()["sources"]
    client.post("/v1/trials", content=png(PICTURE), headers=PNG)
    assert [one["id"] for one in client.get("/v1/sources").json()["sources"]] == [one["id"] for one in before]


@pytest.mark.parametrize(
    ("content", "media", "options", "status", "words"),
    [
        (b"hello", "text/plain", "{}", 415, "got text/plain"),
        (bytes(9), "application/octet-stream", "{}", 415, "expected Content-Type: image/jpeg or image/png"),
        (b"\x89PNG no more", "image/png", "{}", 400, ""),
        (png(PICTURE), "image/png", '{"mode": "loud"}', 422, "mode"),
        (png(PICTURE), "image/png", "{", 422, "JSON"),
    ],
)
def test_an_invalid_image_or_option_is_refused(
    client: httpx.Client, content: bytes, media: str, options: str, status: int, words: str
) -> None:
    headers = {"Content-Type": media}
    answer = client.post("/v1/trials", params={"options": options}, content=content, headers=headers)
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True)


@pytest.mark.parametrize("path", ["", "/before", "/after"])
def test_an_unknown_image_is_a_404(client: httpx.Client, path: str) -> None:
    answer = client.get(f"/v1/trials/AAAAAAAAAAAAAAAAAAAAAA{path}")
    assert (answer.status_code, "try the image again" in answer.json()["detail"]) == (404, True)


def test_about_lists_limits_and_options(client: httpx.Client) -> None:
    about = client.get("/v1/about").json()
    assert (about["device"], about["max_bytes"], about["max_pixels"]) == ("cpu", 64 << 20, 1 << 24)
    assert about["options"] == SourceOptions().model_dump(mode="json")
    assert set(about["options_schema"]["properties"]) == set(SourceOptions.model_fields)


@dataclass
class Worker:
    """Answers each job with 100 bytes."""

    notified: list[Job] = field(default_factory=list)

    async def call(self, job: Job, slot: SlotLease) -> Reply:
        return Reply(1, length=100)

    def notify(self, job: Job) -> None:
        self.notified.append(job)


@pytest.fixture
def slot() -> Iterator[SlotLease]:
    memory = SlotMemory.create(1, 1 << 16)
    yield SlotRing(memory).acquire()
    memory.close()


class Clock:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def enhance_one(trials: OneShotImages, slot: SlotLease) -> OneShotImage:
    """One more trial of 100 bytes before and 100 after."""
    return asyncio.run(trials.enhance(slot, 100, MediaType.PNG, SourceOptions()))


def test_the_oldest_images_are_evicted(slot: SlotLease) -> None:
    trials = OneShotImages(Worker(), Clock(), max_bytes=450)  # type: ignore[arg-type]
    first, second, third = (enhance_one(trials, slot) for _ in range(3))
    with pytest.raises(UnknownImageError):
        trials.get(first.id)
    assert [trials.get(one.id) for one in (second, third)] == [second, third]


def test_an_image_expires_and_its_lane_is_closed_at_once(slot: SlotLease) -> None:
    worker, clock = Worker(), Clock()
    trials = OneShotImages(worker, clock)  # type: ignore[arg-type]
    one = enhance_one(trials, slot)
    assert [job.op for job in worker.notified] == [Op.FORGET]
    clock.now = RETENTION_SECONDS - 1
    assert trials.seconds_left(trials.get(one.id)) == 1
    clock.now = RETENTION_SECONDS
    with pytest.raises(UnknownImageError):
        trials.get(one.id)


def test_an_image_larger_than_the_store_is_refused(slot: SlotLease) -> None:
    trials = OneShotImages(Worker(), max_bytes=199)  # type: ignore[arg-type]
    with pytest.raises(TooLargeError, match="expected at most 199 bytes of images, got 200"):
        enhance_one(trials, slot)
