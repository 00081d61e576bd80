"""Images that are enhanced outside any source, and stored for some minutes under an unguessable id."""

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

RETENTION_SECONDS = 15 * 60.0
MAX_BYTES = 256 << 20
"""Memory for all images; the oldest are evicted."""


@dataclass(frozen=True, slots=True)
class OneShotImage:
    """An image before and after enhancement, both encoded as `media`; `created` is on the monotonic clock."""

    id: str
    media: MediaType
    options: SourceOptions
    before: bytes
    after: bytes
    reply: Reply
    created: float

    @property
    def size_bytes(self) -> int:
        """Bytes of both images."""
        return len(self.before) + len(self.after)


class OneShotImages:
    """Enhances images, each in a new lane, and stores the results in memory."""

    def __init__(
        self, engine: Engine, clock: Callable[[], float] = time.monotonic, max_bytes: int = MAX_BYTES
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._max_bytes = max_bytes
        self._images: OrderedDict[str, OneShotImage] = OrderedDict()

    async def enhance(
        self, slot: SlotLease, length: int, media: MediaType, options: SourceOptions
    ) -> OneShotImage:
        """Enhance the image in `slot` and store it. Raises TooLargeError, and what `Engine.call` raises."""
        name = secrets.token_urlsafe(16)
        lane = f"trial {name}"  # a source id has no space, so this cannot be the lane of a source
        options_json = options.model_dump(mode="json")
        job = Job(0, Op.FRAME, lane, length=length, media=media, options=options_json, answer=media)
        before = bytes(slot.buffer("body", length))
        try:
            reply = await self._engine.call(job, slot)
        finally:
            self._engine.notify(Job(0, Op.FORGET, lane))
        after = bytes(slot.buffer(reply.buffer, reply.length))
        image = OneShotImage(name, media, options, before, after, reply, self._clock())
        self._store(image)
        return image

    def get(self, name: str) -> OneShotImage:
        """A stored image. Raises UnknownImageError."""
        self._evict()
        image = self._images.get(name)
        if image is None:
            raise UnknownImageError(f"the result {name!r} is unknown or has expired; try the image again")
        return image

    def seconds_left(self, image: OneShotImage) -> float:
        """Seconds until the image expires; newer images may evict it earlier."""
        return max(0.0, image.created + RETENTION_SECONDS - self._clock())

    def _store(self, image: OneShotImage) -> None:
        if image.size_bytes > self._max_bytes:
            raise TooLargeError(
                f"expected at most {self._max_bytes} bytes of images, got {image.size_bytes};"
                " send a smaller image, or POST it as a frame"
            )
        self._evict(image.size_bytes)
        self._images[image.id] = image

    def _evict(self, needed_bytes: int = 0) -> None:
        """Remove expired images, and the oldest ones until `needed_bytes` more fit."""
        total_bytes = sum(image.size_bytes for image in self._images.values())
        for image in list(self._images.values()):
            if total_bytes + needed_bytes <= self._max_bytes and self.seconds_left(image) > 0:
                return
            total_bytes -= self._images.pop(image.id).size_bytes
