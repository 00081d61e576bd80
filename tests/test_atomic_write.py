"""Atomic writes, and checks of output paths."""

import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from lumaflow_service.files.atomic_write import (
    atomic_write,
    check_folder,
    check_not_same_file,
    check_target,
)
from lumaflow_service.files.errors import BadFileError, UsageError


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_target_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "out.bin"
    with atomic_write(target) as temporary:
        temporary.write_bytes(b"half")
        assert not target.exists()
        assert temporary.parent == target.parent
    assert target.read_bytes() == b"half"
    assert names(tmp_path) == ["out.bin"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_target_and_no_other_file(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out.bin"
    target.write_bytes(b"old")

    def write() -> None:
        with atomic_write(target, force=True) as temporary:
            temporary.write_bytes(b"new")
            raise error

    with pytest.raises(error):
        write()
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["out.bin"]


def test_an_existing_target_is_rejected_without_force(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    with pytest.raises(UsageError, match="--force"):
        check_target(tmp_path / "there")
    check_target(tmp_path / "there", force=True)
    with pytest.raises(UsageError, match="is a folder"):
        check_target(tmp_path, force=True)
    with pytest.raises(UsageError, match="does not exist"):
        check_target(tmp_path / "missing" / "out.mp4")


def test_a_pipe_or_socket_is_rejected_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for target in (pipe, tmp_path / "link"):
        with (
            pytest.raises(UsageError, match="is a pipe, not a file"),
            atomic_write(target, force=True) as temporary,
        ):
            temporary.touch()
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(tmp_path / "socket"))
        with pytest.raises(UsageError, match="is a socket, not a file"):
            check_target(tmp_path / "socket", force=True)
    assert pipe.is_fifo()


def test_a_symlink_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "old").write_bytes(b"old")
    for name, behind in (("link", "far/old"), ("onward", "link"), ("dangling", "far/new")):
        (tmp_path / name).symlink_to(behind)
        with atomic_write(tmp_path / name, force=True) as temporary:
            assert temporary.parent == tmp_path / "far"
            temporary.write_bytes(name.encode())
        assert (tmp_path / name).is_symlink()
    assert (tmp_path / "far" / "old").read_bytes() == b"onward"
    assert (tmp_path / "far" / "new").read_bytes() == b"dangling"
    (tmp_path / "lost").symlink_to("nowhere/new")
    with pytest.raises(UsageError, match="does not exist"):
        check_target(tmp_path / "lost")


def test_a_system_error_names_the_target(tmp_path: Path) -> None:
    with (
        pytest.raises(BadFileError, match=r"out\.bin cannot be written: No such file or directory$"),
        atomic_write(tmp_path / "out.bin"),
    ):
        pass
    with pytest.raises(FileNotFoundError, match="another"), atomic_write(tmp_path / "out.bin"):
        (tmp_path / "another").read_bytes()


def test_the_input_is_never_its_own_output(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    check_not_same_file(tmp_path / "a", tmp_path / "b")
    with pytest.raises(UsageError, match="input itself"):
        check_not_same_file(tmp_path / "a", tmp_path / "link")


def test_a_folder_that_can_be_created_is_accepted(tmp_path: Path) -> None:
    check_folder(tmp_path / "new" / "folder")
    assert not (tmp_path / "new").exists()


def test_a_folder_below_a_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file is a file, not a folder"):
        check_folder(tmp_path / "file" / "folder")


def test_a_folder_without_write_permission_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    with pytest.raises(UsageError, match="is not writable"):
        check_folder(tmp_path)
