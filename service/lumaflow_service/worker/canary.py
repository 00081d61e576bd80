"""The canary: a small frame that really runs through a lane, to prove that the device still works."""

import numpy as np

from lumaflow.backend import open_lane
from lumaflow.errors import DeviceError
from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane
from lumaflow.options import Equalization, Hog, Lbp, Mode, Options, Orientation

SIDE_PX = 64


class Canary:
    """Lanes of each pixel format with every feature on; the first run also compiles all there is."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._lanes: list[Lane] = []
        row = np.arange(SIDE_PX, dtype=np.uint8)
        self._gray = np.ascontiguousarray(row[:, None] ^ row)

    def run(self) -> str:
        """Run one frame through every lane; returns the device. Raises DeviceError when a result is wrong."""
        if not self._lanes:
            self._open()
        for lane in self._lanes:
            color = lane.geometry.pixel_format is PixelFormat.BGR24
            pixels = np.repeat(self._gray[..., None], 3, axis=2) if color else self._gray
            lane.submit(Frame(pixels, lane.geometry.pixel_format))
            counted = int(lane.collect().bins.sum())
            if counted != SIDE_PX * SIDE_PX:
                raise DeviceError(
                    f"{self._device} counted {counted} of {SIDE_PX * SIDE_PX} pixels; restart it"
                )
        return self._device

    def _open(self) -> None:
        """Open the lanes: both formats, a global mode and CLAHE."""
        for pixel_format in (PixelFormat.GRAY8, PixelFormat.BGR24):
            for mode in (Mode.EQUALIZE, Mode.CLAHE):
                options = Options(Equalization(mode), Hog(), Lbp(), heatmap=True)
                geometry = Geometry(SIDE_PX, SIDE_PX, pixel_format)
                self._lanes.append(open_lane(self._device, geometry, options))
        if self._device == "cpu":
            self._compile()

    def _compile(self) -> None:
        """Open and close lanes of other kinds: on the CPU that compiles what later sources may need, once.

        Otherwise a source's first deep or turned frame would take half a minute on a new machine.
        """
        for pixel_format in (PixelFormat.GRAY8, PixelFormat.BGR24, PixelFormat.GRAY12, PixelFormat.P010):
            options = Options(Equalization(Mode.CLAHE), Hog(), orientation=Orientation.ROTATE90)
            open_lane(self._device, Geometry(SIDE_PX, SIDE_PX, pixel_format), options).close()
        for pixel_format in (PixelFormat.GRAY12, PixelFormat.YUYV):
            for mode in (Mode.EQUALIZE, Mode.STRETCH):
                options = Options(Equalization(mode), clamp=True)
                open_lane(self._device, Geometry(SIDE_PX, SIDE_PX, pixel_format), options).close()
