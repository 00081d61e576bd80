"""Real-time image enhancement and feature extraction, on the CPU or a CUDA GPU, with the same results.

`enhance_frames` processes a sequence of frames, `open_lane` gives control over each step, and functions such
as `clahe` and `hog` process single arrays. The import loads NumPy only; Numba and CuPy follow on first use.
"""

from lumaflow.backend import (
    DeviceChoice,
    MemoryUsage,
    available_devices,
    choose_device,
    memory_usage,
    open_lane,
    page_lock,
)
from lumaflow.enhance import enhance_frames
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
from lumaflow.frame import Enhanced, Frame, HeatMap, LutKind, Tone, ToneReport
from lumaflow.functions import (
    apply_lut,
    apply_orientation,
    build_lut,
    clahe,
    compute_histogram,
    hog,
    lbp,
    transpose,
)
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
    "Color",
    "ColorMode",
    "DeviceChoice",
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
    "MemoryUsage",
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
    "Tone",
    "ToneReport",
    "apply_lut",
    "apply_orientation",
    "available_devices",
    "build_lut",
    "choose_device",
    "clahe",
    "compute_histogram",
    "enhance_frames",
    "hog",
    "lbp",
    "memory_usage",
    "open_lane",
    "output_geometry",
    "page_lock",
    "transpose",
]
