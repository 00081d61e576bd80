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
from pipeline.formats import Alignment, Color, Matrix, PixelFormat, Range
from pipeline.frame import Enhanced, Frame, HeatMap, LutKind
from pipeline.geometry import Geometry
from pipeline.lane import Lane, output_geometry
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
    Orientation,
    Output,
    Region,
)
from pipeline.stage import Stage

__all__ = [
    "Alignment",
    "Choice",
    "Color",
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
    "Matrix",
    "Mode",
    "Neighborhood",
    "OptionError",
    "Options",
    "Orientation",
    "Output",
    "PixelFormat",
    "Range",
    "Region",
    "Stage",
    "StateError",
    "available_devices",
    "choose_device",
    "open_lane",
    "output_geometry",
]
