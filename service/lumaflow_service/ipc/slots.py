"""Shared memory for frames: a ring of slots, mapped by the API process and all its children.

The memory is an anonymous file (memfd), so nothing stays in /dev/shm after a crash. It is sparse, and a child
inherits its descriptor. Each slot has four buffers:

    body      the request body, when it is encoded
    frame     input pixels, decoded from the body or received raw
    enhanced  output pixels, which a raw response is copied from
    answer    the response, when it is encoded

The file starts with the generation of each slot. It grows with every use of the slot, so a message about an
earlier use is recognised.
"""

import mmap
import os
from collections import deque
from dataclasses import dataclass
from typing import Self

from lumaflow.errors import StateError
from lumaflow_service.errors import BusyError, TooLargeError

GENERATION_BYTES = 8
BUFFERS = ("body", "frame", "enhanced", "answer")
RESERVED_SLOTS = 2
"""Slots that frames leave free for snapshots and other views."""


def whole_pages(length: int) -> int:
    """`length` rounded up to a multiple of the page size."""
    return -(-length // mmap.PAGESIZE) * mmap.PAGESIZE


class SlotMemory:
    """The mapped memory, for any process that has its descriptor: buffers by slot number and name."""

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
        """Create an anonymous memory file of the right size and map it."""
        fd = os.memfd_create("lumaflow-slots", os.MFD_CLOEXEC)
        size = whole_pages(slots * GENERATION_BYTES) + whole_pages(slot_bytes) * len(BUFFERS) * slots
        os.ftruncate(fd, size)
        return cls(fd, slots, slot_bytes)

    def next_generation(self, slot: int) -> int:
        """Start the next generation of a slot and return it."""
        self._generations[slot] += 1
        return self._generations[slot]

    def check(self, slot: int, generation: int) -> None:
        """Raise StateError unless this slot exists and is in this generation."""
        if not 0 <= slot < self.slots:
            raise StateError(f"expected a slot in 0..{self.slots - 1}, got {slot}")
        if self._generations[slot] != generation:
            raise StateError(
                f"expected generation {self._generations[slot]} of slot {slot}, got {generation}"
            )

    def buffer(self, slot: int, name: str, length: int) -> memoryview:
        """The first `length` bytes of one buffer. Raises TooLargeError when the buffer is smaller."""
        if not 0 <= length <= self.slot_bytes:
            raise TooLargeError(
                f"expected at most {self.slot_bytes} bytes in a slot's {name} buffer, got {length}"
            )
        start = self._head + (slot * len(BUFFERS) + BUFFERS.index(name)) * self._stride
        return self._view[start : start + length]

    def pixel_buffers(self, slot: int) -> memoryview:
        """The frame and enhanced buffers of a slot, which are adjacent: the memory that a GPU accesses."""
        start = self._head + (slot * len(BUFFERS) + BUFFERS.index("frame")) * self._stride
        return self._view[start : start + 2 * self._stride]

    def close(self) -> None:
        """Unmap the memory and close its descriptor."""
        self._generations.release()
        self._view.release()
        self._map.close()
        os.close(self.fd)


@dataclass(slots=True, eq=False)
class SlotLease:
    """One use of a slot: a context manager that ends it for its owner.

    The lease counts its users like a reference count: the owner, and each process that may
    access the slot. The last user to release it frees it; the owner's block releases it at its end.
    """

    index: int
    generation: int
    _ring: "SlotRing"
    _users: int = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def buffer(self, name: str, length: int) -> memoryview:
        """The first `length` bytes of one of the slot's buffers. Raises TooLargeError."""
        return self._ring.memory.buffer(self.index, name, length)

    def add_user(self) -> None:
        """Count one more user, before another process may access the slot."""
        self._users += 1

    def release(self) -> None:
        """Count one user less; the last one frees the slot."""
        if self._users == 0:
            raise StateError(f"expected a slot in use, got slot {self.index}, which is free; release it once")
        self._users -= 1
        if self._users == 0:
            self._ring.free(self.index)


class SlotRing:
    """Leases slots to their users. Exists in the API process only."""

    def __init__(self, memory: SlotMemory) -> None:
        self.memory = memory
        self._free = deque(range(memory.slots))

    @property
    def in_use(self) -> int:
        """Number of leased slots."""
        return self.memory.slots - len(self._free)

    def acquire(self, reserved: int = 0) -> SlotLease:
        """Lease a free slot, unless only `reserved` slots are free. Raises BusyError."""
        if len(self._free) <= reserved:
            raise BusyError(f"all {self.memory.slots - reserved} slots are in use; try again a little later")
        index = self._free.pop()  # the slot used last: its memory is still in the CPU caches
        return SlotLease(index, self.memory.next_generation(index), self)

    def free(self, index: int) -> None:
        """Make a slot free again; for SlotLease."""
        self._free.append(index)

    def close(self) -> None:
        """Unmap the memory."""
        self.memory.close()
