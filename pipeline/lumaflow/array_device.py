"""Where the memory of an array is: on the host or on a GPU."""

from typing import Any

import numpy as np

DLPACK_CUDA = (2, 13)
"""DLPack device types of GPU memory: kDLCUDA and kDLCUDAManaged."""


def on_device(array: Any) -> bool:
    """Return True if the array is in GPU memory, whichever library it belongs to."""
    if isinstance(array, np.ndarray):
        return False
    if hasattr(array, "__dlpack_device__"):
        return array.__dlpack_device__()[0] in DLPACK_CUDA
    return hasattr(array, "__cuda_array_interface__")
