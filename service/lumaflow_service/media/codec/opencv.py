"""OpenCV, imported with a limit on decoded pixels: a second check after the header validation."""

import os

# OpenCV reads the limit once, when it is imported.
os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(1 << 28))

import cv2

__all__ = ["cv2"]
