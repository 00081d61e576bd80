"""The launch shapes that `lumaflow bench tune` found best, kept in the user's cache directory.

A file holds for one GPU, one driver and one state of the kernels. One that is missing, damaged or foreign is
as good as none: lanes then use the defaults, which give the same results.
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

MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class CacheKey:
    """What shapes were measured on.

    gpu : its name
    driver : the CUDA version of the driver, for example 13000
    kernels : digest of the kernels, of what plans their launches, and of the compiler
    """

    gpu: str
    driver: int
    kernels: str

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"shapes-{sha256(repr(self).encode()).hexdigest()[:16]}.json"


def launch_config_for(index: int) -> LaunchConfig:
    """What lanes on GPU `index` plan their launches with."""
    return load(key_of(index), cache_folder()) or DEFAULT_LAUNCH_CONFIG


def kept_for(index: int) -> Path | None:
    """The file from which lanes on GPU `index` have their shapes; None where they use the defaults."""
    key = key_of(index)
    return cache_folder() / key.file if load(key, cache_folder()) else None


def cache_folder() -> Path:
    """Where the system says that this user's caches lie."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(caches) / "lumaflow"


@cache
def key_of(index: int) -> CacheKey:
    """The key of GPU `index` as it is now."""
    name = runtime.getDeviceProperties(index)["name"].decode()
    return CacheKey(name, runtime.driverGetVersion(), kernels_digest(nvrtc.getVersion()))


def kernels_digest(compiler: tuple[int, int]) -> str:
    """Of all that decides how fast a launch of given shapes is, but for the GPU and its driver."""
    planned = [Path(str(module.__file__)) for module in (launch, launch_config, launch_u16)]
    digest = sha256(repr((FLAGS, compiler)).encode())
    for path in (*sorted(FOLDER.glob("*.cu*")), *planned):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def load(key: CacheKey, folder: Path) -> LaunchConfig | None:
    """The shapes stored for `key`; None unless they are whole and such as a search could have found."""
    try:
        with (folder / key.file).open("rb") as file:
            stored = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(stored, dict) or stored.get("key") != asdict(key):
        return None
    found = stored.get("shapes")
    if not isinstance(found, dict) or found.keys() != CHOICES.keys():
        return None
    known = all(type(value) is int and value in CHOICES[name] for name, value in found.items())
    return LaunchConfig(**found) if known else None


def store(key: CacheKey, found: LaunchConfig, folder: Path) -> Path:
    """Keep shapes for `key`, all at once or not at all; the file. Raises OSError where that is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"key": asdict(key), "shapes": asdict(found)}, indent=2)
    with NamedTemporaryFile("w", encoding="utf-8", dir=folder, suffix=".part", delete=False) as part:
        part.write(text + "\n")
    return Path(part.name).replace(folder / key.file)
