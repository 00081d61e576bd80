"""lumaflow's pipeline: frames in, enhanced frames and descriptors out."""

from pipeline.backend import Choice, available_devices, choose_device, open_lane
from pipeline.errors import (
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    FrameError,
    LumaflowError,
    OptionError,
    StateError,
)
from pipeline.frame import Enhanced, Frame, Geometry, HeatMap, LutKind, PixelFormat
from pipeline.lane import Lane
from pipeline.options import (
    ColorMode,
    Equalization,
    Hog,
    HogLayout,
    Lbp,
    LbpMapping,
    Mode,
    Neighborhood,
    Options,
)
from pipeline.stage import Stage

__all__ = [
    "Choice",
    "ColorMode",
    "DeviceError",
    "DeviceLostError",
    "DeviceMemoryError",
    "Enhanced",
    "Equalization",
    "Frame",
    "FrameError",
    "Geometry",
    "HeatMap",
    "Hog",
    "HogLayout",
    "Lane",
    "Lbp",
    "LbpMapping",
    "LumaflowError",
    "LutKind",
    "Mode",
    "Neighborhood",
    "OptionError",
    "Options",
    "PixelFormat",
    "Stage",
    "StateError",
    "available_devices",
    "choose_device",
    "open_lane",
]
