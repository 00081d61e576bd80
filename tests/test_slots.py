"""The slot ring and its leases in shared memory."""

import os
from collections.abc import Iterator

import pytest

from lumaflow.errors import StateError
from lumaflow_service.errors import BusyError, TooLargeError
from lumaflow_service.ipc.slots import BUFFERS, SlotMemory, SlotRing, whole_pages


@pytest.fixture
def ring() -> Iterator[SlotRing]:
    """Three slots of 10,000 bytes, no whole number of pages."""
    ring = SlotRing(SlotMemory.create(3, 10_000))
    yield ring
    ring.close()


def test_buffers_of_slots_do_not_overlap(ring: SlotRing) -> None:
    slots = [ring.acquire() for _ in range(3)]
    for number, slot in enumerate(slots):
        for place, name in enumerate(BUFFERS):
            slot.buffer(name, 10_000)[:] = bytes([number * 10 + place]) * 10_000
    for number, slot in enumerate(slots):
        for place, name in enumerate(BUFFERS):
            assert set(slot.buffer(name, 10_000)) == {number * 10 + place}


def test_a_second_mapping_of_the_descriptor_has_the_same_bytes(ring: SlotRing) -> None:
    slot = ring.acquire()
    other = SlotMemory(os.dup(ring.memory.fd), 3, 10_000)
    slot.buffer("frame", 4)[:] = b"seen"
    assert bytes(other.buffer(slot.index, "frame", 4)) == b"seen"
    other.check(slot.index, slot.generation)
    other.close()


def test_the_memory_has_no_file_name(ring: SlotRing) -> None:
    before = set(os.listdir("/dev/shm"))
    other = SlotMemory.create(1, 1 << 20)
    assert set(os.listdir("/dev/shm")) == before
    other.close()


def test_untouched_memory_is_not_allocated() -> None:
    memory = SlotMemory.create(8, 64 << 20)
    memory.buffer(7, "answer", 1)[0] = 1
    assert os.fstat(memory.fd).st_blocks * 512 < 1 << 20
    memory.close()


def test_a_slot_is_leased_once(ring: SlotRing) -> None:
    assert len({ring.acquire().index for _ in range(3)}) == 3
    with pytest.raises(BusyError, match="all 3 slots"):
        ring.acquire()


def test_reserved_slots_stay_free(ring: SlotRing) -> None:
    ring.acquire(reserved=2)
    with pytest.raises(BusyError):
        ring.acquire(reserved=2)
    assert ring.acquire()


def test_generation_grows_with_every_use(ring: SlotRing) -> None:
    slot = ring.acquire()
    first = slot.generation
    slot.release()
    for _ in range(3):
        ring.acquire().release()
    with pytest.raises(StateError, match=f"of slot {slot.index}, got {first}"):
        ring.memory.check(slot.index, first)


def test_a_shared_slot_is_free_only_when_released(ring: SlotRing) -> None:
    with ring.acquire() as slot:
        slot.add_user()
    assert ring.in_use == 1
    slot.release()
    assert ring.in_use == 0


def test_a_released_slot_stays_leased_until_its_block_ends(ring: SlotRing) -> None:
    with ring.acquire() as slot:
        slot.add_user()
        slot.release()
        assert ring.in_use == 1
    assert ring.in_use == 0


def test_a_slot_with_two_jobs_is_free_only_when_both_release_it(ring: SlotRing) -> None:
    with ring.acquire() as slot:
        slot.add_user()
        slot.add_user()
    slot.release()
    assert ring.in_use == 1
    slot.release()
    assert ring.in_use == 0


def test_a_slot_is_free_after_an_exception(ring: SlotRing) -> None:
    with pytest.raises(ZeroDivisionError), ring.acquire():
        _ = 1 / 0
    assert ring.in_use == 0


def test_a_slot_that_is_released_too_often_is_an_error_and_not_freed_twice(ring: SlotRing) -> None:
    slot = ring.acquire()
    slot.release()
    with pytest.raises(StateError, match="which is free"):
        slot.release()
    assert len({ring.acquire().index for _ in range(3)}) == 3


@pytest.mark.parametrize("slot", [-1, 3])
def test_a_slot_that_does_not_exist_is_refused(ring: SlotRing, slot: int) -> None:
    with pytest.raises(StateError, match=r"expected a slot in 0\.\.2"):
        ring.memory.check(slot, 1)


@pytest.mark.parametrize("length", [-1, 10_001])
def test_a_length_outside_the_buffer_is_refused(ring: SlotRing, length: int) -> None:
    with pytest.raises(TooLargeError, match="at most 10000 bytes"):
        ring.memory.buffer(0, "body", length)


def test_pixel_buffers_are_the_frame_and_enhanced_buffers_alone() -> None:
    memory = SlotMemory.create(slots=2, slot_bytes=5000)
    for name, value in (("body", b"b"), ("frame", b"f"), ("enhanced", b"e"), ("answer", b"a")):
        memory.buffer(1, name, 5000)[:] = value * 5000
    assert set(bytes(memory.pixel_buffers(1))) == {0, *b"fe"}
    assert len(memory.pixel_buffers(1)) == 2 * whole_pages(5000)
    memory.pixel_buffers(1)[:1] = b"x"
    assert memory.buffer(1, "frame", 1) == b"x"
    memory.close()
