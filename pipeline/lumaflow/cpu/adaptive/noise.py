"""Noise of a frame from the Laplacian energies of its blocks (spec 16.3)."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Counts = NDArray[np.int64]


@njit(nogil=True, cache=True)
def estimate_noise(energies: Counts) -> tuple[int, int]:
    """Return the noise at level 0 and its rise up to level 255, in 1/128 level.

    energies : (16, 256) int64, blocks by mean level // 16 and energy // 16
    """
    blocks = energies.sum()
    if blocks < 8:
        return 0, 0
    split, below = 0, np.int64(0)
    for band in range(16):
        split = band
        below += energies[band].sum()
        if 2 * below >= blocks:
            break
    dark, bright = np.zeros(256, np.int64), np.zeros(256, np.int64)
    dark_level, bright_level = np.int64(0), np.int64(0)
    for band in range(16):
        count = energies[band].sum()
        if band <= split:
            dark += energies[band]
            dark_level += count * (16 * band + 8)
        else:
            bright += energies[band]
            bright_level += count * (16 * band + 8)
    dark_noise, bright_noise = _noise_of(dark), _noise_of(bright)
    if bright.sum() < 8 or bright_noise <= dark_noise:
        return min(dark_noise, 1024), 0
    dark_level = dark_level // max(dark.sum(), 1)
    bright_level = bright_level // bright.sum()
    slope = min((bright_noise - dark_noise) * 255 // max(bright_level - dark_level, 16), 1024)
    return min(max(dark_noise - slope * dark_level // 255, dark_noise // 2), 1024), slope


@njit(nogil=True)
def _noise_of(counts: Counts) -> int:
    """Return the noise at the 20th percentile of the energies; 0 for fewer than 8 blocks.

    sigma = energy / 64 / 6 * sqrt(pi / 2), times 1.08 for the percentile: 29/64 in 1/128 level.
    """
    blocks = counts.sum()
    if blocks < 8:
        return 0
    below, energy = np.int64(0), 0
    for bin_index in range(256):
        energy = bin_index
        below += counts[bin_index]
        if 5 * below >= blocks:
            break
    return (16 * energy + 8) * 29 // 64
