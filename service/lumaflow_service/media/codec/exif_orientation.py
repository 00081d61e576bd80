"""Orientation of pixel arrays, by EXIF number or by `Orientation`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lumaflow.frame import Plane
from lumaflow.options import Orientation
from lumaflow_service.media.codec.opencv import cv2

EXIF_NUMBERS = {
    Orientation.NONE: 1,
    Orientation.FLIP_X: 2,
    Orientation.ROTATE180: 3,
    Orientation.FLIP_Y: 4,
    Orientation.TRANSPOSE: 5,
    Orientation.ROTATE90: 6,
    Orientation.ROTATE270: 8,
}
"""The EXIF number with the same effect as each orientation. EXIF's 7 (transverse) has none."""

_TRANSPOSES: dict[int, Callable[[Plane], Any]] = {
    2: lambda stored: cv2.flip(stored, 1),
    3: lambda stored: cv2.rotate(stored, cv2.ROTATE_180),
    4: lambda stored: cv2.flip(stored, 0),
    5: lambda stored: cv2.transpose(stored),
    6: lambda stored: cv2.rotate(stored, cv2.ROTATE_90_CLOCKWISE),
    7: lambda stored: cv2.transpose(cv2.rotate(stored, cv2.ROTATE_180)),
    8: lambda stored: cv2.rotate(stored, cv2.ROTATE_90_COUNTERCLOCKWISE),
}


def exif_transpose(stored: Plane, number: int) -> Plane:
    """Stored pixels (H, W) or (H, W, channels), uint8 or uint16, upright by EXIF orientation `number`."""
    return stored if number == 1 else np.asarray(_TRANSPOSES[number](stored))
