"""The doorbell: small messages over a socket pair between the API process and a child.

Pixels and answers never travel here; they lie in a slot, and a message names it by number, generation and
length. One message is one packet of JSON, so that either side can be read in a debugger.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, get_args

import lumaflow.errors
import lumaflow_service.errors
from lumaflow.errors import LumaflowError
from lumaflow.formats import Alignment, Matrix, PixelFormat, Range
from lumaflow.geometry import Geometry

Size = tuple[int, int, str]
"""Width and height in pixels and the pixel format, as a geometry travels in messages."""


class Levels(NamedTuple):
    """How the samples of a frame are to be read, as it travels in messages beside its size."""

    range: Range = Range.UNSPECIFIED
    alignment: Alignment = Alignment.LSB
    matrix: Matrix = Matrix.UNSPECIFIED

    @classmethod
    def of(cls, geometry: Geometry, matrix: Matrix) -> "Levels":
        """Those of a frame of this geometry and matrix."""
        return cls(geometry.range, geometry.alignment, matrix)


USUAL = Levels()
"""What a format means by itself."""


def geometry_of(size: Size, levels: Levels) -> Geometry:
    """The geometry that a message gives. Raises FrameError, ValueError."""
    width, height, name = size
    return Geometry(width, height, PixelFormat(name), Range(levels.range), Alignment(levels.alignment))


def size_of(geometry: Geometry) -> Size:
    """The part of a geometry that is a size."""
    return geometry.width, geometry.height, str(geometry.pixel_format)


PACKET_BYTES = 64 * 1024
"""Longest message; the longest there is, a source's options with a long error text, has about 2 KiB."""


class Op(StrEnum):
    """What a worker can be asked to do."""

    FRAME = "frame"
    SNAPSHOT = "snapshot"
    FEATURES = "features"
    HISTOGRAM = "histogram"
    HEATMAP = "heatmap"
    HOG = "hog"
    LBP = "lbp"
    FORGET = "forget"
    CANARY = "canary"
    PING = "ping"


class Media(StrEnum):
    """Media types of frames and answers."""

    JPEG = "image/jpeg"
    PNG = "image/png"
    RAW = "application/octet-stream"
    JSON = "application/json"
    NPZ = "application/x-npz"


class View(StrEnum):
    """What a snapshot shows.

    `split` is raw on the left half, enhanced on the right; `both` is all of raw above all of enhanced;
    `thumbnail` is a small enhanced one.
    """

    ENHANCED = "enhanced"
    RAW = "raw"
    SPLIT = "split"
    BOTH = "both"
    THUMBNAIL = "thumbnail"


@dataclass(frozen=True, slots=True)
class Job:
    """One thing a worker is to do.

    `geometry` is [width, height, format]: a raw frame's own, or the one an encoded frame must have; `levels`
    belong to a raw frame alone.
    `length` counts the bytes in the slot's body buffer, or in its frame buffer for a raw frame.
    """

    id: int
    op: Op
    source: str = ""
    slot: int = -1
    generation: int = 0
    length: int = 0
    media: Media = Media.RAW
    geometry: Size | None = None
    options: dict[str, Any] = field(default_factory=dict)
    sequence: int = 0
    answer: Media = Media.JSON
    features: list[str] | None = None
    view: View = View.ENHANCED
    corrupt: bool = False
    levels: Levels = USUAL


@dataclass(frozen=True, slots=True)
class Reply:
    """A worker's answer to the job of the same id.

    `error` is the class name of what went wrong, `text` what it says. `length` counts the bytes in the
    slot's `buffer`. The figures are those of the frame that was enhanced or shown; the memory that the
    worker holds comes with the answer to a ping. `output` is the size of the enhanced frame, `shown` its
    geometry in words.
    """

    id: int
    error: str = ""
    text: str = ""
    buffer: str = "answer"
    length: int = 0
    device: str = ""
    geometry: Size | None = None
    levels: Levels = USUAL
    output: Size | None = None
    shown: str = ""
    sequence: int = 0
    lut: str = ""
    lut_age: int = 0
    clamped: int = 0
    stage_seconds: dict[str, float] = field(default_factory=dict)
    frame_seconds: float = 0.0
    device_bytes: int = 0
    pinned_bytes: int = 0


