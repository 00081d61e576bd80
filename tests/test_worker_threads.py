"""Threads beside the lane: order, bounds and errors."""

import threading
from collections.abc import Iterator

import pytest

from lumaflow_service.files.worker_threads import WriterThread, read_ahead


def test_read_ahead_yields_all_items_in_order() -> None:
    assert list(read_ahead(range(20), 4)) == list(range(20))
    assert list(read_ahead([], 4)) == []


def test_read_ahead_reads_at_most_the_given_number_of_items_ahead() -> None:
    read: list[int] = []
    third = threading.Event()

    def items() -> Iterator[int]:
        for number in range(10):
            read.append(number)
            if number == 2:
                third.set()
            yield number

    ahead = read_ahead(items(), 2)
    assert next(ahead) == 0
    assert third.wait(10)
    ahead.close()
    assert read == [0, 1, 2]


def test_an_error_is_raised_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("no more")

    ahead = read_ahead(items(), 4)
    assert next(ahead) == 1
    with pytest.raises(OSError, match="no more"):
        next(ahead)


def test_calls_run_in_order_and_are_finished_at_the_end() -> None:
    done: list[int] = []
    with WriterThread(2) as thread:
        for number in range(10):
            thread.submit(done.append, number)
    assert done == list(range(10))


def test_a_caller_waits_when_too_many_calls_are_pending() -> None:
    may_run, submitted = threading.Event(), threading.Event()

    def caller(thread: WriterThread) -> None:
        for _ in range(3):
            thread.submit(may_run.wait)
        submitted.set()

    with WriterThread(2) as thread:
        other = threading.Thread(target=caller, args=(thread,))
        other.start()
        assert not submitted.wait(0.2)
        may_run.set()
        assert submitted.wait(10)
        other.join()


def fail() -> None:
    raise OSError("disk full")


def submit_after_a_failure(count: int, done: list[int]) -> None:
    with WriterThread(1) as thread:
        thread.submit(fail)
        for number in range(count):
            thread.submit(done.append, number)


@pytest.mark.parametrize("count", [0, 10])
def test_an_error_of_a_call_is_raised_by_a_later_one_or_at_the_end(count: int) -> None:
    done: list[int] = []
    with pytest.raises(OSError, match="disk full"):
        submit_after_a_failure(count, done)
    assert len(done) <= 1


def test_an_error_of_the_block_is_not_replaced() -> None:
    def block() -> None:
        with WriterThread(8) as thread:
            thread.submit(fail)
            raise KeyError

    with pytest.raises(KeyError):
        block()
