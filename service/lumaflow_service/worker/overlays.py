"""Features as PNG overlays of a frame. Pure functions, for any thread."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow_service.config.options import Feature
from lumaflow_service.media.codec import encode_png
from lumaflow_service.media.codec.opencv import cv2

Bytes = NDArray[np.uint8]

TILE_PX = 16
MAX_DEVIATION = 127.5
"""The largest standard deviation of uint8 values: half of them 0, half 255."""
DIRECTIONS = 9
MAX_GLYPHS = 64
"""Maximum of HOG glyphs along a side; more are not distinguishable on a screen."""
GLYPH_PX = 17
LINE_BGR = (97, 200, 255)
"""The colour of enhanced content on the web page."""


def heatmap_png(deviation: NDArray[Any]) -> bytes:
    """The standard deviation of each tile as false colour, 16 x 16 pixels a tile; bright is high."""
    return _apply_colormap(deviation * (255.0 / MAX_DEVIATION), cv2.COLORMAP_INFERNO)


def lbp_png(cells: NDArray[Any]) -> bytes:
    """The entropy of the LBP histogram of each cell, (H, W, labels) counts, as false colour."""
    counts = cells.astype(np.float64)
    shares = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)
    entropy = -(shares * np.log2(np.maximum(shares, 1e-9))).sum(axis=2)
    return _apply_colormap(entropy * (255.0 / np.log2(counts.shape[2])), cv2.COLORMAP_VIRIDIS)


def hog_png(hog: NDArray[Any]) -> bytes:
    """HOG glyphs as BGRA: lines along the edge directions of each block, (H, W, 9) or (H, W, 36) votes.

    The mean over all directions is noise and is subtracted. Adjacent blocks share a glyph when there are more
    than MAX_GLYPHS along a side.
    """
    votes = _sum_pool(hog.reshape(*hog.shape[:2], -1, DIRECTIONS).sum(axis=2, dtype=np.float32))
    votes -= votes.mean(axis=2, keepdims=True)
    strength = votes / max(float(np.percentile(votes, 99)), 1e-6)
    drawn = np.einsum("yxd,dij->yixj", strength.clip(0, 1), _line_glyphs()).clip(0, 1)
    rows, columns = votes.shape[:2]
    image = np.empty((rows * GLYPH_PX, columns * GLYPH_PX, 4), np.uint8)
    image[..., :3] = LINE_BGR
    image[..., 3] = np.rint(drawn.reshape(image.shape[:2]) * 255)
    return encode_png(image)


OVERLAYS: dict[Feature, Callable[[NDArray[Any]], bytes]] = {
    Feature.HEATMAP: heatmap_png,
    Feature.HOG: hog_png,
    Feature.LBP: lbp_png,
}
"""The overlay function of each feature, for its first array."""


def _apply_colormap(levels: NDArray[np.float64], colormap: int) -> bytes:
    tiles = np.rint(levels).clip(0, 255).astype(np.uint8)
    enlarged = tiles.repeat(TILE_PX, axis=0).repeat(TILE_PX, axis=1)
    return encode_png(np.asarray(cv2.applyColorMap(enlarged, colormap), np.uint8))


def _sum_pool(votes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sum the votes over squares of blocks, so that at most MAX_GLYPHS remain along a side."""
    side = -(-max(votes.shape[:2]) // MAX_GLYPHS)
    rows, columns = (-(-size // side) for size in votes.shape[:2])
    padded = np.zeros((rows * side, columns * side, DIRECTIONS), np.float32)
    padded[: votes.shape[0], : votes.shape[1]] = votes
    return np.asarray(padded.reshape(rows, side, columns, side, DIRECTIONS).sum(axis=(1, 3)), np.float32)


@cache
def _line_glyphs() -> NDArray[np.float32]:
    """(9, GLYPH_PX, GLYPH_PX): for each bin a centred line along the edge, perpendicular to the gradient."""
    centre, radius = (GLYPH_PX - 1) / 2, GLYPH_PX / 2 - 1
    glyphs = np.zeros((DIRECTIONS, GLYPH_PX, GLYPH_PX), np.uint8)
    for number, glyph in enumerate(glyphs):
        angle = np.pi * (number + 0.5) / DIRECTIONS + np.pi / 2
        step = radius * np.array([np.cos(angle), np.sin(angle)])
        ends = np.rint((np.array([centre, centre]) + [[-1], [1]] * step) * 16).astype(int)
        cv2.line(glyph, ends[0].tolist(), ends[1].tolist(), 255, 1, cv2.LINE_AA, 4)
    return np.asarray(glyphs / np.float32(255), np.float32)
