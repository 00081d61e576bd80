"""The threads of a camera process: read, write to slots, receive messages, report, and one per output."""

import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from queue import SimpleQueue

import structlog

from lumaflow.geometry import Geometry
from lumaflow_service.camera.camera import Camera, ReadOptions
from lumaflow_service.camera.captured_frame import CapturedFrame
from lumaflow_service.camera.frame_queue import LatestFrameQueue
from lumaflow_service.camera.open_container import OpenRequest
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.output_set import OutputSet, open_outputs
from lumaflow_service.config.model import CameraConfig
from lumaflow_service.config.url_policy import UrlPolicy, check_url
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.messages import (
    CameraAssignment,
    CameraReport,
    EnhancedReady,
    FrameReady,
    Message,
    SlotGranted,
    SlotReleased,
    SlotRequested,
)
from lumaflow_service.ipc.slots import SlotMemory
from lumaflow_service.ipc.transport import send
from lumaflow_service.media.slot_format import matrix_of, slot_geometry, write_to_slot
from lumaflow_service.redact import Redactor

REPORT_SECONDS = 1.0
CLOSE_SECONDS = 1.5
MAX_PENDING = 16
"""Frames to keep while they are enhanced."""

log = structlog.get_logger()


class CameraProcess:
    """Reads the camera of an assignment and writes its enhanced frames to its outputs."""

    def __init__(
        self, assignment: CameraAssignment, connection: socket.socket, memory: SlotMemory, redactor: Redactor
    ) -> None:
        config = CameraConfig.model_validate(assignment.camera)
        lossless = config.delivery == "lossless"
        self._name = assignment.name
        self._connection, self._memory, self._redactor = connection, memory, redactor
        self._queue: LatestFrameQueue[CapturedFrame] = LatestFrameQueue(lossless)
        self._grants: SimpleQueue[SlotGranted] = SimpleQueue()
        self._pending: OrderedDict[int, CapturedFrame] = OrderedDict()
        self._pending_lock = threading.Lock()
        self._outputs: OutputSet = open_outputs(config, self._name, Path(assignment.folder), redactor.text)
        options = ReadOptions(
            open_request(config, assignment), lossless, config.loop, config.deinterlace, **assignment.limits
        )
        self._camera = Camera(
            options, self._queue.put, self._outputs.connected, self._outputs.write_audio, self.report
        )

    def run(self, received: Iterator[Message]) -> None:
        """Run until the connection closes; then finish the outputs."""
        for target in (self.read, self.write_to_slots, self.report_regularly):
            threading.Thread(target=target, name=target.__name__, daemon=True).start()
        self._camera.watchdog.exit_when_blocked(self.report_stall)
        for message in received:
            if isinstance(message, SlotGranted):
                self._grants.put(message)
            elif isinstance(message, EnhancedReady):
                self.write_to_outputs(message)
        self._camera.stop()
        self._queue.close()
        self._outputs.close(CLOSE_SECONDS)

    def read(self) -> None:
        """Read the camera to its end."""
        self._camera.run()
        self.report()

    def write_to_slots(self) -> None:
        """Request a slot for each frame; write the newest frame when the slot is granted."""
        while self._queue.wait():
            send(self._connection, SlotRequested())
            grant = self._grants.get()
            captured = self._queue.take()
            self._memory.check(grant.slot, grant.generation)
            geometry = slot_geometry(captured.frame, grant.reoriented)
            buffer = self._memory.buffer(grant.slot, "frame", geometry.frame_bytes)
            write_to_slot(captured.frame, geometry, buffer)
            self._keep_for_outputs(captured)
            send(self._connection, frame_ready(grant, captured, geometry))

    def _keep_for_outputs(self, captured: CapturedFrame) -> None:
        if self._outputs:
            with self._pending_lock:
                self._pending[captured.number] = captured
                while len(self._pending) > MAX_PENDING:
                    self._pending.popitem(last=False)

    def write_to_outputs(self, enhanced: EnhancedReady) -> None:
        """Copy an enhanced frame for the outputs, and release its slot."""
        with self._pending_lock:
            captured = self._pending.pop(enhanced.number, None)
        try:
            if captured is not None:
                self._memory.check(enhanced.slot, enhanced.generation)
                self._outputs.write(OutputFrame.of(captured, enhanced, self._memory))
        finally:
            send(self._connection, SlotReleased(enhanced.slot, enhanced.generation))

    def report(self) -> None:
        """Send the state and counts of the camera and its outputs."""
        status = self._camera.status
        report = CameraReport(
            status.state,
            status.cause,
            self._redactor.text(status.text),
            status.codec,
            status.epoch,
            status.corrupt,
            status.restamped,
            {"late": self._queue.replaced, "no_key_frame": status.skipped},
            dict(status.reconnects),
            self._outputs.states(),
        )
        send(self._connection, report)

    def report_regularly(self) -> None:
        """Report every second."""
        while True:
            time.sleep(REPORT_SECONDS)
            self.report()

    def report_stall(self) -> None:
        """Log and report a read that does not return; the watchdog then ends the process."""
        log.error("camera read blocked; ending the process", source=self._name)
        self._camera.status.reconnects["stalled"] += 1
        self.report()


def open_request(config: CameraConfig, assignment: CameraAssignment) -> OpenRequest:
    """Return how to open the camera of an assignment. Raises UrlError."""
    networks = tuple(ip_network(network) for network in assignment.networks)
    policy = UrlPolicy(networks, tuple(Path(root) for root in assignment.roots))
    return OpenRequest(check_url(config.url, policy), policy, config.transport, config.verify_tls)


def frame_ready(grant: SlotGranted, captured: CapturedFrame, geometry: Geometry) -> FrameReady:
    """Return the message about a frame in a slot."""
    return FrameReady(
        grant.slot,
        grant.generation,
        GeometryJson.of(geometry, matrix_of(captured.frame)),
        captured.number,
        captured.pts,
        [captured.time_base.numerator, captured.time_base.denominator],
        captured.wall,
        captured.arrived,
        captured.epoch,
        captured.corrupt,
    )