@dataclass(frozen=True, slots=True)
class WorkerStarted:
    """A worker's first message: it is there, on this device, chosen for this reason."""

    device: str
    reason: str


@dataclass(frozen=True, slots=True)
class SlotGranted:
    """A slot lent to an ingest process for one frame, which will be `turned` or not."""

    slot: int
    generation: int
    turned: bool = False


@dataclass(frozen=True, slots=True)
class FrameReady:
    """An ingest process's message: the frame of this source lies in the granted slot.

    The rest is the camera's: the frame's number there, its pts in units of `time_base` (numerator,
    denominator), seconds since 1970 and on the monotonic clock when it arrived, and its geometry epoch.
    """

    slot: int
    generation: int
    geometry: Size
    levels: Levels = USUAL
    number: int = 0
    pts: int | None = None
    time_base: list[int] | None = None
    wall: float = 0.0
    arrived: float = 0.0
    epoch: int = 0
    corrupt: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """The first message to a camera's process: what to read and where to put the results.

    It travels here because it holds credentials, which an argument would show to everyone.
    """

    name: str
    camera: dict[str, Any]
    networks: list[str]
    roots: list[str]
    folder: str
    limits: dict[str, int]


@dataclass(frozen=True, slots=True)
class SlotRequested:
    """A camera's process has a frame and asks for a slot."""


@dataclass(frozen=True, slots=True)
class EnhancedReady:
    """The frame with this number is enhanced: it lies in the slot's enhanced buffer, in this geometry, and
    `described` bytes of npz in its answer buffer. Answered by Taken."""

    slot: int
    generation: int
    geometry: Size
    levels: Levels
    number: int
    sequence: int
    lut: str
    described: int = 0


@dataclass(frozen=True, slots=True)
class SlotReleased:
    """The outputs have copied what was shown; the slot is free."""

    slot: int
    generation: int


@dataclass(frozen=True, slots=True)
class CameraReport:
    """How a camera's process stands; counts grow for as long as it lives."""

    state: str
    cause: str = ""
    text: str = ""
    codec: str = ""
    epoch: int = 0
    corrupt: int = 0
    restamped: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    reconnects: dict[str, int] = field(default_factory=dict)
    outputs: list[dict[str, Any]] = field(default_factory=list)


_ERRORS: dict[str, type[LumaflowError]] = {
    name: kind
    for module in (lumaflow.errors, lumaflow_service.errors)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, LumaflowError)
}
Message = (
    Job
    | Reply
    | WorkerStarted
    | SlotGranted
    | FrameReady
    | Assignment
    | SlotRequested
    | EnhancedReady
    | SlotReleased
    | CameraReport
)
_KINDS: dict[str, type[Message]] = {kind.__name__: kind for kind in get_args(Message)}


def pack(message: Message) -> bytes:
    """One message as one packet."""
    return json.dumps([type(message).__name__, asdict(message)], separators=(",", ":")).encode()


def unpack(packet: bytes) -> Message:
    """The message in a packet. Raises ValueError for anything that is not one."""
    try:
        kind, fields = json.loads(packet)
        for name in ("geometry", "output"):
            if fields.get(name):
                fields[name] = tuple(fields[name])
        if fields.get("levels"):
            fields["levels"] = Levels(*fields["levels"])
        message = _KINDS[kind](**fields)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"a packet of {len(packet)} bytes came that is no message: {error}") from error
    return message


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Both ends of a new doorbell."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(doorbell: socket.socket, message: Message) -> None:
    """Send a message; one that nobody is there to read is lost, and `messages` then ends."""
    with suppress(ConnectionError):
        doorbell.send(pack(message))


def messages(doorbell: socket.socket) -> Iterator[Message]:
    """Message after message, waiting for each, until the other end hangs up."""
    try:
        while packet := doorbell.recv(PACKET_BYTES):
            yield unpack(packet)
    except ConnectionError:
        return  # it hung up with messages of ours unread


def error_of(reply: Reply) -> LumaflowError | None:
    """The error a reply carries, as an object of its own class; None when all is well."""
    if not reply.error:
        return None
    return _ERRORS.get(reply.error, LumaflowError)(reply.text)
