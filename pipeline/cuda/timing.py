"""When each stage of a slot's step began and ended, by CUDA events; read when the slot is collected."""

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import cupy

from pipeline.errors import DeviceError
from pipeline.stage import Stage

RECORD_EXTERNAL = 1
"""cuEventRecordWithFlags: inside a capture, make a node that records an event the host can time."""


class StageClock:
    """A pair of events for every stage of one slot."""

    def __init__(self) -> None:
        self._events = {stage: (cupy.cuda.Event(), cupy.cuda.Event()) for stage in Stage}
        self._used: set[Stage] = set()

    @contextmanager
    def around(self, stage: Stage, stream: Any, timed: bool) -> Iterator[None]:
        """Time what the enclosed lines launch on `stream`, if `timed`."""
        if not timed:
            yield
            return
        began, ended = self._events[stage]
        _record(began, stream)
        yield
        _record(ended, stream)
        self._used.add(stage)

    def read(self) -> Mapping[Stage, float]:
        """Seconds of every stage timed so far; the events must have passed."""
        return {
            stage: cupy.cuda.get_elapsed_time(*self._events[stage]) * 1e-3
            for stage in Stage
            if stage in self._used
        }


def _record(event: Any, stream: Any) -> None:
    """Record an event that can be timed, also inside a capture.

    CuPy's `Event.record` inside a capture makes a dependency that has no time (seen on an H200); the driver's
    external record makes a node of its own, at about 2 us.
    """
    if not stream.is_capturing():
        event.record(stream)
        return
    flags = ctypes.c_uint(RECORD_EXTERNAL)
    status = _driver().cuEventRecordWithFlags(ctypes.c_void_p(event.ptr), ctypes.c_void_p(stream.ptr), flags)
    if status:
        raise DeviceError(f"cuEventRecordWithFlags answered {status}; set timing_every beyond your frames")


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")
