"""Choose a device and open a lane on it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lumaflow.errors import DeviceError, FrameError, OptionError
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane
from lumaflow.options import LaneConfig, Options

DEFAULT_OPTIONS, DEFAULT_CONFIG = Options(), LaneConfig()


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """The chosen device, "cpu" or "cuda:N", and the reason in one sentence."""

    device: str
    reason: str


@dataclass(frozen=True, slots=True)
class MemoryUsage:
    """Bytes of device memory, and of page-locked host memory, in use by the lanes of this process."""

    device_bytes: int
    pinned_bytes: int


def available_devices() -> list[str]:
    """Return the devices of this machine that can run a lane: "cpu", then every usable "cuda:N"."""
    from lumaflow.cuda.probe import probe

    return ["cpu", *probe().devices]


def choose_device(wanted: str = "auto") -> DeviceChoice:
    """Choose a device.

    wanted : "auto" (a GPU if usable, else the CPU), "cpu", "cuda" (the first usable GPU) or "cuda:N"

    Raises DeviceError when `wanted` names a GPU that cannot be used; there is no silent fallback to the CPU.
    """
    if wanted == "cpu":
        return DeviceChoice("cpu", "requested")
    if wanted not in ("auto", "cuda") and not re.fullmatch("cuda:[0-9]+", str(wanted)):
        raise DeviceError(f"expected auto, cpu, cuda or cuda:N as the device, got {wanted!r}")
    from lumaflow.cuda.probe import probe

    found = probe()
    if wanted == "auto":
        return DeviceChoice(found.devices[0] if found.devices else "cpu", found.reason)
    if not found.devices:
        raise DeviceError(f"cannot use {wanted}: {found.reason}")
    device = found.devices[0] if wanted == "cuda" else wanted
    if device not in found.devices:
        raise DeviceError(
            f"expected a usable GPU ({', '.join(found.devices)}), got {wanted}; choose one of these"
        )
    return DeviceChoice(device, "requested")


def open_lane(
    device: str,
    geometry: Geometry,
    options: Options = DEFAULT_OPTIONS,
    config: LaneConfig = DEFAULT_CONFIG,
) -> Lane:
    """Open a lane on `device` for frames of `geometry`. It allocates all its memory here.

    device : as for `choose_device`

    Raises DeviceError; DeviceMemoryError when the device has not enough free memory; FrameError when
    `geometry` is not a Geometry; OptionError when `options` or `config` has another type or does not fit the
    geometry.
    """
    if not isinstance(geometry, Geometry):
        raise FrameError(
            f"expected a Geometry, got {geometry!r}; pass Geometry(width, height, PixelFormat.BGR24)"
        )
    check_options(options, config)
    chosen = choose_device(device).device
    if chosen == "cpu":
        from lumaflow.cpu.lane import CpuLane

        return CpuLane(geometry, options, config)
    from lumaflow.cuda.lane import CudaLane

    return CudaLane(int(chosen.removeprefix("cuda:")), geometry, options, config)


def check_options(options: Options, config: LaneConfig) -> None:
    """Raise OptionError unless both have the right type."""
    for value, kind in ((options, Options), (config, LaneConfig)):
        if not isinstance(value, kind):
            raise OptionError(f"expected {kind.__name__}, got {value!r}; pass {kind.__name__}(...)")


def memory_usage(device: str) -> MemoryUsage:
    """Return the memory in use by all lanes of this process; for "cpu" the resident memory of the process."""
    if device == "cpu":
        fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return MemoryUsage(int(fields["RssAnon"].split()[0]) * 1024, 0)
    from lumaflow.cuda.memory import allocated

    return MemoryUsage(allocated.device_bytes, allocated.pinned_bytes)


def page_lock(device: str, memory: NDArray[np.uint8]) -> Callable[[], None]:
    """Page-lock host memory (cudaHostRegister), so that the GPU copies frames there directly (DMA).

    memory : for example a shared memory mapping; keep it until the returned function was called

    Returns a function that unlocks the memory again. Does nothing for "cpu".
    Raises DeviceError; DeviceMemoryError when the system cannot lock that much memory.
    """
    if device == "cpu":
        return lambda: None
    from lumaflow.cuda.memory import Registration

    return Registration(memory).close


def cpu_loops_cached() -> bool:
    """Return True if Numba's cache on disk holds the loops of the adaptive modes, the last to be compiled."""
    from lumaflow.cpu.adaptive import apply

    indexes = Path(str(apply.map_pixels.stats.cache_path)).glob("apply.map_pixels-*.nbi")
    source_time = Path(apply.__file__).stat().st_mtime
    return any(index.stat().st_mtime > source_time for index in indexes)
