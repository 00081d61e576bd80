"""The worker process, spoken to through its connection without an API process."""

import itertools
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import cv2
import numpy as np
import pytest

from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Op, Reply, WorkerStarted
from lumaflow_service.ipc.slots import SlotMemory
from lumaflow_service.ipc.transport import pack, socket_pair, unpack

SLOTS, SLOT_BYTES = 4, 1 << 20
LIMITS = {
    "device": "cpu",
    "slots": SLOTS,
    "slot_bytes": SLOT_BYTES,
    "max_pixels": 100_000,
    "jpeg_quality": 90,
    "view_quality": 80,
    "max_lanes": 2,
    "lane_idle_seconds": 300.0,
    "worker_bytes": 16 << 30,
}
GRAY = GeometryJson(64, 48, "gray8")
FRAME = bytes(range(64)) * 48


class Desk:
    """The API process's end: rings the connection and waits for the reply of the same job."""

    def __init__(self, limits: dict[str, object]) -> None:
        self.memory = SlotMemory.create(SLOTS, SLOT_BYTES)
        self.connection, theirs = socket_pair()
        self.connection.settimeout(120)
        descriptors = (theirs.fileno(), self.memory.fd)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lumaflow_service.worker", *map(str, descriptors), json.dumps(limits)],
            pass_fds=descriptors,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        self._ids = itertools.count(1)

    def receive(self) -> WorkerStarted | Reply:
        """The next message of the worker."""
        message = unpack(self.connection.recv(1 << 16))
        assert isinstance(message, WorkerStarted | Reply)
        return message

    def ring(self, job: Job) -> int:
        """Send a job; returns its id."""
        job = replace(job, id=next(self._ids))
        self.connection.send(pack(job))
        return job.id

    def ask(self, job: Job) -> Reply:
        """Send a job and wait for its reply."""
        number = self.ring(job)
        reply = self.receive()
        assert isinstance(reply, Reply)
        assert reply.id == number
        return reply

    def frame(self, source: str, data: bytes = FRAME, slot: int = 0, **more: object) -> Job:
        """A raw gray frame laid into a slot, as a job."""
        generation = self.memory.renew(slot)
        self.memory.buffer(slot, "frame", len(data))[:] = data
        job = Job(0, Op.FRAME, source, slot, generation, len(data), MediaType.RAW, GRAY, answer=MediaType.RAW)
        return replace(job, **more)  # type: ignore[arg-type]

    def image(self, source: str, data: bytes, media: MediaType, **more: object) -> Job:
        """An encoded frame laid into slot 0, as a job."""
        generation = self.memory.renew(0)
        self.memory.buffer(0, "body", len(data))[:] = data
        return replace(
            Job(0, Op.FRAME, source, 0, generation, len(data), media, answer=MediaType.JSON), **more
        )  # type: ignore[arg-type]

    def close(self) -> int:
        """Hang up; returns the worker's exit status."""
        self.connection.close()
        status = self.process.wait(2)
        assert self.process.stderr
        self.process.stderr.close()
        self.memory.close()
        return status


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    """A worker that said hello."""
    desk = Desk(LIMITS)
    assert desk.receive() == WorkerStarted("cpu", "requested")
    yield desk
    assert desk.close() == 0


def test_a_ping_is_answered_while_a_lane_runs(desk: Desk) -> None:
    frame = desk.ring(Job(0, Op.CANARY))
    ping = desk.ring(Job(0, Op.PING))
    replies = [desk.receive(), desk.receive()]
    assert [reply.id for reply in replies if isinstance(reply, Reply)] == [ping, frame]


def test_the_canary_says_where_it_sang(desk: Desk) -> None:
    assert desk.ask(Job(0, Op.CANARY)).device == "cpu"


def test_a_frame_is_enhanced_from_slot_to_slot(desk: Desk) -> None:
    reply = desk.ask(desk.frame("a", sequence=41))
    assert (reply.error, reply.buffer, reply.length) == ("", "enhanced", len(FRAME))
    assert (reply.sequence, reply.lut, reply.geometry) == (41, "own", GRAY._replace(range="full"))
    enhanced = np.frombuffer(desk.memory.buffer(0, "enhanced", len(FRAME)), np.uint8)
    assert enhanced.std() > np.frombuffer(FRAME, np.uint8).std()
    assert bytes(desk.memory.buffer(0, "frame", len(FRAME))) == FRAME


def test_an_encoded_answer_leaves_the_body_as_it_came(desk: Desk) -> None:
    body = cv2.imencode(".png", np.full((20, 30), 9, np.uint8))[1].tobytes()
    reply = desk.ask(desk.image("png", body, MediaType.PNG, answer=MediaType.PNG))
    assert reply.error == ""
    assert bytes(desk.memory.buffer(0, "body", len(body))) == body
    assert bytes(desk.memory.buffer(0, reply.buffer, 8)) == b"\x89PNG\r\n\x1a\n"


