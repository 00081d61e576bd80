"""The machine and the software versions of a measurement."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lumaflow.backend import available_devices

PACKAGES = (
    "lumaflow",
    "numpy",
    "numba",
    "opencv-python-headless",
    "simplejpeg",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "kornia-rs",
    "cvcuda-cu12",
    "cvcuda-cu13",
    "cucim-cu12",
    "cucim-cu13",
    "kornia",
    "torchvision",
)
"""lumaflow, its dependencies, and the libraries that `bench baselines` measures."""


def describe_host() -> dict[str, str]:
    """CPU, GPU, driver, launch configuration and versions, by name; without what is not installed."""
    return {"cpu": _cpu(), **_gpu(), **_launch_config(), "python": platform.python_version(), **_versions()}


def _cpu() -> str:
    return f"{_cpu_model()} ({usable_cores()} of {os.cpu_count()} cores)"


def usable_cores() -> int:
    """Number of CPU cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _gpu() -> dict[str, str]:
    if shutil.which("nvidia-smi") is None:
        return {}
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    result = subprocess.run(query, capture_output=True, text=True, timeout=30, check=False)
    if result.returncode != 0:
        return {}
    names, drivers = zip(*(line.split(", ") for line in result.stdout.splitlines()), strict=True)
    return {"gpu": ", ".join(names), "driver": drivers[0]}


def _launch_config() -> dict[str, str]:
    """The GPUs whose lanes use a launch configuration saved by `lumaflow bench tune`."""
    gpus = [device for device in available_devices() if device != "cpu"]
    if not gpus:
        return {}
    from lumaflow.cuda.autotune_cache import cached_file

    tuned = [device for device in gpus if cached_file(int(device.removeprefix("cuda:")))]
    return {"launches": f"tuned on {', '.join(tuned)}" if tuned else "default"}


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
