"""The exceptions of lumaflow. Each is a LumaflowError and also the matching builtin exception."""


class LumaflowError(Exception):
    """Base class. Messages say what was expected, what was given, and what to do."""


class FrameError(LumaflowError, ValueError):
    """An unusable frame or array: wrong dtype, shape, memory layout or geometry."""


class OptionError(LumaflowError, ValueError):
    """An option outside its range, or options that exclude each other."""


class StateError(LumaflowError, RuntimeError):
    """A call at the wrong time: the lane is closed, all slots are in flight, or no frame is in flight."""


class DeviceError(LumaflowError, RuntimeError):
    """A missing or unusable device. The message says what is missing and how to install it."""


class DeviceLostError(DeviceError):
    """A CUDA error after which the device cannot be used until the process restarts."""


class DeviceMemoryError(DeviceError, MemoryError):
    """Not enough free device memory or pinned host memory. The device remains usable."""
