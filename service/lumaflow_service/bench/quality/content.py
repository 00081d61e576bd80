"""Classifies the content of an image by simple statistics: hazy, or a chart of flat colours."""

import cv2
import numpy as np
from numpy.typing import NDArray

from lumaflow_service.bench.quality.model import BgrImage

SIDE_PX = 480
DARK_WINDOW = np.ones((41, 41), np.uint8)
TEXTURE = 8
"""Minimum difference in levels between the brightest and the darkest of 5x5 pixels with texture."""
HAZE = 0.30
"""Minimum dark channel of a hazy image where it has texture, relative to the airlight."""
MIN_AIRLIGHT = 170
MAX_CLIPPED_SHARE = 0.1
MIN_TEXTURED_SHARE = 0.005
FLAT_DEVIATION = 3.0
MIN_FLAT_SHARE, MIN_HUES = 0.5, 5


def is_hazy(image: BgrImage) -> bool:
    """True when the dark channel is high where there is texture, below a bright sky without clipping."""
    small = _shrink(image)
    lowest, luma = small.min(axis=2), cv2.cvtColor(small, cv2.COLOR_BGR2GRAY)
    dark = cv2.erode(lowest, DARK_WINDOW)
    airlight = max(float(np.quantile(luma, 0.9)), float(np.quantile(dark, 0.99)))
    window = np.ones((5, 5), np.uint8)
    textured = cv2.subtract(cv2.dilate(luma, window), cv2.erode(luma, window)) >= TEXTURE
    clipped_share = (lowest >= 250).mean()
    if airlight < MIN_AIRLIGHT or clipped_share > MAX_CLIPPED_SHARE or textured.mean() < MIN_TEXTURED_SHARE:
        return False
    return bool(dark[textured].mean() > HAZE * airlight)


def is_chart(image: BgrImage) -> bool:
    """True when half of the 8x8 blocks are flat, and their saturated colours have many hues."""
    small = _shrink(image)
    rows, columns = small.shape[0] // 8, small.shape[1] // 8
    blocks = small[: rows * 8, : columns * 8].reshape(rows, 8, columns, 8, 3)
    flat = blocks.std(axis=(1, 3)).max(axis=2) < FLAT_DEVIATION
    if flat.mean() < MIN_FLAT_SHARE:
        return False
    return _count_hues(blocks.mean(axis=(1, 3))[flat]) >= MIN_HUES


def _count_hues(colors: NDArray[np.float64]) -> int:
    """Number of the 12 hue bins that hold at least 1 % of the colours (n, 3), saturated ones only."""
    hsv = cv2.cvtColor(colors[None].astype(np.float32) / 255, cv2.COLOR_BGR2HSV)[0]
    hues = hsv[(hsv[:, 1] > 0.4) & (hsv[:, 2] > 0.3), 0]
    counts, _ = np.histogram(hues, bins=12, range=(0, 360))
    return int((counts >= max(1, len(colors) // 100)).sum())


def _shrink(image: BgrImage) -> BgrImage:
    scale = SIDE_PX / max(image.shape[:2])
    if scale >= 1:
        return image
    return cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)  # type: ignore[return-value]
