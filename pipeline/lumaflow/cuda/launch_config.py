"""How finely a frame is cut into blocks of threads: what suits one GPU or another, with the same results."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """The numbers that the launches of a lane are planned with.

    `..._blocks` : most blocks of threads to cut a frame into
    `..._pixels` : fewest pixels worth a block, which begins by clearing counters or by reading LUTs

    The defaults were measured on an H200 (132 multiprocessors), where 264 blocks are two for each of them. At
    4096x4096 counting and mapping side by side took 14.5 us with 264 and 528 blocks, 16.1 with 528 and 1056;
    CLAHE 29.8 us with 528 blocks that map, 26.9 with 792, 27.7 with 1056 (to 1080p all are alike). HOG's 660
    run all at once: at 4K 60 us, with 264 blocks 98. Those beginning with `word` are for deep frames.
    """

    histogram_blocks: int = 264
    tile_histogram_blocks: int = 264
    histogram_pixels: int = 8192
    lut_blocks: int = 528
    clahe_blocks: int = 792
    clahe_pixels: int = 4096
    hog_blocks: int = 660
    word_count_blocks: int = 264
    word_count_pixels: int = 4096
    word_lut_blocks: int = 264
    word_clahe_blocks: int = 264
    word_clahe_pixels: int = 8192


DEFAULT_LAUNCH_CONFIG = LaunchConfig()

BLOCKS = (66, 132, 264, 396, 528, 660, 792, 1056, 1320)
PIXELS = (2048, 4096, 8192, 16384)
CHOICES: Mapping[str, tuple[int, ...]] = {
    name: PIXELS if name.endswith("_pixels") else BLOCKS for name in LaunchConfig.__dataclass_fields__
}
"""What each of them may be; no search tries, and no file brings, anything else."""
