"""OpenCV's people detector over a field of HOG descriptors: what a change of the descriptors comes to."""

import cv2
import numpy as np
from numpy.typing import NDArray

from lumaflow.errors import OptionError

WINDOW = (15, 7)
"""HOG blocks of a window of 64x128 pixels: rows, columns."""
BLOCK_VALUES = 36


def people_weights() -> NDArray[np.float32]:
    """(3781,) float32: the weights of the linear SVM, then its bias, as OpenCV brings them.

    Raises OptionError with an OpenCV that has no such detector.
    """
    if not hasattr(cv2, "HOGDescriptor_getDefaultPeopleDetector"):
        raise OptionError(f"OpenCV {cv2.__version__} has no people detector; install opencv 4.13 or 4.14")
    return np.asarray(cv2.HOGDescriptor_getDefaultPeopleDetector(), np.float32).ravel()


def window_scores(hog: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """The score of the window whose first block is each one; people where it is over 0.

    hog : (rows, columns, 36); weights : as of `people_weights`. Returns (rows - 14, columns - 6) float64.
    """
    rows, columns = (size - window + 1 for size, window in zip(hog.shape[:2], WINDOW, strict=True))
    # OpenCV lays the blocks of a window out column by column.
    parts = weights[:-1].astype(np.float64).reshape(WINDOW[1], WINDOW[0], BLOCK_VALUES)
    scores = np.full((rows, columns), float(weights[-1]))
    for (x, y), part in zip(np.ndindex(parts.shape[:2]), parts.reshape(-1, BLOCK_VALUES), strict=True):
        scores += hog[y : y + rows, x : x + columns] @ part
    return scores
