"""Named arrays in one npz file."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack_npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """One uncompressed npz of named arrays, for `numpy.load`."""
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]  # numpy's stub confuses names with allow_pickle
    return packed.getvalue()
