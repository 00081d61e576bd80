"""What a client gets back: pictures, npz and JSON, made from pixels and results. Pure; run by any thread."""

import json
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from pipeline.options import ColorMode
from service.codec import encode_png
from service.options import Feature
from service.worker.lanes import Arrays
from service.worker.order import Pixels

NAMES = {
    Feature.HOG: ("hog",),
    Feature.LBP: ("lbp",),
    Feature.HISTOGRAM: ("bins", "lut"),
    Feature.HEATMAP: ("heatmap_deviation", "heatmap_distance"),
}
"""The arrays of an npz that belong to each feature."""
HEATMAP_TILE_PX = 16
LARGEST_DEVIATION = 127.5
"""Standard deviation of grey values half 0, half 255: no tile has more."""


def picked(arrays: Arrays, features: list[str] | None) -> Arrays:
    """Copies of the results that belong to `features`; of all there are when that is None."""
    wanted = list(Feature) if features is None else [Feature(name) for name in features]
    return {name: arrays[name].copy() for feature in wanted for name in NAMES[feature] if name in arrays}


def luma(pixels: Pixels, color: ColorMode) -> Pixels:
    """The (H, W) plane whose histogram the source's colour mode equalises."""
    if pixels.ndim == 2:
        return pixels
    if color == ColorMode.LUMA:
        return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2YCrCb)[:, :, 0], np.uint8)
    blue, green, red = cv2.split(pixels)
    return np.asarray(cv2.max(cv2.max(blue, green), red), np.uint8)


def histogram_json(figures: dict[str, Any], arrays: Arrays, enhanced: Pixels, color: ColorMode) -> bytes:
    """Histograms before and after, and the mapping (the mean over all tiles), of the last frame."""
    after = np.bincount(luma(enhanced, color).ravel(), minlength=256)
    answer = {
        "sequence": figures["sequence"],
        "lut": figures["lut"],
        "before": arrays["bins"].tolist(),
        "after": after.tolist(),
        "mapping": arrays["lut"].reshape(-1, 256).mean(axis=0).round(2).tolist(),
    }
    return json.dumps(answer, separators=(",", ":")).encode()


def heatmap_png(deviation: NDArray[np.float64]) -> bytes:
    """Contrast of each tile in false colour, 16 pixels a tile: dark is flat, bright has contrast."""
    levels = np.rint(deviation * (255.0 / LARGEST_DEVIATION)).clip(0, 255).astype(np.uint8)
    tiles = levels.repeat(HEATMAP_TILE_PX, axis=0).repeat(HEATMAP_TILE_PX, axis=1)
    return encode_png(np.asarray(cv2.applyColorMap(tiles, cv2.COLORMAP_INFERNO), np.uint8))
