"""The streams of a lane, and external events, which order work inside and outside of CUDA graphs."""

import ctypes
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

import cupy

from lumaflow.errors import DeviceError

EXTERNAL = 1
"""CU_EVENT_RECORD_EXTERNAL and CU_EVENT_WAIT_EXTERNAL: the event becomes a node of the captured graph."""


def _stream() -> Any:
    return cupy.cuda.Stream(non_blocking=True)


@dataclass(frozen=True, slots=True)
class Streams:
    """Non-blocking streams, one for each stage; the LUT is built on the histogram stream.

    Each slot has one more stream for the graph of a whole frame.
    """

    upload: Any = field(default_factory=_stream)
    histogram: Any = field(default_factory=_stream)
    cut: Any = field(default_factory=_stream)
    enhance: Any = field(default_factory=_stream)
    hog: Any = field(default_factory=_stream)
    lbp: Any = field(default_factory=_stream)
    download: Any = field(default_factory=_stream)

    def synchronize(self) -> None:
        """Wait for all work on the streams."""
        for each in fields(self):
            getattr(self, each.name).synchronize()


def record_external(event: Any, stream: Any) -> None:
    """Record an event that is used outside of the graph that `stream` may be capturing.

    In a capture, `cupy.cuda.Event.record` only creates a dependency inside the graph; an external record
    creates a node, which takes about 2 us (H200).
    """
    if stream.is_capturing():
        _external("cuEventRecordWithFlags", event.ptr, stream.ptr)
    else:
        event.record(stream)


def wait_external(stream: Any, event: Any) -> None:
    """Wait for an event that is recorded outside of the graph that `stream` may be capturing."""
    if stream.is_capturing():
        _external("cuStreamWaitEvent", stream.ptr, event.ptr)
    else:
        stream.wait_event(event)


def _external(call: str, *handles: int) -> None:
    status = getattr(_driver(), call)(*map(ctypes.c_void_p, handles), ctypes.c_uint(EXTERNAL))
    if status:
        raise DeviceError(
            f"{call} returned {status} inside a capture; open the lane with LaneConfig(graph=False)"
        )


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")
