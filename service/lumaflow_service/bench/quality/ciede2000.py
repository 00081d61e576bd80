"""CIEDE2000 of two images, vectorized in float64 (CIE 142-2001)."""

import numpy as np

from lumaflow.quality import Floats, lab
from lumaflow_service.bench.quality.model import BgrImage

CHROMA_25 = 25.0**7


def ciede2000(one: BgrImage, other: BgrImage) -> float:
    """Mean CIEDE2000 (kL = kC = kH = 1) of two images of the same size, as sRGB with D65."""
    return float(color_difference(np.stack(lab(one)), np.stack(lab(other))).mean())


def color_difference(first: Floats, second: Floats) -> Floats:
    """CIEDE2000 of CIELAB values. first, second : (3, ...) L, a, b. Returns (...)."""
    scale = _scale_of_a(first, second)
    l1, c1, h1 = _polar(first, scale)
    l2, c2, h2 = _polar(second, scale)
    turn = (h2 - h1 + 180) % 360 - 180
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn) / 2)
    lightness, chroma, mean_hue = (l1 + l2) / 2, (c1 + c2) / 2, _mean_hue(h1, h2, c1 * c2)
    weight_l = 1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2)
    weight_h = 1 + 0.015 * chroma * _hue_weight(mean_hue)
    terms = (l2 - l1) / weight_l, (c2 - c1) / (1 + 0.045 * chroma), np.where(c1 * c2 == 0, 0, hue) / weight_h
    total = sum(term**2 for term in terms) + _rotation(chroma, mean_hue) * terms[1] * terms[2]
    difference: Floats = np.sqrt(np.maximum(total, 0))
    return difference


def _scale_of_a(first: Floats, second: Floats) -> Floats:
    """Factor of `a`, above 1 near gray."""
    chroma = (np.hypot(first[1], first[2]) + np.hypot(second[1], second[2])) / 2
    scale: Floats = 1.5 - 0.5 * np.sqrt(chroma**7 / (chroma**7 + CHROMA_25))
    return scale


def _polar(values: Floats, scale: Floats) -> tuple[Floats, Floats, Floats]:
    """Lightness, chroma, and hue in degrees from 0 to 360."""
    a = values[1] * scale
    return values[0], np.hypot(a, values[2]), np.degrees(np.arctan2(values[2], a)) % 360


def _mean_hue(h1: Floats, h2: Floats, product: Floats) -> Floats:
    total = h1 + h2
    wraps = np.abs(h1 - h2) > 180
    mean = np.where(wraps, np.where(total < 360, total + 360, total - 360), total) / 2
    return np.where(product == 0, total, mean)


def _hue_weight(hue: Floats) -> Floats:
    terms = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    weight = np.ones_like(hue)
    for amplitude, multiple, phase in terms:
        weight = weight + amplitude * np.cos(np.radians(multiple * hue + phase))
    return weight


def _rotation(chroma: Floats, hue: Floats) -> Floats:
    """Factor of the product of chroma and hue, for blue colours."""
    angle = 60 * np.exp(-(((hue - 275) / 25) ** 2))
    strength = 2 * np.sqrt(chroma**7 / (chroma**7 + CHROMA_25))
    rotation: Floats = -np.sin(np.radians(angle)) * strength
    return rotation
