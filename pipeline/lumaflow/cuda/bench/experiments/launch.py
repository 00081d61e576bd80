"""How the seeds' kernels are launched; see `lumaflow.cuda.launch` for the production ones."""

from typing import Any

import numpy as np

from lumaflow.cuda.launch import Kernel

TRANSPOSE_SIDE = 32
GRADIENT_TILE = (32, 8)
LBP_CELL = 16
HOG_BLOCK = 16
LEVELS = 256


def count(stream: Any, kernel: Kernel, pixels: Any, bins: Any, blocks: int, threads: int) -> None:
    """Add the levels of `pixels` to `bins`, (256) uint32, or keep those of every block, (blocks, 256)."""
    args = (pixels, np.uint32(pixels.size), bins)
    kernel((blocks, 1, 1), (threads, 1, 1), args, stream=stream)


def merge(stream: Any, kernel: Kernel, parts: Any, bins: Any) -> None:
    """Add the rows of `parts`, (blocks, 256) uint32, up to `bins`."""
    kernel((LEVELS, 1, 1), (32, 1, 1), (parts, np.uint32(parts.shape[0]), bins), stream=stream)


def equalize(stream: Any, kernel: Kernel, bins: Any, lut: Any) -> None:
    """Make `lut`, (256) uint8, of `bins`."""
    kernel((1, 1, 1), (LEVELS, 1, 1), (bins, lut), stream=stream)


def see(stream: Any, kernel: Kernel, pixels: Any, lut: Any, enhanced: Any, blocks: int, threads: int) -> None:
    """Map `pixels` through `lut`, (256) uint8, into `enhanced`."""
    args = (pixels, np.uint32(pixels.size), lut, enhanced)
    kernel((blocks, 1, 1), (threads, 1, 1), args, stream=stream)


def transpose(stream: Any, kernel: Kernel, source: Any, out: Any) -> None:
    """Put `source`, (H, W) uint8, into `out`, (W, H)."""
    height, width = source.shape
    grid = (-(-width // TRANSPOSE_SIDE), -(-height // TRANSPOSE_SIDE), 1)
    kernel(grid, (32, 8, 1), (source, np.uint32(width), np.uint32(height), out), stream=stream)


def describe_lbp(stream: Any, kernel: Kernel, luma: Any, table: Any, cells: Any) -> None:
    """Count the labels of `luma`, (H, W) uint8, in `cells`, (rows, columns, 59) uint32."""
    height, width = luma.shape
    rows, columns = cells.shape[:2]
    args = (luma, np.int32(width), np.int32(height), table, cells)
    kernel((columns, rows, 1), (LBP_CELL, LBP_CELL, 1), args, stream=stream)


def take_gradients(stream: Any, kernel: Kernel, source: Any, gamma: Any, gradients: Any) -> None:
    """Put the gradients of `source`, (H, W) uint8 or a texture of it, into `gradients`, (H, W, 2)."""
    height, width = gradients.shape[:2]
    columns, rows = GRADIENT_TILE
    args = (source, np.int32(width), np.int32(height), gamma, gradients)
    kernel((-(-width // columns), -(-height // rows), 1), (columns, rows, 1), args, stream=stream)


def describe_hog(stream: Any, kernel: Kernel, gradients: Any, weights: Any, sums: Any, hog: Any) -> None:
    """Make `hog`, (rows, columns, 36), of `gradients`, (H, W, 2); `sums`, float32 of its shape, are zero."""
    rows, columns = hog.shape[:2]
    args = (gradients, np.int32(gradients.shape[1]), weights, sums, hog)
    kernel((columns, rows, 1), (HOG_BLOCK, HOG_BLOCK, 1), args, stream=stream)
