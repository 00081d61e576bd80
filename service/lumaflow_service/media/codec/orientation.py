"""Turning pictures that lie in memory: by a number of EXIF, or by the orientation that is asked for."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lumaflow.frame import Plane
from lumaflow.options import Orientation
from lumaflow_service.media.codec.opencv import cv2

EXIF = {
    Orientation.NONE: 1,
    Orientation.FLIP_X: 2,
    Orientation.ROTATE180: 3,
    Orientation.FLIP_Y: 4,
    Orientation.TRANSPOSE: 5,
    Orientation.ROTATE90: 6,
    Orientation.ROTATE270: 8,
}
"""EXIF's number for the picture that this orientation turns upright; its 7 has no name here."""

_TURNS: dict[int, Callable[[Plane], Any]] = {
    2: lambda stored: cv2.flip(stored, 1),
    3: lambda stored: cv2.rotate(stored, cv2.ROTATE_180),
    4: lambda stored: cv2.flip(stored, 0),
    5: lambda stored: cv2.transpose(stored),
    6: lambda stored: cv2.rotate(stored, cv2.ROTATE_90_CLOCKWISE),
    7: lambda stored: cv2.transpose(cv2.rotate(stored, cv2.ROTATE_180)),
    8: lambda stored: cv2.rotate(stored, cv2.ROTATE_90_COUNTERCLOCKWISE),
}


def turned(stored: Plane, number: int) -> Plane:
    """A picture (H, W) or (H, W, channels), uint8 or uint16, as EXIF orientation `number` shows it."""
    return stored if number == 1 else np.asarray(_TURNS[number](stored))
