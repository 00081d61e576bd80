"""Image quality metrics, on the host in double precision (spec 14).

Planes are (H, W) of any unsigned dtype, images (H, W, 3) uint8 BGR. Noise raises the entropy, so never judge
an image by its entropy alone.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.errors import FrameError

Array = NDArray[Any]
Floats = NDArray[np.float64]

WINDOW_PX = 7
SAMPLES = 50
STILL_BLOCK_PX = 8
MIN_CHROMA = 10.0

TO_XYZ = np.array(
    [[0.180423, 0.357580, 0.412453], [0.072169, 0.715160, 0.212671], [0.950227, 0.119193, 0.019334]]
)
"""Columns: linear blue, green and red of sRGB."""
WHITE = np.array([0.95047, 1.0, 1.08883])  # D65


def psnr(one: Array, other: Array, top: int = 255) -> float:
    """Return the PSNR in dB of two planes or images; inf for identical ones. Raises FrameError."""
    _check_same(one, other)
    error = np.mean((one.astype(np.float64) - other) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(top**2 / error))


def ssim(one: Array, other: Array, top: int = 255) -> float | None:
    """Return the SSIM of two planes, with uniform windows of 7x7; None if a side is below 7 pixels.

    Raises FrameError for different shapes.
    """
    _check_same(one, other)
    if min(one.shape[:2]) < WINDOW_PX:
        return None
    x, y = one.astype(np.int64), other.astype(np.int64)
    count = WINDOW_PX**2
    mean_x, mean_y = _window_sums(x) / count, _window_sums(y) / count
    unbiased = count / (count - 1)
    var_x, var_y, covariance = (
        unbiased * (_window_sums(a * b) / count - mean_a * mean_b)
        for a, b, mean_a, mean_b in (
            (x, x, mean_x, mean_x),
            (y, y, mean_y, mean_y),
            (x, y, mean_x, mean_y),
        )
    )
    c1, c2 = (0.01 * top) ** 2, (0.03 * top) ** 2
    above = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    below = (mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2)
    return float(np.mean(above / below))


def entropy(plane: Array) -> float:
    """Return the Shannon entropy of the levels of a plane, in bits."""
    counts = np.bincount(plane.ravel())
    shares = counts[counts > 0] / plane.size
    return float(-(shares * np.log2(shares)).sum())


def brightness_error(before: Array, after: Array) -> float:
    """Return the AMBE: the absolute difference of the mean levels."""
    return float(abs(before.mean(dtype=np.float64) - after.mean(dtype=np.float64)))


def lightness_order_error(before: Array, after: Array) -> float:
    """Return the LOE: the mean number of samples whose order relative to a sample has changed.

    The samples are the largest channel at 50x50 positions.

    before, after : (H, W) planes or (H, W, 3) images of the same size

    Raises FrameError.
    """
    _check_same(before, after)
    changed = _order(_sampled(before)) != _order(_sampled(after))
    return float(changed.sum(axis=1).mean())


def hue_error(before: Array, after: Array) -> float | None:
    """Return the mean change of the CIELAB hue in degrees, of pixels with a chroma above 10 in both images.

    before, after : (H, W, 3) uint8 BGR

    Returns None without such pixels. Raises FrameError.
    """
    _check_same(before, after)
    (_, a, b), (_, other_a, other_b) = lab(before), lab(after)
    colored = (np.hypot(a, b) > MIN_CHROMA) & (np.hypot(other_a, other_b) > MIN_CHROMA)
    if not colored.any():
        return None
    change = np.degrees(np.arctan2(b, a) - np.arctan2(other_b, other_a))[colored]
    return float(np.abs((change + 180) % 360 - 180).mean())


def flicker(planes: Sequence[Array], still: NDArray[np.bool_]) -> float | None:
    """Return the mean |second difference| over time of the means of static blocks of 8x8 pixels.

    planes : (H, W) of one size, in order of time
    still : (H // 8, W // 8) bool, the blocks without motion

    Returns None with fewer than three planes or without a block.
    Raises FrameError for another shape of `still`.
    """
    if len(planes) < 3 or not still.any():
        return None
    means = np.stack([_block_means(plane) for plane in planes])
    if means.shape[1:] != still.shape:
        raise FrameError(f"expected still of shape {means.shape[1:]}, got {still.shape}")
    return float(np.abs(np.diff(means, n=2, axis=0))[:, still].mean())


def lab(image: Array) -> tuple[Floats, Floats, Floats]:
    """Return CIELAB (D65) of an sRGB image (H, W, 3) uint8 BGR: L, a and b, (H, W) each."""
    share = image / 255.0
    linear = np.where(share > 0.04045, ((share + 0.055) / 1.055) ** 2.4, share / 12.92)
    xyz = linear @ TO_XYZ.T / WHITE
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = (root[..., axis] for axis in range(3))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _check_same(one: Array, other: Array) -> None:
    if one.shape != other.shape or one.size == 0:
        raise FrameError(
            f"expected two arrays of the same size with pixels, got {one.shape} and {other.shape}"
        )


def _window_sums(plane: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the exact sums (H - 6, W - 6) of every 7x7 window."""
    total = np.pad(plane.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    w = WINDOW_PX
    sums: NDArray[np.int64] = total[w:, w:] - total[:-w, w:] - total[w:, :-w] + total[:-w, :-w]
    return sums


def _sampled(image: Array) -> Array:
    """Return the largest channel (2500,) at 50 x 50 positions."""
    levels = image if image.ndim == 2 else image.max(axis=2)
    y, x = (((2 * np.arange(SAMPLES) + 1) * side) // (2 * SAMPLES) for side in levels.shape)
    return levels[np.ix_(y, x)].ravel()


def _order(levels: Array) -> NDArray[np.bool_]:
    order: NDArray[np.bool_] = levels[:, None] >= levels[None, :]
    return order


def _block_means(plane: Array) -> Floats:
    rows, columns = (side // STILL_BLOCK_PX for side in plane.shape)
    blocks = plane[: rows * STILL_BLOCK_PX, : columns * STILL_BLOCK_PX]
    means: Floats = blocks.reshape(rows, STILL_BLOCK_PX, columns, STILL_BLOCK_PX).mean(
        axis=(1, 3), dtype=np.float64
    )
    return means
