"""Launches of the experiment kernels; see `lumaflow.cuda.launch` for the production kernels."""

from typing import Any

import numpy as np

from lumaflow.cuda.launch import Kernel

TRANSPOSE_TILE = 32
GRADIENT_TILE = (32, 8)
LBP_CELL = 16
HOG_BLOCK = 16
LEVELS = 256


def histogram(stream: Any, kernel: Kernel, pixels: Any, bins: Any, blocks: int, threads: int) -> None:
    """Add the histogram of `pixels` to `bins`, (256,) uint32, or write (blocks, 256): one per block."""
    args = (pixels, np.uint32(pixels.size), bins)
    kernel((blocks, 1, 1), (threads, 1, 1), args, stream=stream)


def sum_histograms(stream: Any, kernel: Kernel, parts: Any, bins: Any) -> None:
    """Sum the rows of `parts`, (blocks, 256) uint32, to `bins`."""
    kernel((LEVELS, 1, 1), (32, 1, 1), (parts, np.uint32(parts.shape[0]), bins), stream=stream)


def build_lut(stream: Any, kernel: Kernel, bins: Any, lut: Any) -> None:
    """Build `lut`, (256,) uint8, from `bins`."""
    kernel((1, 1, 1), (LEVELS, 1, 1), (bins, lut), stream=stream)


def apply_lut(
    stream: Any, kernel: Kernel, pixels: Any, lut: Any, enhanced: Any, blocks: int, threads: int
) -> None:
    """Apply `lut`, (256,) uint8, to `pixels`; the result goes to `enhanced`."""
    args = (pixels, np.uint32(pixels.size), lut, enhanced)
    kernel((blocks, 1, 1), (threads, 1, 1), args, stream=stream)


def transpose(stream: Any, kernel: Kernel, source: Any, out: Any) -> None:
    """Transpose `source`, (H, W) uint8, into `out`, (W, H)."""
    height, width = source.shape
    grid = (-(-width // TRANSPOSE_TILE), -(-height // TRANSPOSE_TILE), 1)
    kernel(grid, (32, 8, 1), (source, np.uint32(width), np.uint32(height), out), stream=stream)


def lbp(stream: Any, kernel: Kernel, luma: Any, table: Any, cells: Any) -> None:
    """Add the LBP histograms of `luma`, (H, W) uint8, to `cells`, (rows, columns, 59) uint32."""
    height, width = luma.shape
    rows, columns = cells.shape[:2]
    args = (luma, np.int32(width), np.int32(height), table, cells)
    kernel((columns, rows, 1), (LBP_CELL, LBP_CELL, 1), args, stream=stream)


def gradients(stream: Any, kernel: Kernel, source: Any, gamma: Any, out: Any) -> None:
    """Compute the gradients of `source`, (H, W) uint8 or a texture of it, into `out`, (H, W, 2)."""
    height, width = out.shape[:2]
    columns, rows = GRADIENT_TILE
    args = (source, np.int32(width), np.int32(height), gamma, out)
    kernel((-(-width // columns), -(-height // rows), 1), (columns, rows, 1), args, stream=stream)


def hog(stream: Any, kernel: Kernel, gradients: Any, weights: Any, sums: Any, out: Any) -> None:
    """Compute HOG, `out` (rows, columns, 36), from `gradients`, (H, W, 2).

    sums : float32 scratch of the same shape, zero
    """
    rows, columns = out.shape[:2]
    args = (gradients, np.int32(gradients.shape[1]), weights, sums, out)
    kernel((columns, rows, 1), (HOG_BLOCK, HOG_BLOCK, 1), args, stream=stream)
