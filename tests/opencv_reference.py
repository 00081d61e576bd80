"""Reference results of OpenCV, in the shapes that the lanes use."""

import cv2
import numpy as np
from numpy.typing import NDArray

from lumaflow import Mode


def tone_mapped(
    luma: NDArray[np.uint8], mode: Mode, clip: float = 2.0, tiles: tuple[int, int] = (8, 8)
) -> NDArray[np.uint8]:
    """Return `luma` enhanced with its own LUT."""
    if mode is Mode.EQUALIZE:
        return cv2.equalizeHist(luma)
    return cv2.createCLAHE(clip, tiles if mode is Mode.CLAHE else (1, 1)).apply(luma)


def hog_blocks(luma: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the HOG of a plane of at least 16x16 pixels, as (blocks_y, blocks_x, 36)."""
    size = tuple((side - 16) // 8 * 8 + 16 for side in luma.shape[::-1])
    hog = cv2.HOGDescriptor(size, (16, 16), (8, 8), (8, 8), 9, 1, -1, 0, 0.2, True, 64, False)
    flat = hog.compute(luma, winStride=size, padding=(0, 0))
    return flat.reshape(size[0] // 8 - 1, size[1] // 8 - 1, 36).transpose(1, 0, 2)
