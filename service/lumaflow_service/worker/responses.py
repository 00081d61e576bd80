"""The arrays and the histogram of a response. Pure functions, for any thread."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.formats import Chroma, Family
from lumaflow.frame import Frame
from lumaflow.options import ColorMode
from lumaflow_service.config.options import Feature
from lumaflow_service.media.codec.opencv import cv2
from lumaflow_service.worker.lanes import Arrays

FEATURE_ARRAYS = {
    Feature.HOG: ("hog",),
    Feature.LBP: ("lbp",),
    Feature.HISTOGRAM: ("bins", "lut"),
    Feature.HEATMAP: ("heatmap_deviation", "heatmap_distance"),
}
"""The names of each feature's arrays in an npz."""


def select_features(arrays: Arrays, features: list[str] | None) -> Arrays:
    """Copies of the arrays of these features; of all features when None."""
    selected = list(Feature) if features is None else [Feature(name) for name in features]
    return {
        name: arrays[name].copy()
        for feature in selected
        for name in FEATURE_ARRAYS[feature]
        if name in arrays
    }


def named_planes(frame: Frame) -> Arrays:
    """The planes of an enhanced frame by their names in an npz file."""
    chroma = {
        Chroma.SEMI_PLANAR: ("enhanced_chroma",),
        Chroma.PLANAR: ("enhanced_cb", "enhanced_cr"),
    }.get(frame.pixel_format.layout.chroma, ())
    return dict(zip(("enhanced", *chroma), frame.planes, strict=True))


def equalized_plane(frame: Frame, color: ColorMode) -> NDArray[np.uint8]:
    """The plane, shape (H, W), whose histogram this colour mode equalizes; the upper 8 bits of each value."""
    geometry, layout = frame.geometry, frame.pixel_format.layout
    if layout.family is not Family.RGB:
        plane = frame.pixels[..., layout.luma] if layout.channels > 1 else frame.pixels
        return np.asarray(plane[:, : geometry.width] >> (geometry.shift + layout.bits - 8), np.uint8)
    if color == ColorMode.LUMA:
        code = cv2.COLOR_BGR2YCrCb if layout.blue == 0 else cv2.COLOR_RGB2YCrCb
        return np.asarray(cv2.cvtColor(frame.pixels[..., :3], code)[:, :, 0], np.uint8)
    first, second, third = cv2.split(frame.pixels)[:3]
    return np.asarray(cv2.max(cv2.max(first, second), third), np.uint8)


def histogram_json(fields: dict[str, Any], arrays: Arrays, enhanced: Frame, color: ColorMode) -> bytes:
    """Histograms before and after enhancement, and the LUT (mean over all tiles), of the last frame.

    They have 256 bins for every bit depth: deeper values are counted by their upper 8 bits.
    """
    after = np.bincount(equalized_plane(enhanced, color).ravel(), minlength=256)
    mapping = arrays["lut"].reshape(-1, arrays["lut"].shape[-1]).mean(axis=0)
    if arrays["lut"].dtype != np.uint8:
        mapping *= 255 / (mapping.size - 1)
    histograms = {
        "sequence": fields["sequence"],
        "lut": fields["lut"],
        "before": arrays["bins"].reshape(256, -1).sum(axis=1).tolist(),
        "after": after.tolist(),
        "mapping": mapping.reshape(256, -1).mean(axis=1).round(2).tolist(),
    }
    return json.dumps(histograms, separators=(",", ":")).encode()
