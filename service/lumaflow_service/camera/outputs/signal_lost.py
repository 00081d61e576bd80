"""The picture that stands in while a camera is gone: its last one, dimmed, with the time since when."""

from datetime import datetime

import cv2
import numpy as np

from lumaflow.frame import Frame
from lumaflow_service.media.codec.display import display_pixels

DIMMED = 0.35
TEXT_OF_WIDTH = 0.7
"""Part of the picture's width that the text takes."""


def lost_since(frame: Frame, wall: float) -> Frame:
    """A picture dimmed, gray8 or bgr24, with `no signal since` and the local time in the middle."""
    picture = np.asarray(display_pixels(frame) * DIMMED, np.uint8)
    text = f"no signal since {datetime.fromtimestamp(wall).astimezone():%Y-%m-%d %H:%M:%S}"
    height, width = picture.shape[:2]
    (plain, tall), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 1.0, 1)
    scale = TEXT_OF_WIDTH * width / plain
    at = (round(width * (1 - TEXT_OF_WIDTH) / 2), round((height + tall * scale) / 2))
    color = (255,) * (1 if picture.ndim == 2 else 3)
    cv2.putText(picture, text, at, cv2.FONT_HERSHEY_SIMPLEX, scale, color, max(1, round(scale)), cv2.LINE_AA)
    return Frame.from_numpy(picture)
