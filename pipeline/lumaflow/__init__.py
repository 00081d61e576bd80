"""lumaflow's pipeline: frames in, enhanced frames and descriptors out."""

from lumaflow.backend import Choice, available_devices, choose_device, open_lane
from lumaflow.errors import (
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    FrameError,
    LumaflowError,
    OptionError,
    StateError,
)
from lumaflow.formats import Alignment, Color, Matrix, PixelFormat, Range
from lumaflow.frame import Enhanced, Frame, HeatMap, LutKind
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane, output_geometry
from lumaflow.options import (
    ColorMode,
    Equalization,
    Hog,
    HogLayout,
    LaneConfig,
    Lbp,
    LbpMapping,
    Mode,
    Neighborhood,
    Options,
    Orientation,
    Output,
    Region,
)
from lumaflow.stage import Stage

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
    "LaneConfig",
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
