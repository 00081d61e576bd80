"""Detects usable GPUs without creating a CUDA context."""

import importlib.util
from dataclasses import dataclass
from functools import cache

INSTALL = (
    "install the extra that fits the driver, in the folder of lumaflow: .venv/bin/pip install -e '.[cuda12]'"
    " or '.[cuda13]'"
)


@dataclass(frozen=True, slots=True)
class Probe:
    """Usable devices ("cuda:0", ...), and the reason: what was found, or what is missing."""

    devices: tuple[str, ...]
    reason: str


@cache
def probe() -> Probe:
    """Check for CuPy, a driver with a GPU, and NVRTC; the result is cached."""
    if importlib.util.find_spec("cupy") is None:
        return Probe((), f"CuPy is not installed; on a machine with an NVIDIA GPU {INSTALL}")
    try:
        import cupy
        from cupy.cuda import nvrtc, runtime
    except ImportError as error:
        return Probe((), f"CuPy cannot be imported ({error}); {INSTALL}")
    if not cupy.cuda.is_available():
        return Probe((), "no NVIDIA driver with a GPU was found; check that nvidia-smi lists one")
    try:
        nvrtc.getVersion()
    except (ImportError, RuntimeError, OSError) as error:
        return Probe((), f"the CUDA compiler NVRTC is missing ({error}); {INSTALL}")
    count = runtime.getDeviceCount()
    names = [runtime.getDeviceProperties(index)["name"].decode() for index in range(count)]
    return Probe(tuple(f"cuda:{index}" for index in range(count)), f"found {', '.join(names)}")
