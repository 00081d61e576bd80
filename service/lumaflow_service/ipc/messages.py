"""The messages between the API process, the worker and the camera processes.

Pixels and results stay in shared memory: a message names their slot, its generation and their length.

    API process              worker
        <- WorkerStarted         once
        Job ->
        <- Reply                 one for each job

    API process              camera process
        CameraAssignment ->      once
        <- SlotRequested         a frame is ready to be written
        SlotGranted ->
        <- FrameReady            the frame is in the slot
        EnhancedReady ->         the enhanced frame is in the slot, for the outputs
        <- SlotReleased          the outputs have copied it
        <- CameraReport          every second
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import lumaflow.errors
import lumaflow_service.errors
from lumaflow.errors import LumaflowError
from lumaflow.frame import ToneReport
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.media_type import MediaType


class Op(StrEnum):
    """The operations of a worker."""

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


class View(StrEnum):
    """The picture in a snapshot.

    `split` is raw on the left half and enhanced on the right; `both` is raw above enhanced; `thumbnail` is a
    small enhanced picture.
    """

    ENHANCED = "enhanced"
    RAW = "raw"
    SPLIT = "split"
    BOTH = "both"
    THUMBNAIL = "thumbnail"


@dataclass(frozen=True, slots=True)
class WorkerStarted:
    """The first message of a worker: its device, and the reason for this choice."""

    device: str
    reason: str


@dataclass(frozen=True, slots=True)
class Job:
    """A job for the worker; the reply has the same id.

    geometry : of a raw frame; for an encoded frame the one its source is fixed to, if any
    length : bytes in the slot's frame buffer for a raw frame, in its body buffer for an encoded one
    answer : media type of the response
    """

    id: int
    op: Op
    source: str = ""
    slot: int = -1
    generation: int = 0
    length: int = 0
    media: MediaType = MediaType.RAW
    geometry: GeometryJson | None = None
    options: dict[str, Any] = field(default_factory=dict)
    sequence: int = 0
    answer: MediaType = MediaType.JSON
    features: list[str] | None = None
    view: View = View.ENHANCED
    corrupt: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """The worker's reply to the job with the same id.

    error, text : class name and text of the error; empty on success
    buffer, length : the slot's buffer that holds the response, and its length in bytes
    geometry, output, output_text : of the input frame and of the enhanced frame; the latter also as text
    device_bytes, pinned_bytes : memory that the worker holds, in the reply to a ping
    """

    id: int
    error: str = ""
    text: str = ""
    buffer: str = "answer"
    length: int = 0
    device: str = ""
    geometry: GeometryJson | None = None
    output: GeometryJson | None = None
    output_text: str = ""
    sequence: int = 0
    lut: str = ""
    lut_age: int = 0
    clamped: int = 0
    tone: ToneReport | None = None
    stage_seconds: dict[str, float] = field(default_factory=dict)
    frame_seconds: float = 0.0
    device_bytes: int = 0
    pinned_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CameraAssignment:
    """The first message to a camera process: its camera, its limits, and where its outputs go.

    It is a message, not a command line argument, because it holds credentials that `ps` would show.
    """

    name: str
    camera: dict[str, Any]
    networks: list[str]
    roots: list[str]
    folder: str
    limits: dict[str, int]


@dataclass(frozen=True, slots=True)
class SlotRequested:
    """A camera process has a frame and requests a slot for it."""


@dataclass(frozen=True, slots=True)
class SlotGranted:
    """A slot for one frame. `reoriented` says that the worker will rotate or flip the frame."""

    slot: int
    generation: int
    reoriented: bool = False


@dataclass(frozen=True, slots=True)
class FrameReady:
    """A frame of the camera is in the granted slot.

    number : of the frame in its camera process
    pts, time_base : presentation time in units of `time_base` seconds (numerator, denominator)
    wall, arrived : arrival time in seconds since 1970, and on the monotonic clock
    epoch : grows when the camera's geometry changes
    """

    slot: int
    generation: int
    geometry: GeometryJson
    number: int = 0
    pts: int | None = None
    time_base: list[int] | None = None
    wall: float = 0.0
    arrived: float = 0.0
    epoch: int = 0
    corrupt: bool = False


@dataclass(frozen=True, slots=True)
class EnhancedReady:
    """The enhanced frame with this number is in the slot's enhanced buffer; SlotReleased is the response.

    descriptor_bytes : length of the npz in the slot's answer buffer; 0 without descriptors
    """

    slot: int
    generation: int
    geometry: GeometryJson
    number: int
    sequence: int
    lut: str
    descriptor_bytes: int = 0


@dataclass(frozen=True, slots=True)
class SlotReleased:
    """The outputs have copied the enhanced frame; the camera process no longer uses the slot."""

    slot: int
    generation: int


@dataclass(frozen=True, slots=True)
class CameraReport:
    """The state of a camera process. The counts start at 0 with the process and only grow."""

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


Message = (
    WorkerStarted
    | Job
    | Reply
    | CameraAssignment
    | SlotRequested
    | SlotGranted
    | FrameReady
    | EnhancedReady
    | SlotReleased
    | CameraReport
)

_ERRORS: dict[str, type[LumaflowError]] = {
    name: kind
    for module in (lumaflow.errors, lumaflow_service.errors)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, LumaflowError)
}


def error_of(reply: Reply) -> LumaflowError | None:
    """The error in a reply as an exception of its class; None on success."""
    if not reply.error:
        return None
    return _ERRORS.get(reply.error, LumaflowError)(reply.text)
