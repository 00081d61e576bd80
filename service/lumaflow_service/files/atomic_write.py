"""Atomic writes: a temporary file beside the target replaces it at the end."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lumaflow_service.files.errors import BadFileError, UsageError


@contextmanager
def atomic_write(target: Path, force: bool = False) -> Iterator[Path]:
    """Yield a temporary path that replaces `target` when the block ends without an error.

    A symbolic link stays: the file that it points to is replaced. On an error, Ctrl-C included, the temporary
    file is removed and an existing `target` is unchanged. Raises UsageError, BadFileError.
    """
    check_target(target, force)
    path = _follow_link(target)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        # The system's message names the temporary file, or no file when the disk is full.
        if error.errno is None or error.filename not in (None, str(temporary)):
            raise
        raise BadFileError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_target(target: Path, force: bool = False) -> None:
    """Raise UsageError unless `target` can be written.

    It must name a file in an existing, writable folder, and must not exist, or be a file if `force` is set.
    """
    if target.is_dir():
        raise UsageError(f"{target} is a folder; name a file")
    if target.exists() and not target.is_file():
        raise UsageError(f"{target} is {_file_type(target)}, not a file; give another name")
    folder = _follow_link(target).parent
    if not folder.is_dir():
        raise UsageError(f"the folder {folder} of {target} does not exist; create it first")
    check_folder(folder)
    if target.exists() and not force:
        raise UsageError(f"{target} exists already; give another name, or --force to overwrite it")


def check_folder(folder: Path) -> None:
    """Raise UsageError unless files can be written to `folder`, or `folder` can be created."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise UsageError(f"{existing} is {_file_type(existing)}, not a folder; give another output folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UsageError(f"the folder {existing} is not writable; change its mode, or give another folder")


def check_not_same_file(source: Path, target: Path) -> None:
    """Raise UsageError when both paths are the same file."""
    if target.exists() and source.samefile(target):
        raise UsageError(f"{target} is the input itself; give the output another name")


def _follow_link(target: Path) -> Path:
    return Path(os.path.realpath(target)) if target.is_symlink() else target


def _file_type(path: Path) -> str:
    if path.is_file():
        return "a file"
    if path.is_fifo():
        return "a pipe"
    return "a socket" if path.is_socket() else "a device"
