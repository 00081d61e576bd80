"""What a viewer sees of a frame, as JPEG. Pure; run by any thread."""

import numpy as np
from numpy.typing import NDArray

from lumaflow.frame import Frame
from lumaflow.options import Orientation
from lumaflow_service.ipc.messages import View
from lumaflow_service.media.codec import EXIF, displayed, encode_jpeg, encode_planes, jpeg_planes, turned
from lumaflow_service.media.codec.opencv import cv2

THUMBNAIL_PX = 384


def encoded(
    view: View, raw: Frame | None, enhanced: Frame | None, orientation: Orientation, quality: int
) -> bytes:
    """A view as JPEG, made of the frames that it needs; cameras' YUV goes into it as it is, where it can."""
    if view in (View.RAW, View.ENHANCED, View.BOTH) and orientation == Orientation.NONE:
        planes = [jpeg_planes(frame) for frame in (raw, enhanced) if frame is not None]
        whole = [one for one in planes if one is not None]
        if len(whole) == len(planes):
            luma, blue, red = (np.concatenate(parts) for parts in zip(*whole, strict=True))
            return encode_planes(luma, blue, red, quality)
    return encode_jpeg(viewed(view, raw, enhanced, orientation), quality)


def viewed(
    view: View, raw: Frame | None, enhanced: Frame | None, orientation: Orientation
) -> NDArray[np.uint8]:
    """What a viewer sees of the frames that this view needs.

    The raw frame is turned as the enhanced one was, so that both can be compared.
    """
    before = None if raw is None else turned(displayed(raw), EXIF[orientation])
    after = None if enhanced is None else displayed(enhanced)
    if before is None or after is None:
        shown = np.asarray(before if after is None else after, np.uint8)
        return small(shown) if view == View.THUMBNAIL else shown
    if view == View.BOTH:
        return np.concatenate((before, after))
    middle = after.shape[1] // 2
    return np.concatenate((before[:, :middle], after[:, middle:]), axis=1)


def small(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture at most THUMBNAIL_PX wide and high."""
    height, width = pixels.shape[:2]
    scale = THUMBNAIL_PX / max(height, width)
    if scale >= 1:
        return pixels
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
