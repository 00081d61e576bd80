"""The stages of a step, in the order in which a frame passes them."""

from enum import StrEnum


class Stage(StrEnum):
    """One timed part of a step; the value is the metric's `stage` label."""

    UPLOAD = "upload"
    HISTOGRAM = "histogram"
    LUT = "lut"
    APPLY = "apply"
    HOG = "hog"
    LBP = "lbp"
    DOWNLOAD = "download"
