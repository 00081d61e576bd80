"""Runs all kernels under AddressSanitizer; test_kernels_run starts it in a separate process.

Arguments: a folder for shared objects, the folder of the kernels. Prints "clean".
"""

import sys
from pathlib import Path

import numpy as np

import shim
from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.options import (
    ColorMode,
    Equalization,
    Hog,
    HogLayout,
    Lbp,
    Mode,
    Neighborhood,
    Options,
    Orientation,
    Region,
)
from synthetic_frames import synthetic_frame

SIZES = ((1, 1), (1, 37), (41, 1), (7, 5), (16, 16), (31, 47), (64, 96))

SQUARE, CIRCLE = Lbp(labels=True), Lbp(Neighborhood.CIRCLE)
STEPS = (
    (PixelFormat.GRAY8, Options(Equalization(Mode.CLAHE), Hog(), SQUARE, heatmap=True)),
    (PixelFormat.GRAY8, Options(Equalization(Mode.EQUALIZE), Hog(HogLayout.COMPACT), CIRCLE)),
    (PixelFormat.BGR24, Options(Equalization(Mode.CLAHE), lbp=SQUARE)),
    (PixelFormat.BGRA32, Options(Equalization(Mode.IDENTITY, color=ColorMode.LUMA))),
    (PixelFormat.UYVY, Options(Equalization(Mode.STRETCH, chroma_gain=1.5), lbp=SQUARE)),
    (
        PixelFormat.GRAY12,
        Options(
            Equalization(Mode.CLAHE, tiles=(2, 1)),
            heatmap=True,
            orientation=Orientation.ROTATE90,
            region=Region(0, 0, 1, 1, apply_to_whole_frame=False),
        ),
    ),
    (
        PixelFormat.P010,
        Options(Equalization(Mode.IDENTITY, chroma_gain=2.0), orientation=Orientation.ROTATE180),
    ),
)


def main() -> None:
    """Run each step with each size."""
    folder, shim.FOLDER = Path(sys.argv[1]), Path(sys.argv[2])
    rng = np.random.default_rng(1)
    for pixel_format, options in STEPS:
        sizes = SIZES if pixel_format in (PixelFormat.GRAY8, PixelFormat.BGR24) else SIZES[1::4]
        for kind, (height, width) in enumerate(sizes):
            geometry = Geometry(width, height, pixel_format)
            kernels = shim.open_shim(folder, geometry, options, sanitize=True)
            shim.run_step(kernels, synthetic_frame(rng, geometry, kind), options)
    print("clean")


if __name__ == "__main__":
    main()
