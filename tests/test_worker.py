"""The worker process, tested through its socket without an API process."""

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

from lumaflow_service.config.options import SourceOptions
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


class WorkerClient:
    """The API process's end of the socket: sends jobs and waits for their replies."""

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

    def send(self, job: Job) -> int:
        """Send a job; returns its id."""
        job = replace(job, id=next(self._ids))
        self.connection.send(pack(job))
        return job.id

    def call(self, job: Job) -> Reply:
        """Send a job and wait for its reply."""
        number = self.send(job)
        reply = self.receive()
        assert isinstance(reply, Reply)
        assert reply.id == number
        return reply

    def frame(self, source: str, data: bytes = FRAME, slot: int = 0, **more: object) -> Job:
        """Write a raw gray frame into a slot; returns its job."""
        generation = self.memory.next_generation(slot)
        self.memory.buffer(slot, "frame", len(data))[:] = data
        job = Job(0, Op.FRAME, source, slot, generation, len(data), MediaType.RAW, GRAY, answer=MediaType.RAW)
        return replace(job, **more)  # type: ignore[arg-type]

    def image(self, source: str, data: bytes, media: MediaType, **more: object) -> Job:
        """Write an encoded frame into slot 0; returns its job."""
        generation = self.memory.next_generation(0)
        self.memory.buffer(0, "body", len(data))[:] = data
        return replace(
            Job(0, Op.FRAME, source, 0, generation, len(data), media, answer=MediaType.JSON), **more
        )  # type: ignore[arg-type]

    def close(self) -> int:
        """Close the connection; returns the worker's exit status."""
        self.connection.close()
        status = self.process.wait(2)
        assert self.process.stderr
        self.process.stderr.close()
        self.memory.close()
        return status


@pytest.fixture(scope="module")
def client() -> Iterator[WorkerClient]:
    """A worker that has started."""
    client = WorkerClient(LIMITS)
    assert client.receive() == WorkerStarted("cpu", "requested")
    yield client
    assert client.close() == 0


def test_a_ping_is_answered_while_a_lane_runs(client: WorkerClient) -> None:
    frame = client.send(Job(0, Op.CANARY))
    ping = client.send(Job(0, Op.PING))
    replies = [client.receive(), client.receive()]
    assert [reply.id for reply in replies if isinstance(reply, Reply)] == [ping, frame]


def test_the_canary_reply_names_the_device(client: WorkerClient) -> None:
    assert client.call(Job(0, Op.CANARY)).device == "cpu"


def test_a_frame_is_enhanced_from_slot_to_slot(client: WorkerClient) -> None:
    reply = client.call(client.frame("a", sequence=41))
    assert (reply.error, reply.buffer, reply.length) == ("", "enhanced", len(FRAME))
    assert (reply.sequence, reply.lut, reply.geometry) == (41, "own", GRAY._replace(range="full"))
    enhanced = np.frombuffer(client.memory.buffer(0, "enhanced", len(FRAME)), np.uint8)
    assert enhanced.std() > np.frombuffer(FRAME, np.uint8).std()
    assert bytes(client.memory.buffer(0, "frame", len(FRAME))) == FRAME


def test_an_encoded_response_does_not_change_the_body(client: WorkerClient) -> None:
    body = cv2.imencode(".png", np.full((20, 30), 9, np.uint8))[1].tobytes()
    reply = client.call(client.image("png", body, MediaType.PNG, answer=MediaType.PNG))
    assert reply.error == ""
    assert bytes(client.memory.buffer(0, "body", len(body))) == body
    assert bytes(client.memory.buffer(0, reply.buffer, 8)) == b"\x89PNG\r\n\x1a\n"


