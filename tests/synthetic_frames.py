"""Synthetic frames of any geometry."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lumaflow import Frame, Geometry, Mode
from synthetic_images import gray_image

PLAIN_MODES = [mode for mode in Mode if not mode.adaptive]
"""The modes that map with LUTs of the histogram alone."""


def synthetic_frame(rng: np.random.Generator, geometry: Geometry, kind: int) -> Frame:
    """Return a frame with a synthetic image of this kind in every plane, at full bit depth."""
    layout, frame = geometry.layout, Frame.empty(geometry)
    for number, plane in enumerate(frame.planes):
        channels = plane.shape[2] if plane.ndim == 3 else 1
        parts = [gray_image(rng, plane.shape[:2], kind + number + part) for part in range(channels)]
        levels = np.stack(parts, axis=2).astype(np.int64).reshape(plane.shape) << (layout.bits - 8)
        # Noise in the bits below the 8 of the image, except for a constant image.
        noise = rng.integers(0, 1 << (layout.bits - 8), plane.shape) if kind % 6 else 0
        plane[...] = (levels | noise) << geometry.shift
    return frame


def pitched(frame: Frame, padding: int = 5) -> Frame:
    """Copy a frame to rows with padding between them."""
    return replace(
        frame,
        pixels=_in_sheet(frame.pixels, padding),
        chroma=tuple(_in_sheet(p, padding) for p in frame.chroma),
    )


def copy_frame(frame: Frame) -> Frame:
    """Copy a frame."""
    return replace(frame, pixels=frame.pixels.copy(), chroma=tuple(plane.copy() for plane in frame.chroma))


def _in_sheet(plane: NDArray[np.generic], padding: int) -> NDArray[np.generic]:
    height, width = plane.shape[:2]
    sheet = np.full((height + 2, width + 2 * padding, *plane.shape[2:]), 77, plane.dtype)
    sheet[1:-1, padding : padding + width] = plane
    return sheet[1:-1, padding : padding + width]
