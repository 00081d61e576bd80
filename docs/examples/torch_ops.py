"""lumaflow's steps as PyTorch operators: `torch.ops.lumaflow.clahe(luma, 2.0, 8, 8)` and others.

Tensors are used without a copy, in host memory or on a GPU. On a GPU the work runs on PyTorch's
current stream. The operators have fake implementations, so `torch.compile` can trace them.
"""

from typing import Any

import torch

from lumaflow import Equalization, functions
from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.options import HogLayout, Lbp
from lumaflow.tables import hog_shape, lbp_shape


def _out_arguments(out: torch.Tensor) -> dict[str, Any]:
    """The arguments `out` and, on a GPU, `stream` of a lumaflow function."""
    if out.is_cuda:
        return {"out": out, "stream": torch.cuda.current_stream(out.device)}
    return {"out": out.numpy()}


def _geometry(luma: torch.Tensor) -> Geometry:
    height, width = luma.shape
    return Geometry(int(width), int(height), PixelFormat.GRAY8)


@torch.library.custom_op("lumaflow::clahe", mutates_args=())
def clahe(luma: torch.Tensor, clip_limit: float, columns: int, rows: int) -> torch.Tensor:
    """(H, W) uint8 -> (H, W) uint8, CLAHE with the LUTs of the plane itself."""
    enhanced = torch.empty_like(luma)
    equalization = Equalization(clip_limit=clip_limit, tiles=(columns, rows))
    functions.clahe(luma, equalization, **_out_arguments(enhanced))
    return enhanced


@clahe.register_fake
def _(luma: torch.Tensor, clip_limit: float, columns: int, rows: int) -> torch.Tensor:
    return torch.empty_like(luma)


@torch.library.custom_op("lumaflow::hog", mutates_args=())
def hog(luma: torch.Tensor) -> torch.Tensor:
    """(H, W) uint8 -> (blocks_y, blocks_x, 36) float32, in OpenCV's layout."""
    shape = hog_shape(_geometry(luma), HogLayout.OPENCV)
    blocks = luma.new_empty(shape, dtype=torch.float32)
    functions.hog(luma, **_out_arguments(blocks))
    return blocks


@hog.register_fake
def _(luma: torch.Tensor) -> torch.Tensor:
    return luma.new_empty(hog_shape(_geometry(luma), HogLayout.OPENCV), dtype=torch.float32)


@torch.library.custom_op("lumaflow::lbp", mutates_args=())
def lbp(luma: torch.Tensor) -> torch.Tensor:
    """(H, W) uint8 -> (ceil(H/16), ceil(W/16), 59) uint16, counts of uniform patterns."""
    shape = lbp_shape(_geometry(luma), Lbp().mapping)
    counts = luma.new_empty(shape, dtype=torch.uint16)
    functions.lbp(luma, **_out_arguments(counts))
    return counts


@lbp.register_fake
def _(luma: torch.Tensor) -> torch.Tensor:
    return luma.new_empty(lbp_shape(_geometry(luma), Lbp().mapping), dtype=torch.uint16)
