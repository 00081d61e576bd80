"""The only file that takes memory: blocks of device and of page-locked host memory.

A block is cut into named, aligned arrays when a lane is opened; nothing is taken or given back before the
lane is closed. Two blocks of one spec are laid out alike, so one copy moves all their arrays. Memory that
others own (the service's shared slots) is page-locked here too.
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
"""cudaHostRegisterPortable: page-locked for every device of the process."""

Spec = Mapping[str, tuple[tuple[int, ...], type[np.generic]]]
"""Arrays to be cut from one block: name -> (shape, dtype)."""


@dataclass(slots=True)
class AllocationCount:
    """Bytes that this process holds now, over all its lanes."""

    device_bytes: int = 0
    pinned_bytes: int = 0

    def add(self, device_bytes: int = 0, pinned_bytes: int = 0) -> None:
        """Count memory that was taken, or with a minus given back."""
        self.device_bytes += device_bytes
        self.pinned_bytes += pinned_bytes


held = AllocationCount()
"""One for the process, since memory is: lanes come and go, and the worker tells the sum."""


def offsets(spec: Spec) -> tuple[dict[str, int], int]:
    """Byte offset of every array of `spec` in one block, and the size of that block."""
    where, end = {}, 0
    for name, (shape, dtype) in spec.items():
        where[name] = end
        size = prod(shape) * np.dtype(dtype).itemsize
        end += -(-size // ALIGN_BYTES) * ALIGN_BYTES
    return where, max(end, ALIGN_BYTES)


class DeviceMemory(cupy.cuda.Memory):  # type: ignore[misc]  # CuPy has no types
    """Memory of the current device, counted in `held` for as long as an array lies in it."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(size_bytes)
        held.add(device_bytes=size_bytes)
        weakref.finalize(self, held.add, device_bytes=-size_bytes)


class DeviceBlock:
    """Arrays of `spec` in one allocation on the current device; zeroed."""

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
    """Arrays of `spec` in one allocation of page-locked host memory; zeroed."""

    def __init__(self, spec: Spec) -> None:
        self.offsets, self.size_bytes = offsets(spec)
        memory = cupy.cuda.PinnedMemory(self.size_bytes)
        held.add(pinned_bytes=self.size_bytes)
        weakref.finalize(memory, held.add, pinned_bytes=-self.size_bytes)
        self.address: int = memory.ptr
        whole = np.frombuffer(cupy.cuda.PinnedMemoryPointer(memory, 0), np.uint8, self.size_bytes)
        whole[:] = 0
        self.arrays: dict[str, NDArray[Any]] = {
            name: np.ndarray(shape, dtype, whole, self.offsets[name]) for name, (shape, dtype) in spec.items()
        }


def is_pinned(pixels: NDArray[Any]) -> bool:
    """Whether the GPU can read this memory by itself, whoever page-locked it."""
    return bool(runtime.pointerGetAttributes(pixels.ctypes.data).type == runtime.memoryTypeHost)


class Registration:
    """Page-locks memory that lumaflow does not own (a shared mapping) until it is closed."""

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        self._address: int | None = memory.ctypes.data
        with translate_cuda_errors(f"page-locking {memory.nbytes} bytes"):
            runtime.hostRegister(self._address, memory.nbytes, PORTABLE)
        self._size_bytes = memory.nbytes
        held.add(pinned_bytes=self._size_bytes)

    def close(self) -> None:
        """Unlock the memory; closing twice is harmless."""
        if self._address is not None:
            with translate_cuda_errors("unlocking memory"):
                runtime.hostUnregister(self._address)
            held.add(pinned_bytes=-self._size_bytes)
            self._address = None
