"""The slot ring: memory shared by the API process and its children, one slot a frame in flight.

The ring is one nameless memory file (so nothing can be left behind in /dev/shm), sparse until touched and
passed to a child by its descriptor. A slot has four buffers:

    body      what the client sent, when that is encoded
    frame     input pixels: decoded from the body, or received as they are
    enhanced  output pixels: what a raw answer is copied from
    answer    what is sent to the client, when that is encoded

Before the buffers lies each slot's generation: it grows every time the slot is handed out, so that a message
about an earlier use is recognised.
"""

import mmap
import os
from collections import deque
from dataclasses import dataclass, field
from typing import Self

from lumaflow.errors import StateError
from lumaflow_service.errors import BusyError, TooLargeError

GENERATION_BYTES = 8
BUFFERS = ("body", "frame", "enhanced", "answer")


def whole_pages(length: int) -> int:
    """`length` rounded up to whole pages."""
    return -(-length // mmap.PAGESIZE) * mmap.PAGESIZE


class SlotMemory:
    """The mapping itself: buffers by slot number and name, for whoever holds the descriptor."""

    def __init__(self, fd: int, slots: int, slot_bytes: int) -> None:
        self.fd = fd
        self.slots = slots
        self.slot_bytes = slot_bytes
        self._head = whole_pages(slots * GENERATION_BYTES)
        self._stride = whole_pages(slot_bytes)
        self._map = mmap.mmap(fd, self._head + self._stride * len(BUFFERS) * slots)
        self._view = memoryview(self._map)
        self._generations = self._view[: slots * GENERATION_BYTES].cast("Q")

    @classmethod
    def create(cls, slots: int, slot_bytes: int) -> Self:
        """Make a new memory file of the size that is needed and map it."""
        fd = os.memfd_create("lumaflow-slots", os.MFD_CLOEXEC)
        size = whole_pages(slots * GENERATION_BYTES) + whole_pages(slot_bytes) * len(BUFFERS) * slots
        os.ftruncate(fd, size)
        return cls(fd, slots, slot_bytes)

    def renew(self, slot: int) -> int:
        """Begin the next generation of a slot and return it."""
        self._generations[slot] += 1
        return self._generations[slot]

    def check(self, slot: int, generation: int) -> None:
        """Raise StateError unless this slot exists and is in this generation."""
        if not 0 <= slot < self.slots:
            raise StateError(f"slot {slot} came; the ring has slots 0..{self.slots - 1}")
        if self._generations[slot] != generation:
            raise StateError(
                f"generation {generation} of slot {slot} came; it is in generation {self._generations[slot]}"
            )

    def buffer(self, slot: int, name: str, length: int) -> memoryview:
        """The first `length` bytes of one buffer. Raises TooLargeError when it has less room."""
        if not 0 <= length <= self.slot_bytes:
            raise TooLargeError(f"{length} bytes came; a slot's {name} buffer holds {self.slot_bytes}")
        start = self._head + (slot * len(BUFFERS) + BUFFERS.index(name)) * self._stride
        return self._view[start : start + length]

    def pictures(self, slot: int) -> memoryview:
        """Both pixel buffers of a slot, which lie side by side: what a GPU reads and writes."""
        start = self._head + (slot * len(BUFFERS) + BUFFERS.index("frame")) * self._stride
        return self._view[start : start + 2 * self._stride]

    def close(self) -> None:
        """Unmap the ring and close its descriptor."""
        self._generations.release()
        self._view.release()
        self._map.close()
        os.close(self.fd)


@dataclass(slots=True, eq=False)
class SharedSlot:
    """One slot while it is handed out. `in_flight` is true while a worker may touch its memory."""

    memory: SlotMemory
    index: int
    generation: int = 0
    in_flight: bool = False
    released: bool = True

    def buffer(self, name: str, length: int) -> memoryview:
        """The first `length` bytes of one of this slot's buffers."""
        return self.memory.buffer(self.index, name, length)


@dataclass(slots=True, eq=False)
class SlotRing:
    """Hands slots out and takes them back; lives in the API process alone."""

    memory: SlotMemory
    _free: deque[SharedSlot] = field(init=False)

    def __post_init__(self) -> None:
        self._free = deque(SharedSlot(self.memory, index) for index in range(self.memory.slots))

    @property
    def in_use(self) -> int:
        """Slots that are handed out."""
        return self.memory.slots - len(self._free)

    def acquire(self, spare: int = 0) -> SharedSlot:
        """Hand out a free slot; `spare` of them are kept back for others. Raises BusyError."""
        if len(self._free) <= spare:
            raise BusyError(f"all {self.memory.slots - spare} slots are in use; try again a little later")
        slot = self._free.pop()  # the last one used: its memory is still in the caches
        slot.generation = self.memory.renew(slot.index)
        slot.released = False
        return slot

    def release(self, slot: SharedSlot) -> None:
        """Take a slot back; one a worker may still touch becomes free only when it is `settled`."""
        slot.released = True
        if not slot.in_flight:
            self._free.append(slot)

    def settled(self, slot: SharedSlot) -> None:
        """Say that no worker touches this slot any more."""
        slot.in_flight = False
        if slot.released:
            self._free.append(slot)

    def close(self) -> None:
        """Give the memory back."""
        self.memory.close()
