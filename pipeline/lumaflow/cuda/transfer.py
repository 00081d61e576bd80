"""Asynchronous copies between host and device memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from lumaflow.cuda.memory import DeviceBlock, PinnedBlock

ANY_KIND = runtime.memcpyDefault
"""The driver derives the direction of a copy from the addresses."""

Block = DeviceBlock | PinnedBlock


def copy_planes(stream: Any, sources: Iterable[Any], targets: Iterable[Any]) -> None:
    """Enqueue copies of planes to planes of the same shapes; rows of either may be pitched."""
    for source, target in zip(sources, targets, strict=True):
        copy_plane(stream, source, target)


def copy_plane(stream: Any, source: Any, target: Any) -> None:
    """Enqueue the copy of a plane to a plane of the same shape; padding between rows is not written."""
    height, row_bytes = source.shape[0], source.nbytes // source.shape[0]
    source_pitch, target_pitch = (array.strides[0] if height > 1 else row_bytes for array in (source, target))
    addresses = address_of(target), address_of(source)
    if source_pitch == target_pitch == row_bytes:
        runtime.memcpyAsync(*addresses, source.nbytes, ANY_KIND, stream.ptr)
    else:
        runtime.memcpy2DAsync(
            addresses[0], target_pitch, addresses[1], source_pitch, row_bytes, height, ANY_KIND, stream.ptr
        )


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of contiguous bytes, prepared when the lane opens."""

    target: int
    source: int
    size_bytes: int

    def enqueue(self, stream: Any) -> None:
        """Enqueue the copy on `stream`."""
        runtime.memcpyAsync(self.target, self.source, self.size_bytes, ANY_KIND, stream.ptr)


def block_copy(source: Block, target: Block, first: str | None = None, end: str | None = None) -> Copy:
    """The copy of the arrays from `first` up to `end` (excluded) to the same arrays of another block."""
    start, target_start = (0, 0) if first is None else (source.offsets[first], target.offsets[first])
    stop = source.offsets[end] if end else source.size_bytes
    size = min(stop - start, target.size_bytes - target_start)
    return Copy(target.address + target_start, source.address + start, size)


def copy_on_device(stream: Any, source: Any, target: Any) -> None:
    """Enqueue a copy between two contiguous device arrays of the same size."""
    runtime.memcpyAsync(
        address_of(target), address_of(source), source.nbytes, runtime.memcpyDeviceToDevice, stream.ptr
    )


def address_of(array: Any) -> int:
    """Address of the first byte of an array in host or device memory."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def on_device(array: Any) -> bool:
    """True for an array in device memory."""
    return isinstance(array, cupy.ndarray)
