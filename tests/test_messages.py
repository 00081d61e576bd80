"""Messages between the API process and its children."""

import pytest

from lumaflow.errors import DeviceLostError, LumaflowError
from lumaflow_service.errors import BadFrameError
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import (
    FrameReady,
    Job,
    Op,
    Reply,
    SlotGranted,
    View,
    WorkerStarted,
    error_of,
)
from lumaflow_service.ipc.transport import pack, socket_pair, unpack

MESSAGES = [
    Job(
        7,
        Op.FRAME,
        "gate",
        3,
        12,
        99,
        MediaType.PNG,
        GeometryJson(4, 5, "gray8"),
        {"mode": "clahe"},
        8,
        MediaType.NPZ,
        ["hog"],
    ),
    Job(8, Op.SNAPSHOT, "gate", view=View.SPLIT),
    Reply(
        7, length=5, device="cpu", geometry=GeometryJson(4, 5, "gray8"), lut="own", stage_seconds={"lut": 0.1}
    ),
    WorkerStarted("cuda:0", "it is there"),
    SlotGranted(1, 2),
    FrameReady(1, 2, GeometryJson(640, 360, "bgr24", "full", "lsb", "bt709")),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_arrives_as_it_was_sent(
    message: Job | Reply | WorkerStarted | SlotGranted | FrameReady,
) -> None:
    near, far = socket_pair()
    with near, far:
        near.send(pack(message))
        assert unpack(far.recv(65536)) == message


def test_messages_keep_their_borders() -> None:
    near, far = socket_pair()
    with near, far:
        near.send(pack(SlotGranted(1, 1)))
        near.send(pack(SlotGranted(2, 2)))
        assert [unpack(far.recv(65536)), unpack(far.recv(65536))] == [SlotGranted(1, 1), SlotGranted(2, 2)]


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"{",
        b"[]",
        b'["Job",3]',
        b'["Nonsense",{}]',
        b'["SlotGranted",{"slot":1}]',
        b'["SlotGranted",{"a":1}]',
    ],
)
def test_what_is_no_message_is_a_value_error(packet: bytes) -> None:
    with pytest.raises(ValueError, match="expected a message, got a packet"):
        unpack(packet)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("BadFrameError", BadFrameError),
        ("DeviceLostError", DeviceLostError),
        ("LumaflowError", LumaflowError),
        ("SystemExit", LumaflowError),
    ],
)
def test_an_error_comes_back_as_its_own_class(name: str, kind: type[LumaflowError]) -> None:
    error = error_of(Reply(1, name, "expected this, got that"))
    assert type(error) is kind
    assert str(error) == "expected this, got that"


def test_no_error_is_none() -> None:
    assert error_of(Reply(1)) is None
