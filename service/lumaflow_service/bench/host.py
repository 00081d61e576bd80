"""The machine and the versions a figure was measured with."""

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
"""Of lumaflow and of the peers that `bench peers` measures."""


def describe_host() -> dict[str, str]:
    """Name and value of everything a reader needs to place the figures; what is not there is left out."""
    return {"cpu": _cpu(), **_gpu(), **_launches(), "python": platform.python_version(), **_versions()}


def _cpu() -> str:
    return f"{_cpu_model()} ({usable_cores()} of {os.cpu_count()} cores)"


def usable_cores() -> int:
    """Cores this process may run on."""
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
    answer = subprocess.run(query, capture_output=True, text=True, timeout=30, check=False)
    if answer.returncode != 0:
        return {}
    names, drivers = zip(*(line.split(", ") for line in answer.stdout.splitlines()), strict=True)
    return {"gpu": ", ".join(names), "driver": drivers[0]}


def _launches() -> dict[str, str]:
    """Whether lanes use launch shapes that `lumaflow bench tune` has kept."""
    gpus = [device for device in available_devices() if device != "cpu"]
    if not gpus:
        return {}
    from lumaflow.cuda.autotune_cache import kept_for

    tuned = [device for device in gpus if kept_for(int(device.removeprefix("cuda:")))]
    return {"launches": f"tuned on {', '.join(tuned)}" if tuned else "default"}


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
