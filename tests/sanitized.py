"""Run by test_kernels_run in a process under AddressSanitizer: kernels on arrays with nothing beside them.

Arguments: a folder for shared objects, the folder of the kernels. Prints "clean".
"""

import sys
from pathlib import Path

import numpy as np
import shim
from pictures import picture

from pipeline.frame import Geometry, PixelFormat
from pipeline.options import ColorMode, Equalization, Hog, HogLayout, Lbp, Mode, Neighborhood, Options

SIZES = ((1, 1), (1, 37), (41, 1), (7, 5), (16, 16), (31, 47), (64, 96))

SQUARE, CIRCLE = Lbp(labels=True), Lbp(Neighborhood.CIRCLE)
STEPS = (
    (PixelFormat.GRAY8, Options(Equalization(Mode.CLAHE, tiles=(3, 2)), Hog(), SQUARE, heatmap=True)),
    (PixelFormat.GRAY8, Options(Equalization(Mode.EQUALIZE), Hog(HogLayout.COMPACT), CIRCLE)),
    (PixelFormat.BGR24, Options(Equalization(Mode.CLAHE, tiles=(2, 3)), lbp=SQUARE)),
    (PixelFormat.BGR24, Options(Equalization(Mode.EQUALIZE, color=ColorMode.LUMA), lbp=SQUARE)),
)


def main() -> None:
    """Run every step on every size."""
    folder, shim.FOLDER = Path(sys.argv[1]), Path(sys.argv[2])
    rng = np.random.default_rng(1)
    for pixel_format, options in STEPS:
        kernels = shim.open_shim(folder, pixel_format, options, sanitize=True)
        for kind, (height, width) in enumerate(SIZES):
            geometry = Geometry(width, height, pixel_format)
            pixels = np.resize(picture(rng, (height, width), kind), geometry.shape)
            shim.run_step(kernels, geometry, options, pixels)
    print("clean")


if __name__ == "__main__":
    main()
