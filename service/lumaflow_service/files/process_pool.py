"""Files of a folder in several processes."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeVar

import numba

T = TypeVar("T")
Call = Callable[..., T]


def run_in_processes(
    call: Call[T], arguments: Sequence[tuple[Any, ...]], processes: int, on_result: Callable[[], None]
) -> list[T | None]:
    """The results of `call` for each tuple of arguments, in order; None where its process died.

    A process that dies ends the whole pool. The calls without a result are then repeated one by one, each in
    its own process, so that only the call at fault has none.
    """
    results = _run_pool(call, arguments, processes, on_result)
    for number, result in enumerate(results):
        if result is None:
            (results[number],) = _run_pool(call, [arguments[number]], 1, on_result)
    return results


def _run_pool(
    call: Call[T], arguments: Sequence[tuple[Any, ...]], processes: int, on_result: Callable[[], None]
) -> list[T | None]:
    def count(future: Future[T]) -> None:
        if not future.cancelled() and not future.exception():
            on_result()

    cores = max(1, len(os.sched_getaffinity(0)) // processes)
    with ProcessPoolExecutor(processes, get_context("spawn"), _use_cores, (cores,)) as pool:
        futures = [pool.submit(call, *one) for one in arguments]
        for future in futures:
            future.add_done_callback(count)
        return [_result_of(future) for future in futures]


def _result_of(future: Future[T]) -> T | None:
    try:
        return future.result()
    except BrokenProcessPool:
        return None


def _use_cores(count: int) -> None:
    numba.set_num_threads(min(count, numba.get_num_threads()))
