"""Launch configurations found by `lumaflow bench tune`, stored in the user's cache directory.

A file is valid for one GPU, driver and version of the kernels. Lanes use the default configuration, with the
same results, if the file is missing, damaged or for another key.
"""

import json
import os
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from cupy.cuda import nvrtc, runtime

from lumaflow.cuda import launch, launch_config, launch_u16
from lumaflow.cuda.compiler import FLAGS, FOLDER
from lumaflow.cuda.launch_config import CHOICES, DEFAULT_LAUNCH_CONFIG, LaunchConfig

MAX_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class CacheKey:
    """The system on which a configuration was measured.

    gpu : name of the GPU
    driver : CUDA version of the driver, for example 13000
    kernels : digest of the kernels, of the modules that plan their launches, and of the compiler version
    """

    gpu: str
    driver: int
    kernels: str

    @property
    def file(self) -> str:
        """Name of the cache file."""
        return f"shapes-{sha256(repr(self).encode()).hexdigest()[:16]}.json"


def launch_config_for(index: int) -> LaunchConfig:
    """The launch configuration for lanes on GPU `index`: the cached one, or the default."""
    return load(key_of(index), cache_folder()) or DEFAULT_LAUNCH_CONFIG


def cached_file(index: int) -> Path | None:
    """The cache file that lanes on GPU `index` use; None if they use the defaults."""
    key = key_of(index)
    return cache_folder() / key.file if load(key, cache_folder()) else None


def cache_folder() -> Path:
    """The cache folder of lumaflow for this user (XDG_CACHE_HOME)."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(caches) / "lumaflow"


@cache
def key_of(index: int) -> CacheKey:
    """The current key of GPU `index`."""
    name = runtime.getDeviceProperties(index)["name"].decode()
    return CacheKey(name, runtime.driverGetVersion(), kernels_digest(nvrtc.getVersion()))


def kernels_digest(compiler: tuple[int, int]) -> str:
    """Digest of everything except GPU and driver that affects the speed of a launch configuration."""
    planners = [Path(str(module.__file__)) for module in (launch, launch_config, launch_u16)]
    digest = sha256(repr((FLAGS, compiler)).encode())
    for path in (*sorted(FOLDER.glob("*.cu*")), *planners):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def load(key: CacheKey, folder: Path) -> LaunchConfig | None:
    """The configuration stored for `key`; None if the file is missing or invalid."""
    try:
        with (folder / key.file).open("rb") as file:
            stored = json.loads(file.read(MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(stored, dict) or stored.get("key") != asdict(key):
        return None
    fields = stored.get("shapes")
    if not isinstance(fields, dict) or fields.keys() != CHOICES.keys():
        return None
    valid = all(type(value) is int and value in CHOICES[name] for name, value in fields.items())
    return LaunchConfig(**fields) if valid else None


def store(key: CacheKey, config: LaunchConfig, folder: Path) -> Path:
    """Write the configuration for `key` atomically. Returns the file. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"key": asdict(key), "shapes": asdict(config)}, indent=2)
    with NamedTemporaryFile("w", encoding="utf-8", dir=folder, suffix=".part", delete=False) as part:
        part.write(text + "\n")
    return Path(part.name).replace(folder / key.file)
