"""Facts about this machine for a bug report, and the reason for the device that `auto` selects."""

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from lumaflow.backend import available_devices, choose_device

Facts = Mapping[str, Mapping[str, str]]

PACKAGES = (
    "lumaflow",
    "numpy",
    "numba",
    "opencv-python-headless",
    "opencv-python",
    "simplejpeg",
    "av",
    "fastapi",
    "uvicorn",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "nvidia-cuda-nvrtc-cu12",
    "nvidia-cuda-nvrtc",
)
DECODERS = ("h264", "hevc", "vp9", "libdav1d", "vvc", "mjpeg")
ENCODERS = ("libx264", "libx265", "libvpx-vp9", "h264_nvenc")


def collect_facts() -> Facts:
    """Facts about the machine and the installed packages. Allocates no GPU memory."""
    return {
        "device": _device(),
        "machine": _machine(),
        "gpus": _gpus(),
        "packages": _packages(),
        "video": _video(),
    }


def as_text(facts: Facts) -> str:
    """The facts as text: one aligned block for each section."""
    blocks = []
    for section, entries in facts.items():
        width = max(map(len, entries), default=0)
        lines = [f"  {name.ljust(width)}  {value}" for name, value in entries.items()]
        blocks.append("\n".join([section, *lines]))
    return "\n\n".join(blocks)


def as_json(facts: Facts) -> str:
    """The facts as JSON."""
    return json.dumps(facts, indent=2)


def _device() -> dict[str, str]:
    choice = choose_device("auto")
    return {
        "auto picks": choice.device,
        "because": choice.reason,
        "available": ", ".join(available_devices()),
        **_launch_configs(),
    }


def _launch_configs() -> dict[str, str]:
    """The origin of the kernel launch configuration of each GPU."""
    gpus = [device for device in available_devices() if device != "cpu"]
    if not gpus:
        return {}
    from lumaflow.cuda.autotune_cache import cached_file

    default = "defaults; `lumaflow bench tune` searches for faster ones"
    files = {device: cached_file(int(device.removeprefix("cuda:"))) for device in gpus}
    return {
        f"launches on {device}": f"tuned, from {file}" if file else default for device, file in files.items()
    }


def _machine() -> dict[str, str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    facts = {
        "system": platform.platform(),
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": str(cores),
        "loops in parallel by": _threading_layer(),
    }
    shared = Path("/dev/shm")
    if shared.is_dir():
        facts["shared memory free"] = f"{shutil.disk_usage(shared).free >> 20} MiB"
    return facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _threading_layer() -> str:
    """The threading layer of Numba: the first of its three that can be imported."""
    for layer, module in (("tbb", "tbbpool"), ("omp", "omppool"), ("workqueue", "workqueue")):
        try:
            __import__(f"numba.np.ufunc.{module}")
        except ImportError:
            continue
        return layer
    return "none"


def _gpus() -> dict[str, str]:
    """Every GPU that nvidia-smi lists."""
    if shutil.which("nvidia-smi") is None:
        return {"none": "nvidia-smi not found: no NVIDIA driver"}
    query = "--query-gpu=index,name,memory.total,driver_version,compute_cap"
    try:
        done = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader"], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"none": f"nvidia-smi does not respond: {error}"}
    if done.returncode:
        return {"none": f"nvidia-smi fails: {(done.stdout or done.stderr).strip()}"}
    rows = (line.split(", ") for line in done.stdout.splitlines())
    return {
        f"cuda:{index}": f"{name}, {memory}, driver {driver}, compute capability {capability}"
        for index, name, memory, driver, capability in rows
    }


def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    if "opencv-python" in found and "opencv-python-headless" in found:
        found["warning"] = "two OpenCV packages overwrite each other: pip uninstall opencv-python"
    return found


def _video() -> dict[str, str]:
    if find_spec("av") is None:
        return {"none": "PyAV is not installed"}
    import av
    from av.codec.hwaccel import hwdevices_available

    libraries = ", ".join(
        f"{name} {'.'.join(map(str, numbers))}" for name, numbers in av.library_versions.items()
    )
    return {
        "decodes": ", ".join(name for name in DECODERS if _has(name, "r")),
        "encodes": ", ".join(name for name in ENCODERS if _has(name, "w")),
        "hardware": ", ".join(hwdevices_available()) or "none",
        "libraries": libraries,
    }


def _has(codec: str, mode: str) -> bool:
    import av

    try:
        av.Codec(codec, mode)  # type: ignore[arg-type]
    except (ValueError, av.FFmpegError):
        return False
    return True
