"""The types that the modules of `bench quality` share: images, inputs and methods."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

BgrImage = NDArray[np.uint8]
"""(H, W, 3) uint8 BGR."""

EnhanceClip = Callable[[Sequence[BgrImage]], list[BgrImage]]
"""Enhances frames of one size in the order of time. A still image is a sequence of one frame."""


class Category(StrEnum):
    """The kind of an input; the report has one table per category."""

    DARK = "dark"
    WELL_EXPOSED = "well-exposed"
    HAZY = "hazy"
    CHARTS = "charts"
    DARK_PAIRS = "dark pairs"
    HAZY_PAIRS = "hazy pairs"
    CLIPS = "clips"


@dataclass(frozen=True, slots=True)
class Method:
    """One way to enhance; with `enhance` of None, `skipped` is the reason."""

    name: str
    enhance: EnhanceClip | None
    skipped: str | None = None


@dataclass(frozen=True, slots=True)
class BenchInput:
    """One input: a still image (one frame) or a clip.

    frames : the frames to enhance, all of one size
    reference : the ideal result, of the size of the frames; None if it is unknown
    """

    name: str
    category: Category
    frames: tuple[BgrImage, ...]
    reference: BgrImage | None = None
