"""Where arrays lie, whoever made them."""

from typing import Any

import numpy as np

DLPACK_CUDA = (2, 13)
"""DLPack's device types of memory that a GPU computes on: its own, and managed memory."""


def on_device(array: Any) -> bool:
    """Whether an array lies in the memory of a GPU; whose it is does not matter."""
    if isinstance(array, np.ndarray):
        return False
    if hasattr(array, "__dlpack_device__"):
        return array.__dlpack_device__()[0] in DLPACK_CUDA
    return hasattr(array, "__cuda_array_interface__")
