"""Arrays of other libraries as CuPy's, without a copy, and streams of theirs as CuPy's."""

from typing import Any

import cupy

from lumaflow.array_device import on_device
from lumaflow.errors import FrameError


def view(array: Any) -> Any:
    """A CuPy array over any array on a GPU: CuPy's own, or one that has DLPack or the CUDA array interface.

    What its owner has enqueued comes before what CuPy's current stream is given next. Raises FrameError.
    """
    if isinstance(array, cupy.ndarray):
        return array
    if not on_device(array):
        raise FrameError(f"a {type(array).__name__} in host memory came; pass an array on the GPU")
    try:
        return cupy.from_dlpack(array) if hasattr(array, "__dlpack__") else cupy.asarray(array)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise FrameError(
            f"a {type(array).__name__} came, which gives CuPy no view ({error}); pass an array on the GPU"
            " that has DLPack or __cuda_array_interface__"
        ) from error


def stream_of(stream: Any) -> Any:
    """CuPy's stream for a stream of CuPy, of PyTorch, of cuda.core, or its address; None: the current one."""
    if stream is None:
        return cupy.cuda.get_current_stream()
    if isinstance(stream, cupy.cuda.Stream):
        return stream
    foreign = (
        stream if hasattr(stream, "__cuda_stream__") else Address(getattr(stream, "cuda_stream", stream))
    )
    return cupy.cuda.Stream.from_external(foreign)


class Address:
    """A stream of which only the address is known. Raises FrameError where that is none."""

    def __init__(self, address: Any) -> None:
        if not isinstance(address, int):
            raise FrameError(
                f"a stream {type(address).__name__} came; give a CuPy or PyTorch stream, or its address"
            )
        self._address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address
