"""The streams of a lane, and the events that graphs share with what runs outside them."""

import ctypes
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

import cupy

from lumaflow.errors import DeviceError

EXTERNAL = 1
"""The driver's flag for an event that a graph, at each launch, records or waits for as if it were none."""


def _stream() -> Any:
    return cupy.cuda.Stream(non_blocking=True)


@dataclass(frozen=True, slots=True)
class Streams:
    """One stream for each stage but the LUT's; none of them waits for CuPy's default stream.

    Every slot has one more, for the graph of a whole frame.
    """

    upload: Any = field(default_factory=_stream)
    histogram: Any = field(default_factory=_stream)
    enhance: Any = field(default_factory=_stream)
    hog: Any = field(default_factory=_stream)
    lbp: Any = field(default_factory=_stream)
    download: Any = field(default_factory=_stream)

    def synchronize(self) -> None:
        """Wait until all are idle."""
        for each in fields(self):
            getattr(self, each.name).synchronize()


def record_outside(event: Any, stream: Any) -> None:
    """Record an event that is waited for, or timed, outside the capture that `stream` may be in.

    CuPy's `Event.record` inside a capture makes a dependency of that graph and nothing else (seen on an
    H200); the driver's external record makes a node of its own, at about 2 us.
    """
    if stream.is_capturing():
        _external("cuEventRecordWithFlags", event.ptr, stream.ptr)
    else:
        event.record(stream)


def wait_outside(stream: Any, event: Any) -> None:
    """Wait for an event that is recorded outside the capture that `stream` may be in."""
    if stream.is_capturing():
        _external("cuStreamWaitEvent", stream.ptr, event.ptr)
    else:
        stream.wait_event(event)


def _external(call: str, *handles: int) -> None:
    status = getattr(_driver(), call)(*map(ctypes.c_void_p, handles), ctypes.c_uint(EXTERNAL))
    if status:
        raise DeviceError(
            f"{call} answered {status} inside a capture; open the lane with LaneConfig(graph=False)"
        )


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")
