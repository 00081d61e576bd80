"""Choosing a device and opening a lane on it."""

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
    """The device that was chosen, "cpu" or "cuda:N", and why in one sentence."""

    device: str
    reason: str


@dataclass(frozen=True, slots=True)
class MemoryUsage:
    """Bytes that this process holds on a device, and bytes of host memory that it page-locked for it."""

    device_bytes: int
    pinned_bytes: int


def available_devices() -> list[str]:
    """Devices on which a lane can be opened here: "cpu", then every usable "cuda:N"."""
    from lumaflow.cuda.probe import probe

    return ["cpu", *probe().devices]


def choose_device(wanted: str = "auto") -> DeviceChoice:
    """Decide once where to run: `wanted` is "auto", "cpu", "cuda" or "cuda:N".

    Raises DeviceError when a GPU is asked for by name and cannot be used, never falling back in silence.
    """
    if wanted == "cpu":
        return DeviceChoice("cpu", "asked for")
    if wanted not in ("auto", "cuda") and not re.fullmatch("cuda:[0-9]+", str(wanted)):
        raise DeviceError(f"the device {wanted!r} came; give auto, cpu, cuda or cuda:N")
    from lumaflow.cuda.probe import probe

    found = probe()
    if wanted == "auto":
        return DeviceChoice(found.devices[0] if found.devices else "cpu", found.reason)
    if not found.devices:
        raise DeviceError(f"{wanted} was asked for, but {found.reason}")
    device = found.devices[0] if wanted == "cuda" else wanted
    if device not in found.devices:
        raise DeviceError(f"{wanted} was asked for; the GPUs here are {', '.join(found.devices)}")
    return DeviceChoice(device, "asked for")


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
    """What all lanes of this process hold on their GPU; on the CPU the process's own memory in use."""
    if device == "cpu":
        fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return MemoryUsage(int(fields["RssAnon"].split()[0]) * 1024, 0)
    from lumaflow.cuda.memory import held

    return MemoryUsage(held.device_bytes, held.pinned_bytes)


def page_lock(device: str, memory: NDArray[np.uint8]) -> Callable[[], None]:
    """Let `device` read and write `memory` (a shared mapping, say) by itself; returns what undoes it.

    Frames and outs that lie there are then copied by the GPU alone. On the CPU there is nothing to do.
    Raises DeviceError, or DeviceMemoryError when so much cannot be locked.
    """
    if device == "cpu":
        return lambda: None
    from lumaflow.cuda.memory import Registration

    return Registration(memory).close
