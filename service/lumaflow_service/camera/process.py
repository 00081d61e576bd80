"""A camera's process: threads to read, to lay frames into slots, to take messages, and one an output."""

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
from lumaflow_service.camera.camera import Camera, CameraPlan
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
FINISH_SECONDS = 1.5
MOST_REMEMBERED = 16
"""Shots whose enhanced picture may still come."""

log = structlog.get_logger()


class CameraProcess:
    """Everything in the process of one camera."""

    def __init__(
        self, assignment: CameraAssignment, connection: socket.socket, memory: SlotMemory, redactor: Redactor
    ) -> None:
        config = CameraConfig.model_validate(assignment.camera)
        self._name = assignment.name
        self._connection, self._memory, self._redactor = connection, memory, redactor
        self._mailbox: LatestFrameQueue[CapturedFrame] = LatestFrameQueue(config.delivery == "lossless")
        self._grants: SimpleQueue[SlotGranted] = SimpleQueue()
        self._remembered: OrderedDict[int, CapturedFrame] = OrderedDict()
        self._lock = threading.Lock()
        self._outputs: OutputSet = open_outputs(config, self._name, Path(assignment.folder), redactor.text)
        plan = CameraPlan(
            opening_of(config, assignment),
            config.delivery == "lossless",
            config.loop,
            config.deinterlace,
            **assignment.limits,
        )
        self._camera = Camera(plan, self._mailbox.put, self._outputs.begin, self._outputs.hear, self._report)

    def run(self, received: Iterator[Message]) -> None:
        """Work until the other end hangs up; then write what the outputs still hold."""
        for work in (self._read, self._lay, self._report_regularly):
            threading.Thread(target=work, name=work.__name__, daemon=True).start()
        self._camera.watchdog.guard(self._last_words)
        for message in received:
            if isinstance(message, SlotGranted):
                self._grants.put(message)
            elif isinstance(message, EnhancedReady):
                self._show(message)
        self._camera.stop()
        self._mailbox.close()
        self._outputs.close(FINISH_SECONDS)

    def _read(self) -> None:
        self._camera.run()
        self._report()

    def _lay(self) -> None:
        """Ask for a slot when there is a frame, and lay the newest into it when one is granted."""
        while self._mailbox.wait():
            send(self._connection, SlotRequested())
            grant = self._grants.get()
            shot = self._mailbox.take()
            self._memory.check(grant.slot, grant.generation)
            geometry = slot_geometry(shot.frame, grant.reoriented)
            write_to_slot(
                shot.frame, geometry, self._memory.buffer(grant.slot, "frame", geometry.frame_bytes)
            )
            self._remember(shot)
            send(self._connection, captured(grant, shot, geometry))

    def _remember(self, shot: CapturedFrame) -> None:
        if self._outputs:
            with self._lock:
                self._remembered[shot.number] = shot
                while len(self._remembered) > MOST_REMEMBERED:
                    self._remembered.popitem(last=False)

    def _show(self, shown: EnhancedReady) -> None:
        """Give an enhanced picture to the outputs, which copy what they need, and the slot back."""
        with self._lock:
            shot = self._remembered.pop(shown.number, None)
        try:
            if shot is not None:
                self._memory.check(shown.slot, shown.generation)
                self._outputs.show(OutputFrame.of(shot, shown, self._memory))
        finally:
            send(self._connection, SlotReleased(shown.slot, shown.generation))

    def _report(self) -> None:
        """Say how things stand."""
        status = self._camera.status
        report = CameraReport(
            status.state,
            status.cause,
            self._redactor.text(status.text),
            status.codec,
            status.epoch,
            status.corrupt,
            status.restamped,
            {"late": self._mailbox.replaced, "no_key_frame": status.no_key},
            dict(status.reconnects),
            self._outputs.states(),
        )
        send(self._connection, report)

    def _report_regularly(self) -> None:
        while True:
            time.sleep(REPORT_SECONDS)
            self._report()

    def _last_words(self) -> None:
        log.error("a read does not come back; ending the process", source=self._name)
        self._camera.status.reconnects["stalled"] += 1
        self._report()


def opening_of(config: CameraConfig, assignment: CameraAssignment) -> OpenRequest:
    """How to open the camera of an assignment."""
    policy = UrlPolicy(
        tuple(ip_network(one) for one in assignment.networks), tuple(Path(one) for one in assignment.roots)
    )
    return OpenRequest(check_url(config.url, policy), policy, config.transport, config.verify_tls)


def captured(grant: SlotGranted, shot: CapturedFrame, geometry: Geometry) -> FrameReady:
    """The message about a frame in a slot."""
    return FrameReady(
        grant.slot,
        grant.generation,
        GeometryJson.of(geometry, matrix_of(shot.frame)),
        shot.number,
        shot.pts,
        [shot.time_base.numerator, shot.time_base.denominator],
        shot.wall,
        shot.arrived,
        shot.epoch,
        shot.corrupt,
    )
