"""Converts arrays and streams of other libraries to CuPy without copies."""

from typing import Any

import cupy

from lumaflow.array_device import on_device
from lumaflow.errors import FrameError


def view(array: Any) -> Any:
    """A CuPy array over an array on a GPU that supports DLPack or the CUDA array interface.

    CuPy's current stream waits for the work of the producer. Raises FrameError.
    """
    if isinstance(array, cupy.ndarray):
        return array
    if not on_device(array):
        raise FrameError(f"expected an array on the GPU, got {type(array).__name__} in host memory")
    try:
        return cupy.from_dlpack(array) if hasattr(array, "__dlpack__") else cupy.asarray(array)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise FrameError(
            f"expected an array with DLPack or __cuda_array_interface__, got {type(array).__name__} ({error})"
        ) from error


def stream_of(stream: Any) -> Any:
    """The CuPy stream for a CuPy, PyTorch or cuda.core stream or its address; None: the current stream."""
    if stream is None:
        return cupy.cuda.get_current_stream()
    if isinstance(stream, cupy.cuda.Stream):
        return stream
    if not hasattr(stream, "__cuda_stream__"):
        stream = StreamAddress(getattr(stream, "cuda_stream", stream))
    return cupy.cuda.Stream.from_external(stream)


class StreamAddress:
    """A stream given by its address. Raises FrameError if the address is not an integer."""

    def __init__(self, address: Any) -> None:
        if not isinstance(address, int):
            raise FrameError(
                f"expected a CuPy or PyTorch stream or its address, got {type(address).__name__}"
            )
        self._address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address
