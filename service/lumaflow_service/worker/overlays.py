"""Features as pictures to lay over a frame. Pure; run by any thread."""

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
LARGEST_DEVIATION = 127.5
"""Standard deviation of grey values half 0, half 255: no tile has more."""
DIRECTIONS = 9
MOST_GLYPHS = 64
"""Most HOG glyphs along a side: more cannot be told apart on a screen."""
GLYPH_PX = 17
STROKE_BGR = (97, 200, 255)
"""The page's colour for what is enhanced."""


def heatmap_png(deviation: NDArray[Any]) -> bytes:
    """Contrast of each tile in false colour, 16 pixels a tile: dark is flat, bright has contrast."""
    return _in_color(deviation * (255.0 / LARGEST_DEVIATION), cv2.COLORMAP_INFERNO)


def lbp_png(cells: NDArray[Any]) -> bytes:
    """Variety of the patterns of each cell, (H, W, labels) counts: their entropy in false colour."""
    counts = cells.astype(np.float64)
    shares = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)
    entropy = -(shares * np.log2(np.maximum(shares, 1e-9))).sum(axis=2)
    return _in_color(entropy * (255.0 / np.log2(counts.shape[2])), cv2.COLORMAP_VIRIDIS)


def hog_png(hog: NDArray[Any]) -> bytes:
    """Strokes along the edges of each place, (H, W, 9) or (H, W, 36) votes: BGRA, clear where there are none.

    What all directions have in common is noise and left out. Neighbouring places share a glyph when there
    are more than MOST_GLYPHS along a side.
    """
    votes = _gathered(hog.reshape(*hog.shape[:2], -1, DIRECTIONS).sum(axis=2, dtype=np.float32))
    votes -= votes.mean(axis=2, keepdims=True)
    strength = votes / max(float(np.percentile(votes, 99)), 1e-6)
    drawn = np.einsum("yxd,dij->yixj", strength.clip(0, 1), _strokes()).clip(0, 1)
    rows, columns = votes.shape[:2]
    sheet = np.empty((rows * GLYPH_PX, columns * GLYPH_PX, 4), np.uint8)
    sheet[..., :3] = STROKE_BGR
    sheet[..., 3] = np.rint(drawn.reshape(sheet.shape[:2]) * 255)
    return encode_png(sheet)


OVERLAYS: dict[Feature, Callable[[NDArray[Any]], bytes]] = {
    Feature.HEATMAP: heatmap_png,
    Feature.HOG: hog_png,
    Feature.LBP: lbp_png,
}
"""What draws the first array of each feature that can be laid over a picture."""


def _in_color(levels: NDArray[np.float64], palette: int) -> bytes:
    tiles = np.rint(levels).clip(0, 255).astype(np.uint8)
    large = tiles.repeat(TILE_PX, axis=0).repeat(TILE_PX, axis=1)
    return encode_png(np.asarray(cv2.applyColorMap(large, palette), np.uint8))


def _gathered(votes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sums over squares of places, so that at most MOST_GLYPHS are left along a side."""
    side = -(-max(votes.shape[:2]) // MOST_GLYPHS)
    rows, columns = (-(-size // side) for size in votes.shape[:2])
    whole = np.zeros((rows * side, columns * side, DIRECTIONS), np.float32)
    whole[: votes.shape[0], : votes.shape[1]] = votes
    return np.asarray(whole.reshape(rows, side, columns, side, DIRECTIONS).sum(axis=(1, 3)), np.float32)


@cache
def _strokes() -> NDArray[np.float32]:
    """(9, GLYPH_PX, GLYPH_PX): a line through the middle for each bin, along the edge, not its gradient."""
    middle, reach = (GLYPH_PX - 1) / 2, GLYPH_PX / 2 - 1
    glyphs = np.zeros((DIRECTIONS, GLYPH_PX, GLYPH_PX), np.uint8)
    for number, glyph in enumerate(glyphs):
        angle = np.pi * (number + 0.5) / DIRECTIONS + np.pi / 2
        step = reach * np.array([np.cos(angle), np.sin(angle)])
        ends = np.rint((np.array([middle, middle]) + [[-1], [1]] * step) * 16).astype(int)
        cv2.line(glyph, ends[0].tolist(), ends[1].tolist(), 255, 1, cv2.LINE_AA, 4)
    return np.asarray(glyphs / np.float32(255), np.float32)
