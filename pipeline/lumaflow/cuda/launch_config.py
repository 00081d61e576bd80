"""Limits for the number of thread blocks per kernel; they change speed, never results."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """Limits for the launches of a lane.

    `..._blocks` : maximum number of thread blocks
    `..._pixels` : minimum number of pixels per block, because a block first clears counters or loads LUTs
    `u16_...` : for frames of 10 to 16 bits

    The defaults were measured on an H200 (132 SMs; 264 blocks are two per SM). At 4096x4096, histogram and
    apply in parallel took 14.5 us with 264 and 528 blocks, 16.1 us with 528 and 1056. CLAHE took 29.8 us with
    528 blocks, 26.9 us with 792, 27.7 us with 1056; up to 1080p all are equal. The 660 blocks of HOG run
    concurrently: 60 us at 4K, against 98 us with 264 blocks.
    """

    histogram_blocks: int = 264
    tile_histogram_blocks: int = 264
    histogram_pixels: int = 8192
    lut_blocks: int = 528
    clahe_blocks: int = 792
    clahe_pixels: int = 4096
    hog_blocks: int = 660
    u16_histogram_blocks: int = 264
    u16_histogram_pixels: int = 4096
    u16_lut_blocks: int = 264
    u16_clahe_blocks: int = 264
    u16_clahe_pixels: int = 8192


DEFAULT_LAUNCH_CONFIG = LaunchConfig()

BLOCKS = (66, 132, 264, 396, 528, 660, 792, 1056, 1320)
PIXELS = (2048, 4096, 8192, 16384)
CHOICES: Mapping[str, tuple[int, ...]] = {
    name: PIXELS if name.endswith("_pixels") else BLOCKS for name in LaunchConfig.__dataclass_fields__
}
"""Allowed values of each field; the tuner tries only these, and cache files with other values are ignored."""
