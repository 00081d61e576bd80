"""Rectangles of a frame: the pixels to count, the pixels to map, and the pixels that stay unchanged.

All are in pixels of the frame after `Options.orientation`.
"""

from lumaflow.geometry import Geometry
from lumaflow.options import Region

Rect = tuple[int, int, int, int]
"""left, top, right, bottom."""


def histogram_rect(geometry: Geometry, region: Region | None) -> Rect:
    """Return the pixels of the histogram: the region, or the whole frame."""
    if region is None:
        return 0, 0, geometry.width, geometry.height
    return region.x, region.y, region.x + region.width, region.y + region.height


def mapped_rect(geometry: Geometry, region: Region | None) -> Rect:
    """Return the pixels that the LUT is applied to."""
    return histogram_rect(geometry, None if region is None or region.apply_to_whole_frame else region)


def outside_rects(geometry: Geometry, rect: Rect) -> list[Rect]:
    """Return the parts of the frame above, below, left and right of `rect`, without empty ones."""
    left, top, right, bottom = rect
    width, height = geometry.width, geometry.height
    outside = [
        (0, 0, width, top),
        (0, bottom, width, height),
        (0, top, left, bottom),
        (right, top, width, bottom),
    ]
    return [(a, b, c, d) for a, b, c, d in outside if a < c and b < d]