def test_frames_of_a_source_keep_their_order_when_the_first_decodes_slowly(client: WorkerClient) -> None:
    slow = cv2.imencode(".png", np.random.default_rng(1).integers(0, 255, (250, 390), np.uint8))[1].tobytes()
    first = client.send(client.image("order", slow, MediaType.PNG, sequence=0))
    second = client.send(client.frame("order", slot=1, sequence=1))
    third = client.send(client.frame("order", slot=2, sequence=2))
    replies = [client.receive() for _ in range(3)]
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
def test_an_invalid_job_gets_an_error_and_the_worker_continues(
    client: WorkerClient, change: dict[str, object], error: str
) -> None:
    reply = client.call(replace(client.frame("bad"), **change))  # type: ignore[arg-type]
    assert reply.error == error
    assert reply.text
    assert client.call(client.frame("good")).error == ""


def test_a_message_other_than_a_job_is_ignored(client: WorkerClient) -> None:
    client.connection.send(pack(WorkerStarted("cpu", "echo")))
    assert client.call(Job(0, Op.PING)).error == ""


def test_a_frame_of_another_geometry_than_the_fixed_one_is_refused(client: WorkerClient) -> None:
    body = cv2.imencode(".png", np.full((20, 30), 9, np.uint8))[1].tobytes()
    reply = client.call(client.image("fixed", body, MediaType.PNG, geometry=GeometryJson(31, 20, "gray8")))
    assert reply.error == "GeometryConflictError"
    assert "got 30x20 gray8" in reply.text


def test_other_options_open_a_new_lane(client: WorkerClient) -> None:
    luts = [
        client.call(client.frame("options", options=options)).lut
        for options in ({}, {}, {"clip_limit": 3.0}, {"clip_limit": 3.0})
    ]
    assert luts == ["own", "previous", "own", "previous"]


def test_the_least_recently_used_lane_is_closed(client: WorkerClient) -> None:
    luts = [client.call(client.frame(source)).lut for source in ("x", "y", "x", "z", "x", "y")]
    assert luts == ["own", "own", "previous", "own", "previous", "own"]


def test_a_source_uses_its_own_lut_after_its_lane_was_closed(client: WorkerClient) -> None:
    client.call(client.frame("forget"))
    assert client.call(Job(0, Op.FORGET, "forget")).error == ""
    assert client.call(client.frame("forget")).lut == "own"


def test_a_view_of_a_source_without_a_frame_is_refused(client: WorkerClient) -> None:
    for op in (Op.SNAPSHOT, Op.FEATURES, Op.HISTOGRAM, Op.HEATMAP):
        assert (
            client.call(Job(0, op, "nobody", 0, client.memory.next_generation(0))).error
            == "UnknownSourceError"
        )


def test_a_response_larger_than_its_buffer_is_an_error(client: WorkerClient) -> None:
    data = bytes(300 * 300)
    features = {"features": ["hog", "lbp"], "lbp_mapping": "raw", "tiles": "64x64", "mode": "clahe"}
    geometry = GeometryJson(300, 300, "gray8")
    job = client.frame("wide", data, geometry=geometry, options=features, answer=MediaType.NPZ)
    reply = client.call(job)
    assert reply.error == "TooLargeError"


def test_a_missing_device_is_reported_before_the_worker_exits() -> None:
    client = WorkerClient({**LIMITS, "device": "cuda:77"})
    reply = client.receive()
    assert isinstance(reply, Reply)
    assert reply.error == "DeviceError"
    assert "cannot use cuda:77" in reply.text
    assert client.process.wait(20) == 1
    client.close()


def test_the_worker_exits_when_the_connection_closes_during_a_job() -> None:
    client = WorkerClient(LIMITS)
    client.receive()
    client.send(Job(0, Op.CANARY))
    assert client.close() == 0


def test_packets_are_small() -> None:
    options = dict.fromkeys(SourceOptions.model_fields, "y" * 20)
    longest = Job(0, Op.FRAME, "x" * 64, options=options, features=["heatmap"] * 4)
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with near, far:
        assert near.send(pack(longest)) < 2048
