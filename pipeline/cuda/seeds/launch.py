"""How the seeds' kernels are launched; see `pipeline.cuda.launch` for the production ones."""

from typing import Any

import numpy as np

from pipeline.cuda.launch import Kernel

TRANSPOSE_SIDE = 32
LBP_CELL = 16
HOG_CELL = 8


def count(stream: Any, kernel: Kernel, pixels: Any, bins: Any, blocks: int, threads: int) -> None:
    """Add the levels of `pixels` to `bins`, (256) uint32."""
    args = (pixels, np.uint32(pixels.size), bins)
    kernel((blocks, 1, 1), (threads, 1, 1), args, stream=stream)


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
    _describe(stream, kernel, luma, table, cells, LBP_CELL)


def describe_hog(stream: Any, kernel: Kernel, luma: Any, gamma: Any, cells: Any) -> None:
    """Add the gradients of `luma`, (H, W) uint8, to `cells`, (rows, columns, 9) float32."""
    _describe(stream, kernel, luma, gamma, cells, HOG_CELL)


def _describe(stream: Any, kernel: Kernel, luma: Any, table: Any, cells: Any, side: int) -> None:
    height, width = luma.shape
    rows, columns = cells.shape[:2]
    args = (luma, np.int32(width), np.int32(height), table, cells)
    kernel((columns, rows, 1), (side, side, 1), args, stream=stream)
