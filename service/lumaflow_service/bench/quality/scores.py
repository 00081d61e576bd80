"""The scores of an enhanced image or clip: those of `lumaflow.quality`, CIEDE2000, noise gain and halo.

Noise gain, halo and flicker are measured on the luma (spec 9) for every method.
"""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from lumaflow.quality import Floats, brightness_error, flicker, hue_error, lightness_order_error, psnr, ssim
from lumaflow_service.bench.quality.ciede2000 import ciede2000
from lumaflow_service.bench.quality.model import BgrImage

Plane = NDArray[np.uint8]
Scores = dict[str, float | None]

PATCH_PX = 16
FLAT_SHARE = 0.1
"""Share of the patches that count as flat."""
MIN_NOISE = 0.3
"""Levels; about the noise of rounding to 8 bits."""
MIN_EDGE = 48.0
"""Levels between the sides of a strong edge."""
MAX_SLOPE = 4.0
"""Levels by which a side of a strong edge may rise or fall in the input."""
NEAR_PX = 4
MIN_EDGES = 50
MIN_FLICKER = 0.1
"""Levels; a generated clip can have none."""
MAX_STILL_RANGE = 6.0
"""Levels by which the mean of a static block may vary in the input."""
NOISE_KERNEL = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float64) / 6


def luma_of(image: BgrImage) -> Plane:
    """(H, W) luma of spec 9."""
    return cv2.cvtColor(image, cv2.COLOR_BGR2YCrCb)[:, :, 0]  # type: ignore[return-value]


def measure(before: BgrImage, after: BgrImage, reference: BgrImage | None) -> Scores:
    """Scores of one image, relative to the reference, or to the input without one."""
    ideal = before if reference is None else reference
    ideal_luma, result, source = luma_of(ideal), luma_of(after), luma_of(before)
    return {
        "psnr": psnr(ideal_luma, result),
        "ssim": ssim(ideal_luma, result),
        "ciede2000": ciede2000(ideal, after),
        "loe": lightness_order_error(ideal, after),
        "ambe": brightness_error(ideal_luma, result),
        "hue": hue_error(ideal, after),
        "noise_gain": noise_gain(source, result),
        "halo": halo(source, result),
        "mean": float(result.mean()),
    }


def measure_clip(before: Sequence[BgrImage], after: Sequence[BgrImage]) -> Scores:
    """Scores of a clip: those of its middle frame, its flicker in levels, and relative to the input."""
    middle = len(before) // 2
    sources, results = [luma_of(frame) for frame in before], [luma_of(frame) for frame in after]
    still = still_blocks(sources)
    raw, enhanced = flicker(sources, still), flicker(results, still)
    ratio = None if enhanced is None or raw is None else max(enhanced, MIN_FLICKER) / max(raw, MIN_FLICKER)
    return measure(before[middle], after[middle], None) | {"flicker": enhanced, "flicker_ratio": ratio}


def noise_gain(before: Plane, after: Plane) -> float | None:
    """Noise on flat patches relative to the input; None without patches of 16x16 pixels.

    The flat patches are the 10 % whose 4x4 means differ least in the input, without black and clipped ones.
    The noise of a patch is its standard deviation under the mask (1 -2 1)^T (1 -2 1) / 6, at least .3 levels
    (the noise of rounding to 8 bits).
    """
    flat = _flat_patches(before)
    if not flat.any():
        return None
    raw, enhanced = (max(_noise(plane)[flat].mean(), MIN_NOISE) for plane in (before, after))
    return float(enhanced / raw)


def halo(before: Plane, after: Plane) -> float | None:
    """Overshoot in levels beside strong edges, along rows and columns; None with fewer than 50 edges.

    A strong edge has at least 48 levels between the pixels 4 px before and 4 px after it, and sides that are
    flat in the input (within 4 levels) up to 1/24 of the longer side. The overshoot of a side is the
    difference of its near end from its far end, away from the other side; that of the input is subtracted.
    """
    overshoots = [_overshoots(before, after), _overshoots(before.T, after.T)]
    values = np.concatenate(overshoots)
    return float(values.mean()) if values.size >= MIN_EDGES else None


def still_blocks(planes: Sequence[Plane]) -> NDArray[np.bool_]:
    """(H // 8, W // 8) bool: blocks of 8x8 pixels whose mean varies by less than 6 levels in the clip."""
    means = np.stack([_means(plane.astype(np.float64), 8) for plane in planes])
    still: NDArray[np.bool_] = np.ptp(means, axis=0) < MAX_STILL_RANGE
    return still


def _noise(plane: Plane) -> Floats:
    """Standard deviation in levels of every patch of 16x16 pixels under the mask."""
    masked: Floats = cv2.filter2D(plane, cv2.CV_64F, NOISE_KERNEL)  # type: ignore[assignment]
    noise: Floats = np.sqrt(_patch_means(masked**2))
    return noise


def _flat_patches(plane: Plane) -> NDArray[np.bool_]:
    coarse = _means(plane.astype(np.float64), 4)
    structure = np.sqrt(np.maximum(_means(coarse**2, PATCH_PX // 4) - _means(coarse, PATCH_PX // 4) ** 2, 0))
    levels = _patch_means(plane.astype(np.float64))
    usable: NDArray[np.bool_] = (levels > 3) & (levels < 250)
    if not usable.any():
        return usable
    flat: NDArray[np.bool_] = usable & (structure <= np.quantile(structure[usable], FLAT_SHARE))
    return flat


def _patch_means(plane: Floats) -> Floats:
    return _means(plane, PATCH_PX)


def _means(plane: Floats, side: int) -> Floats:
    """Means of whole blocks of side x side pixels; partial blocks at the right and bottom are ignored."""
    rows, columns = (length // side for length in plane.shape)
    blocks = plane[: rows * side, : columns * side].reshape(rows, side, columns, side)
    means: Floats = blocks.mean(axis=(1, 3))
    return means


def _overshoots(before: Plane, after: Plane) -> Floats:
    """(n,) overshoots beside the edges along the rows, minus those of the input."""
    far_px = max(12, max(before.shape) // 24)
    if before.shape[1] <= 2 * far_px + 1:
        return np.zeros(0)
    left_far, left, right, right_far = _along_row(before, far_px)
    strong = np.abs(right - left) >= MIN_EDGE
    flat = (np.abs(left - left_far) <= MAX_SLOPE) & (np.abs(right - right_far) <= MAX_SLOPE)
    sign = np.sign(right - left)
    raw = _side_overshoot(before, far_px, sign)
    enhanced = _side_overshoot(after, far_px, sign)
    values: Floats = (enhanced - raw)[strong & flat]
    return values


def _side_overshoot(plane: Plane, far_px: int, sign: Floats) -> Floats:
    """Mean overshoot of both sides, along the direction of the edge."""
    left_far, left, right, right_far = _along_row(plane, far_px)
    overshoot: Floats = sign * ((right - right_far) + (left_far - left)) / 2
    return overshoot


def _along_row(plane: Plane, far_px: int) -> tuple[Floats, ...]:
    """Means of 3x3 pixels far before, near before, near after and far after each pixel of the row."""
    smooth: Floats = cv2.blur(np.ascontiguousarray(plane).astype(np.float64), (3, 3))  # type: ignore[assignment]
    width = plane.shape[1]
    shifts = (-far_px, -NEAR_PX, NEAR_PX, far_px)
    return tuple(smooth[:, far_px + shift : width - far_px + shift] for shift in shifts)
