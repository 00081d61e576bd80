"""Writing beside the target and renaming at the end, so that nothing half-written is ever left."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.files.errors import UsageError


@contextmanager
def written(target: Path, force: bool = False) -> Iterator[Path]:
    """A temporary path beside `target`, which becomes `target` when the block ends without an error.

    On an error, Ctrl-C included, the temporary is removed and an older `target` stays as it was.
    """
    check_target(target, force)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def check_target(target: Path, force: bool = False) -> None:
    """Raise UsageError unless `target` can be written: its folder is there, and it is not, or `force` is."""
    if not target.parent.is_dir():
        raise UsageError(f"the folder {target.parent} does not exist; make it first")
    if target.is_dir():
        raise UsageError(f"{target} is a folder; name a file")
    if target.exists() and not force:
        raise UsageError(f"{target} exists already; give another name, or --force to overwrite it")


def check_apart(source: Path, target: Path) -> None:
    """Raise UsageError when both names mean the same file."""
    if target.exists() and source.samefile(target):
        raise UsageError(f"{target} is the input itself; give the output another name")
