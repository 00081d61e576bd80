"""OpenCV, imported with a limit of its own: a second wall behind the header gate."""

import os

# OpenCV reads it once, when it is imported.
os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(1 << 28))

import cv2

__all__ = ["cv2"]
