"""Translates CUDA errors to errors of lumaflow: out of memory, device lost, or other failures."""

from types import TracebackType

from cupy.cuda.memory import OutOfMemoryError
from cupy.cuda.runtime import CUDARuntimeError
from cupy_backends.cuda.api.driver import CUDADriverError

from lumaflow.errors import DeviceError, DeviceLostError, DeviceMemoryError

OUT_OF_MEMORY = 2
STICKY = frozenset({46, 214, 220, 700, 702, 708, 709, 710, 714, 715, 716, 717, 718, 719, 720, 721, 999})
"""Codes after which all further CUDA calls of the process fail: illegal address, ECC error, ..."""


class translate_cuda_errors:  # lower case, as in contextlib
    """Context manager that raises CUDA errors of its block as DeviceError; it can be reused.

    action : describes the block in the error text, for example "opening a lane"
    """

    __slots__ = ("_action",)

    def __init__(self, action: str) -> None:
        self._action = action

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OutOfMemoryError):
            raise out_of_memory(self._action, error) from error
        if isinstance(error, (CUDARuntimeError, CUDADriverError)):
            raise device_error(self._action, error) from error


def device_error(action: str, error: CUDARuntimeError | CUDADriverError) -> DeviceError:
    """The lumaflow error for a CUDA error."""
    if error.status == OUT_OF_MEMORY:
        return out_of_memory(action, error)
    if error.status in STICKY:
        return DeviceLostError(
            f"the GPU failed while {action} ({error}); the process can no longer use it: start a new process"
        )
    return DeviceError(f"CUDA error while {action}: {error}")


def out_of_memory(action: str, error: Exception) -> DeviceMemoryError:
    """The error for exhausted device or pinned memory."""
    return DeviceMemoryError(
        f"out of memory while {action} ({error}); close other lanes, use fewer slots or a smaller frame"
    )
