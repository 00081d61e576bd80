"""Every error lumaflow raises: each is a LumaflowError and the builtin that fits it."""


class LumaflowError(Exception):
    """Base of all lumaflow errors. The text says what came, what is needed and what to do."""


class FrameError(LumaflowError, ValueError):
    """A frame that cannot be used: wrong dtype, shape, layout or geometry."""


class OptionError(LumaflowError, ValueError):
    """An option outside its range, or options that exclude each other."""


class StateError(LumaflowError, RuntimeError):
    """A call at the wrong time: a closed lane, a full ring, nothing to collect."""


class DeviceError(LumaflowError, RuntimeError):
    """A device that is not there or cannot be used; says what is missing and how to get it."""


class DeviceLostError(DeviceError):
    """A sticky device fault: nothing works on this device until the process ends."""


class DeviceMemoryError(DeviceError, MemoryError):
    """The device (or pinned host memory) has no room; the device itself is well."""
