"""Images that people try: enhanced on their own, kept for a while under an id that cannot be guessed."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from lumaflow_service.config.options import SourceOptions
from lumaflow_service.control.engine import Engine
from lumaflow_service.errors import TooLargeError, UnknownImageError
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Op, Reply
from lumaflow_service.ipc.slots import SlotLease

KEPT_SECONDS = 15 * 60.0
MOST_KEPT_BYTES = 256 << 20
"""Room for all images that are kept; the oldest give way."""


@dataclass(frozen=True, slots=True)
class OneShotImage:
    """An image as it came and as it went, both of this media type; `made` on the monotonic clock."""

    id: str
    media: MediaType
    options: SourceOptions
    before: bytes
    after: bytes
    figures: Reply
    made: float

    @property
    def size_bytes(self) -> int:
        """What it takes to keep it."""
        return len(self.before) + len(self.after)


class OneShotImages:
    """Enhances images, each in a lane of its own, and keeps the last ones."""

    def __init__(
        self, engine: Engine, clock: Callable[[], float] = time.monotonic, most_bytes: int = MOST_KEPT_BYTES
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, OneShotImage] = OrderedDict()

    async def enhance(
        self, slot: SlotLease, length: int, media: MediaType, options: SourceOptions
    ) -> OneShotImage:
        """Enhance the image in `slot` and keep both. Raises what `Engine.call` does, and TooLargeError."""
        name = secrets.token_urlsafe(16)
        lane = f"trial {name}"  # no source can have this name
        wanted = options.model_dump(mode="json")
        job = Job(0, Op.FRAME, lane, length=length, media=media, options=wanted, answer=media)
        before = bytes(slot.buffer("body", length))
        try:
            reply = await self._engine.call(job, slot)
        finally:
            self._engine.tell(Job(0, Op.FORGET, lane))
        after = bytes(slot.buffer(reply.buffer, reply.length))
        trial = OneShotImage(name, media, options, before, after, reply, self._clock())
        self._keep(trial)
        return trial

    def get(self, name: str) -> OneShotImage:
        """A trial that is still kept. Raises UnknownTrialError."""
        self._drop_old()
        trial = self._kept.get(name)
        if trial is None:
            raise UnknownImageError(
                f"the result {name!r} is not kept any more, or never was; try the image again"
            )
        return trial

    def seconds_left(self, trial: OneShotImage) -> float:
        """How long it is still kept, unless others need its room."""
        return max(0.0, trial.made + KEPT_SECONDS - self._clock())

    def _keep(self, trial: OneShotImage) -> None:
        if trial.size_bytes > self._most_bytes:
            raise TooLargeError(
                f"{trial.size_bytes} bytes of images cannot be kept; try a smaller one, or POST it as a frame"
            )
        self._drop_old(trial.size_bytes)
        self._kept[trial.id] = trial

    def _drop_old(self, room: int = 0) -> None:
        """Let go of what is too old, and of the oldest until so many bytes more have room."""
        kept_bytes = sum(trial.size_bytes for trial in self._kept.values())
        for trial in list(self._kept.values()):
            if kept_bytes + room <= self._most_bytes and self.seconds_left(trial) > 0:
                return
            kept_bytes -= self._kept.pop(trial.id).size_bytes