def test_frames_of_one_source_keep_their_order_though_the_first_takes_longer_to_decode(desk: Desk) -> None:
    slow = cv2.imencode(".png", np.random.default_rng(1).integers(0, 255, (250, 390), np.uint8))[1].tobytes()
    first = desk.ring(desk.image("order", slow, MediaType.PNG, sequence=0))
    second = desk.ring(desk.frame("order", slot=1, sequence=1))
    third = desk.ring(desk.frame("order", slot=2, sequence=2))
    replies = [desk.receive() for _ in range(3)]
    assert [reply.id for reply in replies if isinstance(reply, Reply)] == [first, second, third]
    assert [reply.lut for reply in replies if isinstance(reply, Reply)] == ["own", "own", "previous"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"generation": 0}, "StateError"),
        ({"slot": SLOTS}, "StateError"),
        ({"slot": -1}, "StateError"),
        ({"geometry": GeometryJson(4000, 4000, "gray8")}, "TooLargeError"),
        ({"geometry": GeometryJson(0, 4, "gray8")}, "FrameError"),
        ({"geometry": GeometryJson(4, 4, "cmyk")}, "LumaflowError"),
        ({"geometry": None}, "LumaflowError"),
        ({"options": {"mode": "loud"}}, "LumaflowError"),
        ({"media": "image/png", "length": SLOT_BYTES + 1, "geometry": None}, "TooLargeError"),
        ({"media": "image/png", "length": 5, "geometry": None}, "BadFrameError"),
    ],
)
def test_a_job_that_cannot_be_is_refused_and_the_worker_lives(
    desk: Desk, change: dict[str, object], error: str
) -> None:
    reply = desk.ask(replace(desk.frame("bad"), **change))  # type: ignore[arg-type]
    assert reply.error == error
    assert reply.text
    assert desk.ask(desk.frame("good")).error == ""


def test_what_is_no_job_is_passed_over(desk: Desk) -> None:
    desk.connection.send(pack(WorkerStarted("cpu", "echo")))
    assert desk.ask(Job(0, Op.PING)).error == ""


def test_a_frame_of_another_geometry_than_fixed_is_refused(desk: Desk) -> None:
    body = cv2.imencode(".png", np.full((20, 30), 9, np.uint8))[1].tobytes()
    reply = desk.ask(desk.image("fixed", body, MediaType.PNG, geometry=GeometryJson(31, 20, "gray8")))
    assert reply.error == "GeometryConflictError"
    assert "got 30x20 gray8" in reply.text


def test_other_options_open_a_new_lane(desk: Desk) -> None:
    luts = [
        desk.ask(desk.frame("options", options=options)).lut
        for options in ({}, {}, {"clip_limit": 3.0}, {"clip_limit": 3.0})
    ]
    assert luts == ["own", "previous", "own", "previous"]


def test_the_lane_used_longest_ago_gives_way(desk: Desk) -> None:
    luts = [desk.ask(desk.frame(source)).lut for source in ("x", "y", "x", "z", "x", "y")]
    assert luts == ["own", "own", "previous", "own", "previous", "own"]


def test_a_forgotten_source_starts_anew(desk: Desk) -> None:
    desk.ask(desk.frame("forget"))
    assert desk.ask(Job(0, Op.FORGET, "forget")).error == ""
    assert desk.ask(desk.frame("forget")).lut == "own"


def test_a_view_of_a_source_without_a_frame_is_refused(desk: Desk) -> None:
    for op in (Op.SNAPSHOT, Op.FEATURES, Op.HISTOGRAM, Op.HEATMAP):
        assert desk.ask(Job(0, op, "nobody", 0, desk.memory.renew(0))).error == "UnknownSourceError"


def test_an_answer_larger_than_its_buffer_is_refused(desk: Desk) -> None:
    data = bytes(300 * 300)
    features = {"features": ["hog", "lbp"], "lbp_mapping": "raw", "tiles": "64x64"}
    geometry = GeometryJson(300, 300, "gray8")
    job = desk.frame("wide", data, geometry=geometry, options=features, answer=MediaType.NPZ)
    reply = desk.ask(job)
    assert reply.error == "TooLargeError"


def test_a_device_that_is_not_there_is_said_before_the_end() -> None:
    desk = Desk({**LIMITS, "device": "cuda:77"})
    reply = desk.receive()
    assert isinstance(reply, Reply)
    assert reply.error == "DeviceError"
    assert "cannot use cuda:77" in reply.text
    assert desk.process.wait(20) == 1
    desk.close()


def test_the_worker_leaves_when_the_connection_closes_even_in_the_middle_of_work() -> None:
    desk = Desk(LIMITS)
    desk.receive()
    desk.ring(Job(0, Op.CANARY))
    assert desk.close() == 0


def test_packets_are_small() -> None:
    longest = Job(
        0, Op.FRAME, "x" * 64, options={str(n): "y" * 20 for n in range(12)}, features=["heatmap"] * 4
    )
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with near, far:
        assert near.send(pack(longest)) < 2048
