"""Copies between host and device: enqueued, never waited for here."""

from typing import Any

from cupy.cuda import runtime
from numpy.typing import NDArray

from pipeline.cuda.memory import DeviceBlock, PinnedBlock


def upload(stream: Any, pixels: NDArray[Any], target: Any) -> None:
    """Copy host `pixels` to the device array `target` of the same shape; rows of either may be pitched."""
    _copy_rows(stream, pixels, pixels.ctypes.data, target, target.data.ptr, runtime.memcpyHostToDevice)


def download(stream: Any, source: Any, pixels: NDArray[Any]) -> None:
    """Copy the device array `source` to host `pixels` of the same shape; rows of either may be pitched."""
    _copy_rows(stream, source, source.data.ptr, pixels, pixels.ctypes.data, runtime.memcpyDeviceToHost)


def download_block(stream: Any, source: DeviceBlock, target: PinnedBlock, first: str) -> None:
    """Copy the arrays from `first` on, in one go, to a block of the same spec."""
    start = source.offsets[first]
    runtime.memcpyAsync(
        target.address + start,
        source.address + start,
        source.size_bytes - start,
        runtime.memcpyDeviceToHost,
        stream.ptr,
    )


def copy_on_device(stream: Any, source: Any, target: Any) -> None:
    """Copy between two contiguous device arrays of the same size."""
    runtime.memcpyAsync(
        target.data.ptr, source.data.ptr, source.nbytes, runtime.memcpyDeviceToDevice, stream.ptr
    )


def _copy_rows(stream: Any, source: Any, source_at: int, target: Any, target_at: int, kind: int) -> None:
    height, row_bytes = source.shape[0], source.nbytes // source.shape[0]
    source_pitch, target_pitch = (array.strides[0] if height > 1 else row_bytes for array in (source, target))
    if source_pitch == target_pitch:
        size = source_pitch * (height - 1) + row_bytes
        runtime.memcpyAsync(target_at, source_at, size, kind, stream.ptr)
    else:
        runtime.memcpy2DAsync(
            target_at, target_pitch, source_at, source_pitch, row_bytes, height, kind, stream.ptr
        )
