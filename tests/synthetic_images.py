"""Synthetic images: sizes and contents at which image algorithms fail."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

SIZES = (
    (1, 1), (1, 2), (2, 1), (1, 97), (97, 1), (1, 16), (16, 1), (2, 2), (3, 5), (7, 7), (8, 8), (13, 11),
    (15, 17), (16, 16), (17, 15), (23, 64), (31, 37), (32, 32), (53, 41), (61, 47), (64, 48), (67, 101),
)  # fmt: skip
"""(height, width): single pixels and lines, primes, fewer pixels than tiles, and multiples of tiles."""


def gray_images(rng: np.random.Generator, count: int = 300) -> Iterator[NDArray[np.uint8]]:
    """Yield `count` gray images (H, W) uint8 of every size and kind."""
    for number in range(count):
        yield gray_image(rng, SIZES[number % len(SIZES)], number // len(SIZES) + number)


def gray_image(rng: np.random.Generator, size: tuple[int, int], kind: int) -> NDArray[np.uint8]:
    """Return a gray image; `kind` modulo 6: constant, two levels, dark, noise, smooth, low contrast."""
    height, width = size
    match kind % 6:
        case 0:
            return np.full(size, rng.integers(256), np.uint8)
        case 1:
            return rng.choice(rng.integers(0, 256, 2, dtype=np.uint8), size)
        case 2:
            return np.minimum(rng.exponential(6.0, size), 255).astype(np.uint8)
        case 3:
            return rng.integers(0, 256, size, dtype=np.uint8)
        case 4:
            slope = np.add.outer(np.linspace(0, 120, height), np.linspace(0, 120, width))
            return (slope + rng.normal(0, 2, size) + 8).clip(0, 255).astype(np.uint8)
        case _:
            return rng.integers(100, 110, size, dtype=np.uint8)


def color_images(rng: np.random.Generator, count: int = 300) -> Iterator[NDArray[np.uint8]]:
    """Yield `count` BGR images (H, W, 3) uint8: gray ones, and ones with channels of different kinds."""
    for number in range(count):
        size = SIZES[number % len(SIZES)]
        kinds = rng.integers(0, 6, 3) if number % 3 else np.repeat(rng.integers(0, 6), 3)
        yield np.ascontiguousarray(np.stack([gray_image(rng, size, int(kind)) for kind in kinds], axis=2))
