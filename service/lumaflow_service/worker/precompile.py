"""Compile the CPU loops of the adaptive modes: `python -P -m lumaflow_service.worker.precompile`.

The worker starts this process when Numba's cache is empty, and compiles the plain modes itself meanwhile:
Numba compiles on one core, so two processes halve the first start on two cores. Both write to the same cache.
"""

import subprocess
import sys

from lumaflow.backend import open_lane
from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, Mode, Options

FORMATS = (PixelFormat.BGR24, PixelFormat.NV12, PixelFormat.GRAY8, PixelFormat.GRAY12)
SIDE_PX = 64


def start() -> subprocess.Popen[bytes]:
    """Start this module in a process of its own; the caller waits for it."""
    return subprocess.Popen([sys.executable, "-P", "-m", __name__], stdin=subprocess.DEVNULL)


def compile_adaptive_loops() -> None:
    """Open and close a lane of each format, which compiles its loops or loads them from the cache."""
    options = Options(Equalization(Mode.AUTO))
    for pixel_format in FORMATS:
        open_lane("cpu", Geometry(SIDE_PX, SIDE_PX, pixel_format), options).close()


if __name__ == "__main__":
    compile_adaptive_loops()
