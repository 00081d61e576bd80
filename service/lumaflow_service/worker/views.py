"""Renders views of a frame as JPEG. Pure functions, for any thread."""

import numpy as np
from numpy.typing import NDArray

from lumaflow.frame import Frame
from lumaflow.options import Orientation
from lumaflow_service.ipc.messages import View
from lumaflow_service.media.codec import (
    EXIF_NUMBERS,
    display_pixels,
    encode_jpeg,
    encode_jpeg_planes,
    exif_transpose,
    jpeg_planes,
)
from lumaflow_service.media.codec.opencv import cv2

THUMBNAIL_PX = 384


def encode_view(
    view: View, raw: Frame | None, enhanced: Frame | None, orientation: Orientation, quality: int
) -> bytes:
    """A view as JPEG, from the frames that it needs. YUV planes are encoded directly where possible."""
    if view in (View.RAW, View.ENHANCED, View.BOTH) and orientation == Orientation.NONE:
        planes = [jpeg_planes(frame) for frame in (raw, enhanced) if frame is not None]
        ycbcr = [ycc for ycc in planes if ycc is not None]
        if len(ycbcr) == len(planes):
            y, cb, cr = (np.concatenate(parts) for parts in zip(*ycbcr, strict=True))
            return encode_jpeg_planes(y, cb, cr, quality)
    return encode_jpeg(render_view(view, raw, enhanced, orientation), quality)


def render_view(
    view: View, raw: Frame | None, enhanced: Frame | None, orientation: Orientation
) -> NDArray[np.uint8]:
    """The pixels of a view, from the frames that it needs: gray or BGR, uint8.

    The raw frame gets the orientation of the enhanced one, so they can be compared.
    """
    before = None if raw is None else exif_transpose(display_pixels(raw), EXIF_NUMBERS[orientation])
    after = None if enhanced is None else display_pixels(enhanced)
    if before is None or after is None:
        pixels = np.asarray(before if after is None else after, np.uint8)
        return thumbnail(pixels) if view == View.THUMBNAIL else pixels
    if view == View.BOTH:
        return np.concatenate((before, after))
    middle = after.shape[1] // 2
    return np.concatenate((before[:, :middle], after[:, middle:]), axis=1)


def thumbnail(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The image scaled down to at most THUMBNAIL_PX wide and high."""
    height, width = pixels.shape[:2]
    scale = THUMBNAIL_PX / max(height, width)
    if scale >= 1:
        return pixels
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
