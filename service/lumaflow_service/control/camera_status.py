"""The state of a camera, summed over all its processes."""

from dataclasses import dataclass, field
from typing import Any

from lumaflow_service.ipc.messages import CameraReport, FrameReady


@dataclass(slots=True)
class CameraStatus:
    """The newest report of a camera, with total counts.

    outputs : state and counts of each output
    last : the message about the newest enhanced frame
    """

    state: str = "connecting"
    cause: str = ""
    text: str = ""
    codec: str = ""
    epoch: int = 0
    corrupt: int = 0
    restamped: int = 0
    reconnects: int = 0
    outputs: list[dict[str, Any]] = field(default_factory=list)
    last: FrameReady | None = None

    def update(self, before: CameraReport, now: CameraReport) -> bool:
        """Apply a report; `before` is the previous one of the same process.

        Returns whether the state or its cause changed.
        """
        changed = (now.state, now.cause) != (self.state, self.cause)
        self.state, self.cause, self.text = now.state, now.cause, now.text
        self.codec, self.epoch, self.outputs = now.codec, now.epoch, now.outputs
        self.corrupt += now.corrupt - before.corrupt
        self.restamped += now.restamped - before.restamped
        self.reconnects += sum(now.reconnects.values()) - sum(before.reconnects.values())
        return changed
