"""The timed stages of processing a frame, in order."""

from enum import StrEnum


class Stage(StrEnum):
    """One timed stage; the value is also the `stage` label of the metrics."""

    UPLOAD = "upload"
    HISTOGRAM = "histogram"
    LUT = "lut"
    APPLY = "apply"
    HOG = "hog"
    LBP = "lbp"
    DOWNLOAD = "download"
