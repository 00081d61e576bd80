"""Writing beside the target and renaming at the end, so that nothing half-written is ever left."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lumaflow_service.files.errors import BadFileError, UsageError


@contextmanager
def written(target: Path, force: bool = False) -> Iterator[Path]:
    """A temporary path beside `target`, which becomes `target` when the block ends without an error.

    A link stays a link: what it points to is written. On an error, Ctrl-C included, the temporary is removed
    and an older `target` stays as it was. Raises UsageError, BadFileError.
    """
    check_target(target, force)
    place = _behind(target)
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(place)
    except OSError as error:
        # What the system says names the temporary, or when a disk is full nothing.
        if error.errno is None or error.filename not in (None, str(part)):
            raise
        raise BadFileError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def check_target(target: Path, force: bool = False) -> None:
    """Raise UsageError unless `target` can be written: a file's name in a folder that is there and lets us
    write, and nothing of that name yet, or a file and `force`."""
    if target.is_dir():
        raise UsageError(f"{target} is a folder; name a file")
    if target.exists() and not target.is_file():
        raise UsageError(f"{target} is {_kind(target)}, not a file; give another name")
    folder = _behind(target).parent
    if not folder.is_dir():
        raise UsageError(f"the folder {folder} of {target} does not exist; make it first")
    check_folder(folder)
    if target.exists() and not force:
        raise UsageError(f"{target} exists already; give another name, or --force to overwrite it")


def check_folder(folder: Path) -> None:
    """Raise UsageError unless files can be written to `folder`, which may be yet to be made."""
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not there.is_dir():
        raise UsageError(f"{there} is {_kind(there)}, not a folder; give the output another folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"the folder {there} may not be written to; change its mode, or give another folder")


def check_apart(source: Path, target: Path) -> None:
    """Raise UsageError when both names mean the same file."""
    if target.exists() and source.samefile(target):
        raise UsageError(f"{target} is the input itself; give the output another name")


def _behind(target: Path) -> Path:
    """What `target` means: itself, or where its links lead."""
    return Path(os.path.realpath(target)) if target.is_symlink() else target


def _kind(path: Path) -> str:
    if path.is_file():
        return "a file"
    if path.is_fifo():
        return "a pipe"
    return "a socket" if path.is_socket() else "a device"
