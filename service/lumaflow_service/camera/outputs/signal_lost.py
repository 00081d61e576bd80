"""The picture that outputs show while a camera is lost: its last frame, dimmed, with a text."""

from datetime import datetime

import cv2
import numpy as np

from lumaflow.frame import Frame
from lumaflow_service.media.codec.display import display_pixels

BRIGHTNESS = 0.35
TEXT_WIDTH = 0.7
"""Width of the text as a fraction of the frame's width."""


def no_signal_frame(frame: Frame, wall: float) -> Frame:
    """Return a dimmed copy, gray8 or bgr24, with `no signal since` and the local time of `wall`."""
    pixels = np.asarray(display_pixels(frame) * BRIGHTNESS, np.uint8)
    text = f"no signal since {datetime.fromtimestamp(wall).astimezone():%Y-%m-%d %H:%M:%S}"
    height, width = pixels.shape[:2]
    (text_width, text_height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 1.0, 1)
    scale = TEXT_WIDTH * width / text_width
    origin = (round(width * (1 - TEXT_WIDTH) / 2), round((height + text_height * scale) / 2))
    color, thickness = (255,) * (1 if pixels.ndim == 2 else 3), max(1, round(scale))
    cv2.putText(pixels, text, origin, cv2.FONT_HERSHEY_SIMPLEX, scale, color, thickness, cv2.LINE_AA)
    return Frame.from_numpy(pixels)
