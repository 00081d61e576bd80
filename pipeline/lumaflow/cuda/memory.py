"""Allocation of device memory and pinned host memory; no other module of `lumaflow.cuda` allocates.

A block is one allocation that is divided into named, aligned arrays. Blocks are allocated when a lane opens
and freed when it closes. Blocks with the same spec have the same layout, so one copy transfers all arrays.
This module also pins memory of other owners, such as the shared memory of the service.
"""

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime
from numpy.typing import NDArray

from lumaflow.cuda.cuda_errors import translate_cuda_errors

ALIGN_BYTES = 256
ALIGN_PITCH_BYTES = 16
PORTABLE = 1
"""cudaHostRegisterPortable: pinned for all devices of the process."""

Spec = Mapping[str, tuple[tuple[int, ...], type[np.generic]]]
"""Arrays of a block: name -> (shape, dtype)."""


@dataclass(slots=True)
class AllocationCount:
    """Bytes allocated now by all lanes of this process."""

    device_bytes: int = 0
    pinned_bytes: int = 0

    def add(self, device_bytes: int = 0, pinned_bytes: int = 0) -> None:
        """Add allocated bytes, or negative numbers for freed bytes."""
        self.device_bytes += device_bytes
        self.pinned_bytes += pinned_bytes


allocated = AllocationCount()
"""The counters of this process, which the worker reports as metrics."""


def offsets(spec: Spec) -> tuple[dict[str, int], int]:
    """Byte offset of each array of `spec` in a block, and the size of the block."""
    starts, end = {}, 0
    for name, (shape, dtype) in spec.items():
        starts[name] = end
        size = prod(shape) * np.dtype(dtype).itemsize
        end += -(-size // ALIGN_BYTES) * ALIGN_BYTES
    return starts, max(end, ALIGN_BYTES)


class DeviceMemory(cupy.cuda.Memory):  # type: ignore[misc]  # CuPy has no types
    """Memory of the current device, counted in `allocated` until the last array in it is freed."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(size_bytes)
        allocated.add(device_bytes=size_bytes)
        weakref.finalize(self, allocated.add, device_bytes=-size_bytes)


class DeviceBlock:
    """Arrays of `spec` in one allocation on the current device, initialized with zeros."""

    def __init__(self, spec: Spec) -> None:
        self.offsets, self.size_bytes = offsets(spec)
        memory = DeviceMemory(self.size_bytes)
        self.address: int = memory.ptr
        runtime.memset(self.address, 0, self.size_bytes)
        self.arrays: dict[str, Any] = {
            name: cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, self.offsets[name]))
            for name, (shape, dtype) in spec.items()
        }


class PinnedBlock:
    """Arrays of `spec` in one allocation of pinned host memory, initialized with zeros."""

    def __init__(self, spec: Spec) -> None:
        self.offsets, self.size_bytes = offsets(spec)
        memory = cupy.cuda.PinnedMemory(self.size_bytes)
        allocated.add(pinned_bytes=self.size_bytes)
        weakref.finalize(memory, allocated.add, pinned_bytes=-self.size_bytes)
        self.address: int = memory.ptr
        block = np.frombuffer(cupy.cuda.PinnedMemoryPointer(memory, 0), np.uint8, self.size_bytes)
        block[:] = 0
        self.arrays: dict[str, NDArray[Any]] = {
            name: np.ndarray(shape, dtype, block, self.offsets[name]) for name, (shape, dtype) in spec.items()
        }


def is_pinned(pixels: NDArray[Any]) -> bool:
    """True for pinned host memory of any owner, which the GPU can access directly."""
    return bool(runtime.pointerGetAttributes(pixels.ctypes.data).type == runtime.memoryTypeHost)


class Registration:
    """Pins memory of another owner, such as shared memory, until `close`."""

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        self._address: int | None = memory.ctypes.data
        with translate_cuda_errors(f"pinning {memory.nbytes} bytes"):
            runtime.hostRegister(self._address, memory.nbytes, PORTABLE)
        self._size_bytes = memory.nbytes
        allocated.add(pinned_bytes=self._size_bytes)

    def close(self) -> None:
        """Unpin the memory; a second call has no effect."""
        if self._address is not None:
            with translate_cuda_errors("unpinning memory"):
                runtime.hostUnregister(self._address)
            allocated.add(pinned_bytes=-self._size_bytes)
            self._address = None
