"""How finely a frame is cut into blocks of threads: what suits one GPU or another, with the same results."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shapes:
    """The numbers that the launches of a lane are planned with.

    `..._blocks` : most blocks of threads to cut a frame into
    `..._pixels` : fewest pixels worth a block, which begins by clearing counters or by reading LUTs
    hog_rows : most rows of HOG blocks (or of compact cells) that one block of threads walks down

    The defaults were measured on an H200 (132 multiprocessors): 264 blocks are two for each of them, the best
    of 132 to 924 for the histogram; 528, four for each, the best of 264 to 1056 for apply, and for HOG, which
    walks down 2 rows at 720p, 4 at 1080p and 5 or 6 at 4K. Those beginning with `word` are for deep frames.
    """

    histogram_blocks: int = 264
    histogram_pixels: int = 8192
    lut_blocks: int = 528
    clahe_blocks: int = 528
    clahe_pixels: int = 4096
    hog_blocks: int = 528
    hog_rows: int = 6
    word_count_blocks: int = 264
    word_count_pixels: int = 4096
    word_lut_blocks: int = 264
    word_clahe_blocks: int = 264
    word_clahe_pixels: int = 8192


DEFAULT_SHAPES = Shapes()

BLOCKS = (66, 132, 264, 396, 528, 792, 1056)
PIXELS = (2048, 4096, 8192, 16384)
CHOICES: Mapping[str, tuple[int, ...]] = {
    name: PIXELS if name.endswith("_pixels") else BLOCKS
    for name in Shapes.__dataclass_fields__
    if name != "hog_rows"
} | {"hog_rows": (1, 2, 3, 4, 6, 8, 12)}
"""What each of them may be; no search tries, and no file brings, anything else."""
