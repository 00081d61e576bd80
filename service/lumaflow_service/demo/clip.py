"""The file of the demo clip: in the user's cache folder, one file per version of the code that renders it."""

import atexit
import os
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryFile, mkdtemp


def clip_path() -> Path:
    """Return where the demo clip is or will be rendered.

    A temporary folder, deleted when this process exits, takes the place of a read-only cache folder.
    """
    folder, name = cache_folder(), f"demo-{code_version()}.mp4"
    if not (folder / name).exists() and not is_writable(folder):
        folder = Path(mkdtemp(prefix="lumaflow-demo-"))
        atexit.register(rmtree, folder, ignore_errors=True)
    return folder / name


def cache_folder() -> Path:
    """Return this user's cache folder for lumaflow (XDG base directories)."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(caches) / "lumaflow"


def code_version() -> str:
    """Return a digest of this package's source code."""
    digest = sha256()
    for module in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(module.read_bytes())
    return digest.hexdigest()[:16]


def is_writable(folder: Path) -> bool:
    """Create `folder` if it is missing; return whether files can be created in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
