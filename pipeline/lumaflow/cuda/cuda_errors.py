"""CUDA's error codes as lumaflow's errors: out of memory, lost for good, or merely refused."""

from types import TracebackType

from cupy.cuda.memory import OutOfMemoryError
from cupy.cuda.runtime import CUDARuntimeError
from cupy_backends.cuda.api.driver import CUDADriverError

from lumaflow.errors import DeviceError, DeviceLostError, DeviceMemoryError

OUT_OF_MEMORY = 2
STICKY = frozenset({46, 214, 220, 700, 702, 708, 709, 710, 714, 715, 716, 717, 718, 719, 720, 721, 999})
"""Codes after which every further call of this process fails: illegal address, launch failure, ECC ..."""


class translate_cuda_errors:  # in lower case like those of contextlib
    """Raise CUDA errors of the enclosed lines as a DeviceError that says what was being done.

    Can be entered again and again: a lane keeps those of its every frame.
    """

    __slots__ = ("_doing",)

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OutOfMemoryError):
            raise out_of_memory(self._doing, error) from error
        if isinstance(error, (CUDARuntimeError, CUDADriverError)):
            raise fault(self._doing, error) from error


def fault(doing: str, error: CUDARuntimeError | CUDADriverError) -> DeviceError:
    """The lumaflow error for one CUDA error."""
    if error.status == OUT_OF_MEMORY:
        return out_of_memory(doing, error)
    if error.status in STICKY:
        return DeviceLostError(
            f"the GPU failed while {doing} ({error}); nothing more runs on it here: start a new process"
        )
    return DeviceError(f"CUDA refused while {doing}: {error}")


def out_of_memory(doing: str, error: Exception) -> DeviceMemoryError:
    """The error for a device or for pinned memory that is full."""
    return DeviceMemoryError(
        f"no room while {doing} ({error}); close other lanes, use fewer slots or a smaller frame"
    )
