"""Which pixels of a turned frame are counted, which are mapped, and which stay as they are."""

from lumaflow.geometry import Geometry
from lumaflow.options import Region

Rect = tuple[int, int, int, int]
"""left, top, right, bottom."""


def histogram_rect(geometry: Geometry, region: Region | None) -> Rect:
    """The region, or the whole frame."""
    if region is None:
        return 0, 0, geometry.width, geometry.height
    return region.x, region.y, region.x + region.width, region.y + region.height


def mapped_rect(geometry: Geometry, region: Region | None) -> Rect:
    """The whole frame, or a region that is mapped alone."""
    return histogram_rect(geometry, None if region is None or region.apply_to_whole_frame else region)


def outside_rects(geometry: Geometry, window: Rect) -> list[Rect]:
    """What of the frame lies above, below, left and right of `window`; empty ones are left out."""
    left, top, right, bottom = window
    width, height = geometry.width, geometry.height
    beside = [
        (0, 0, width, top),
        (0, bottom, width, height),
        (0, top, left, bottom),
        (right, top, width, bottom),
    ]
    return [(a, b, c, d) for a, b, c, d in beside if a < c and b < d]
