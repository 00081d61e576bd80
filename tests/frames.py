"""Frames of any geometry, made by code."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lumaflow import Frame, Geometry
from pictures import picture


def frame_of(rng: np.random.Generator, geometry: Geometry, kind: int) -> Frame:
    """A frame of this geometry whose first plane is a picture of that kind, at the full depth."""
    layout, frame = geometry.layout, Frame.empty(geometry)
    for number, plane in enumerate(frame.planes):
        channels = plane.shape[2] if plane.ndim == 3 else 1
        parts = [picture(rng, plane.shape[:2], kind + number + part) for part in range(channels)]
        levels = np.stack(parts, axis=2).astype(np.int64).reshape(plane.shape) << (layout.bits - 8)
        # Below the 8 bits of the picture: noise, but not where it is constant.
        noise = rng.integers(0, 1 << (layout.bits - 8), plane.shape) if kind % 6 else 0
        plane[...] = (levels | noise) << geometry.shift
    return frame


def pitched(frame: Frame, beside: int = 5) -> Frame:
    """The same frame in rows with something between them."""
    return replace(
        frame,
        pixels=_in_sheet(frame.pixels, beside),
        chroma=tuple(_in_sheet(p, beside) for p in frame.chroma),
    )


def copied(frame: Frame) -> Frame:
    """The same frame in memory of its own."""
    return replace(frame, pixels=frame.pixels.copy(), chroma=tuple(plane.copy() for plane in frame.chroma))


def _in_sheet(plane: NDArray[np.generic], beside: int) -> NDArray[np.generic]:
    height, width = plane.shape[:2]
    sheet = np.full((height + 2, width + 2 * beside, *plane.shape[2:]), 77, plane.dtype)
    sheet[1:-1, beside : beside + width] = plane
    return sheet[1:-1, beside : beside + width]
