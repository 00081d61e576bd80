"""Retention of output files by age and by free disk space."""

from pathlib import Path

import pytest

from lumaflow_service.camera.outputs.retention_folder import RetentionFolder
from lumaflow_service.config.camera_errors import OutputError
from lumaflow_service.config.model import (
    RetentionConfig,
)
from output_frames import WALL


def test_old_files_are_deleted_and_foreign_files_are_kept(tmp_path: Path) -> None:
    folder = RetentionFolder(RetentionConfig(path="r", keep_days=2, keep_free_gb=0), tmp_path)
    old = folder.new_path(WALL - 3 * 86_400, ".mp4")
    old.touch()
    recent = folder.new_path(WALL - 86_400, ".mp4")
    recent.touch()
    foreign = old.with_name("holiday.mp4")
    foreign.touch()
    assert folder.new_path(WALL, ".mp4").name == "20270115T080000000Z.mp4"
    assert sorted(old.parent.iterdir()) == sorted([recent, foreign])


def test_paths_are_unique(tmp_path: Path) -> None:
    folder = RetentionFolder(RetentionConfig(path="r", keep_free_gb=0), tmp_path)
    names = []
    for _ in range(3):
        path = folder.new_path(WALL, ".mp4")
        path.touch()
        names.append(path.name)
    assert names == [f"20270115T080000000Z{tail}.mp4" for tail in ("", "-1", "-2")]


def test_the_oldest_files_are_deleted_while_too_little_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RetentionFolder(RetentionConfig(path="r", keep_free_gb=5), tmp_path)
    monkeypatch.setattr(RetentionFolder, "_check_free_bytes", lambda _: 6e9)
    for n in range(4):
        folder.new_path(WALL + n, ".mp4").touch()
    left = (tmp_path / "r").iterdir
    monkeypatch.setattr(RetentionFolder, "_check_free_bytes", lambda _: 3e9 + 1e9 * (4 - len(list(left()))))
    folder.delete_old(WALL)
    assert [path.name[:15] for path in sorted(left())] == ["20270115T080002", "20270115T080003"]
    monkeypatch.setattr(RetentionFolder, "_check_free_bytes", lambda _: 1e9)
    with pytest.raises(OutputError, match="expected at least 5 GB of free disk space, got less"):
        folder.new_path(WALL, ".mp4")


def test_the_folder_is_listed_at_most_every_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, listed = RetentionFolder(RetentionConfig(path="r", keep_days=1, keep_free_gb=0), tmp_path), []
    monkeypatch.setattr(RetentionFolder, "_files", lambda _: listed.append(1) or [])
    for n in range(250):
        folder.new_path(WALL + n / 25, ".npz")
    assert len(listed) == 1
    folder.new_path(WALL + 10, ".npz")
    assert len(listed) == 2


def test_the_open_file_is_never_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RetentionFolder(RetentionConfig(path="r", keep_days=1, keep_free_gb=0), tmp_path)
    open_file, closed_file = (folder.new_path(WALL + n, ".mp4") for n in range(2))
    open_file.touch(), closed_file.touch()
    folder.delete_old(WALL + 10 * 86_400, open_file)
    assert list(open_file.parent.iterdir()) == [open_file]


def test_a_whole_file_is_written_under_its_final_name_only(tmp_path: Path) -> None:
    folder = RetentionFolder(RetentionConfig(path="r", keep_free_gb=0), tmp_path)
    folder.write_file(WALL, ".jpg", b"data")
    (path,) = (tmp_path / "r").iterdir()
    assert (path.name, path.read_bytes()) == ("20270115T080000000Z.jpg", b"data")


def test_the_free_space_is_known_after_the_first_check(tmp_path: Path) -> None:
    folder = RetentionFolder(RetentionConfig(path="r", keep_free_gb=0), tmp_path)
    assert folder.free_bytes is None
    folder.new_path(WALL, ".mp4")
    assert folder.free_bytes is not None
    assert folder.free_bytes > 0


def test_a_folder_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "r").touch()
    folder = RetentionFolder(RetentionConfig(path="r", keep_free_gb=0), tmp_path)
    with pytest.raises(OSError, match="File exists"):
        folder.new_path(WALL, ".mp4")
