"""Messages between the API process and its children."""

import pytest

from lumaflow.errors import DeviceLostError, FrameError, LumaflowError
from lumaflow.formats import Alignment, Color, Matrix, PixelFormat, Range
from lumaflow.frame import Tone, ToneReport
from lumaflow.geometry import Geometry
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
from lumaflow_service.ipc.transport import pack, receive, send, socket_pair, unpack

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
    Reply(8, tone=ToneReport(Tone.LOWLIGHT, 0.93, 8.1, 2.3, 0.5, 255.0, 0.0, True, True, "dark: mean 14")),
    WorkerStarted("cuda:0", "it is there"),
    SlotGranted(1, 2),
    FrameReady(1, 2, GeometryJson(640, 360, "bgr24", "full", "lsb", "bt709")),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_received_message_equals_the_sent_one(
    message: Job | Reply | WorkerStarted | SlotGranted | FrameReady,
) -> None:
    near, far = socket_pair()
    with near, far:
        near.send(pack(message))
        assert unpack(far.recv(65536)) == message


def test_messages_keep_their_boundaries() -> None:
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
def test_an_invalid_packet_is_a_value_error(packet: bytes) -> None:
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
def test_an_error_keeps_its_class(name: str, kind: type[LumaflowError]) -> None:
    error = error_of(Reply(1, name, "expected this, got that"))
    assert type(error) is kind
    assert str(error) == "expected this, got that"


def test_success_has_no_error() -> None:
    assert error_of(Reply(1)) is None


def test_receive_ends_when_the_other_end_closes() -> None:
    near, far = socket_pair()
    with near:
        with far:
            send(far, SlotGranted(1, 1))
        assert list(receive(near)) == [SlotGranted(1, 1)]


def test_a_message_to_a_closed_connection_is_lost_without_an_error() -> None:
    near, far = socket_pair()
    far.close()
    with near:
        send(near, SlotGranted(1, 1))
        assert list(receive(near)) == []


@pytest.mark.parametrize("pixel_format", PixelFormat)
def test_geometry_json_keeps_geometry_and_matrix(pixel_format: PixelFormat) -> None:
    geometry = Geometry(64, 48, pixel_format, alignment=Alignment.MSB)
    message = FrameReady(0, 1, GeometryJson.of(geometry, Matrix.BT709))
    received = unpack(pack(message))
    assert isinstance(received, FrameReady)
    assert received.geometry.geometry == geometry
    assert received.geometry.color == Color(geometry.range, Matrix.BT709)


def test_geometry_json_checks_its_values_when_read() -> None:
    assert GeometryJson(4, 4, "i420").geometry.range is Range.LIMITED
    with pytest.raises(FrameError):
        _ = GeometryJson(0, 4, "gray8").geometry
    for wrong in (GeometryJson(4, 4, "cmyk"), GeometryJson(4, 4, "gray8", matrix="bt2100")):
        with pytest.raises(ValueError, match="is not a valid"):
            _ = wrong.color
