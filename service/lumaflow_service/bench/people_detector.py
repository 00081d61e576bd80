"""Scores of OpenCV's people detector for HOG descriptors, to show the effect of changed descriptors."""

import cv2
import numpy as np
from numpy.typing import NDArray

from lumaflow.errors import OptionError

WINDOW = (15, 7)
"""(rows, columns) of HOG blocks in a detection window of 64x128 pixels."""
BLOCK_VALUES = 36


def people_weights() -> NDArray[np.float32]:
    """The weights of OpenCV's linear SVM, followed by its bias, (3781,) float32.

    Raises OptionError if this version of OpenCV has no people detector.
    """
    if not hasattr(cv2, "HOGDescriptor_getDefaultPeopleDetector"):
        raise OptionError(f"OpenCV {cv2.__version__} has no people detector; install opencv 4.13 or 4.14")
    return np.asarray(cv2.HOGDescriptor_getDefaultPeopleDetector(), np.float32).ravel()


def window_scores(hog: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """The SVM score of each detection window; a score above 0 means people.

    hog : (rows, columns, 36)
    weights : from `people_weights`
    Returns (rows - 14, columns - 6) float64, by the upper left block of the window.
    """
    rows, columns = (size - window + 1 for size, window in zip(hog.shape[:2], WINDOW, strict=True))
    # OpenCV orders the blocks of a window by columns.
    parts = weights[:-1].astype(np.float64).reshape(WINDOW[1], WINDOW[0], BLOCK_VALUES)
    scores = np.full((rows, columns), float(weights[-1]))
    for (x, y), part in zip(np.ndindex(parts.shape[:2]), parts.reshape(-1, BLOCK_VALUES), strict=True):
        scores += hog[y : y + rows, x : x + columns] @ part
    return scores
