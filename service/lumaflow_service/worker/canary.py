"""The canary: a small frame that runs through a lane, as a health check of the device."""

import numpy as np

from lumaflow.backend import cpu_loops_cached, open_lane
from lumaflow.errors import DeviceError
from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane
from lumaflow.options import Equalization, Hog, Lbp, Mode, Options, Orientation
from lumaflow_service.worker import precompile

SIDE_PX = 64


class Canary:
    """Lanes for GRAY8 and BGR24 with all features; the first run also compiles all CPU loops."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._lanes: list[Lane] = []
        row = np.arange(SIDE_PX, dtype=np.uint8)
        self._gray = np.ascontiguousarray(row[:, None] ^ row)

    def run(self) -> str:
        """Run one frame through each lane; returns the device. Raises DeviceError for a wrong result."""
        if not self._lanes:
            self._open()
        for lane in self._lanes:
            color = lane.geometry.pixel_format is PixelFormat.BGR24
            pixels = np.repeat(self._gray[..., None], 3, axis=2) if color else self._gray
            lane.submit(Frame(pixels, lane.geometry.pixel_format))
            counted, expected = int(lane.collect().bins.sum()), SIDE_PX * SIDE_PX
            if counted != expected:
                raise DeviceError(
                    f"expected {expected} counted pixels on {self._device}, got {counted}; restart it"
                )
        return self._device

    def _open(self) -> None:
        """Open the lanes: each format with a global mode and with CLAHE."""
        compiler = precompile.start() if self._device == "cpu" and not cpu_loops_cached() else None
        for pixel_format in (PixelFormat.GRAY8, PixelFormat.BGR24):
            for mode in (Mode.EQUALIZE, Mode.CLAHE):
                options = Options(Equalization(mode), Hog(), Lbp(), heatmap=True)
                geometry = Geometry(SIDE_PX, SIDE_PX, pixel_format)
                self._lanes.append(open_lane(self._device, geometry, options))
        if self._device == "cpu":
            self._compile()
        if compiler is not None:
            compiler.wait()

    def _compile(self) -> None:
        """Open and close lanes with other options, which compiles the CPU loops for later sources.

        Without this, the first 16-bit or rotated frame would take half a minute on a new machine.
        """
        for pixel_format in (PixelFormat.GRAY8, PixelFormat.BGR24, PixelFormat.GRAY12, PixelFormat.P010):
            options = Options(Equalization(Mode.CLAHE), Hog(), orientation=Orientation.ROTATE90)
            open_lane(self._device, Geometry(SIDE_PX, SIDE_PX, pixel_format), options).close()
        for pixel_format in (PixelFormat.GRAY12, PixelFormat.YUYV):
            for mode in (Mode.EQUALIZE, Mode.STRETCH):
                options = Options(Equalization(mode), clamp=True)
                open_lane(self._device, Geometry(SIDE_PX, SIDE_PX, pixel_format), options).close()
