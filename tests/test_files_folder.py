"""Enhancing folders, and atomic writes."""

import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from lumaflow_service.files.atomic_write import atomic_write, check_not_same_file, check_target
from lumaflow_service.files.errors import BadFileError, UsageError
from lumaflow_service.files.folder import BatchResult, enhance_folder
from lumaflow_service.files.progress import open_progress_bar
from lumaflow_service.files.run_lane import LaneJob
from lumaflow_service.media.codec import encode_jpeg, encode_png
from make_video import dim_frame, make_video, read_video


@pytest.fixture
def media_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "media_folder"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "a.jpg").write_bytes(encode_jpeg(dim_frame(0)))
    (folder / "deep" / "b.png").write_bytes(encode_png(dim_frame(1)))
    make_video(folder / "deep" / "er" / "c.mp4", frames=3)
    make_video(folder / "d.ts", frames=3)
    (folder / "notes.txt").write_text("not media")
    (folder / ".hidden.jpg").write_bytes(b"never read")
    return folder


def enhance(source: Path, target: Path, **job: bool) -> BatchResult:
    with open_progress_bar() as progress:
        return enhance_folder(source, target, LaneJob(**job), progress)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_images_and_videos_are_written_to_the_same_tree(media_folder: Path, tmp_path: Path) -> None:
    result = enhance(media_folder, tmp_path / "out")
    assert names(tmp_path / "out") == ["a.jpg", "d.ts.mkv", "deep/b.png", "deep/er/c.mp4"]
    assert (len(result.done), result.failed, result.skipped) == (4, {}, 1)
    assert len(read_video(tmp_path / "out" / "deep" / "er" / "c.mp4").times) == 3


def test_a_failed_file_does_not_stop_the_others(media_folder: Path, tmp_path: Path) -> None:
    (media_folder / "broken.png").write_bytes(encode_png(dim_frame(0))[:100])
    (media_folder / "empty.mp4").touch()
    result = enhance(media_folder, tmp_path / "out")
    assert len(result.done) == 4
    assert {path.name for path in result.failed} == {"broken.png", "empty.mp4"}


def test_output_inside_the_input_is_not_enhanced_again(media_folder: Path) -> None:
    enhance(media_folder, media_folder / "enhanced")
    result = enhance(media_folder, media_folder / "enhanced", force=True)
    assert len(result.done) == 4
    assert names(media_folder / "enhanced") == ["a.jpg", "d.ts.mkv", "deep/b.png", "deep/er/c.mp4"]


def test_a_second_run_does_not_overwrite(media_folder: Path, tmp_path: Path) -> None:
    enhance(media_folder, tmp_path / "out")
    result = enhance(media_folder, tmp_path / "out")
    assert result.done == []
    assert all("--force" in why for why in result.failed.values())


def test_unusable_folders_are_rejected(media_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "bare").mkdir()
    with pytest.raises(UsageError, match="is a file"):
        enhance(media_folder, tmp_path / "file")
    with pytest.raises(UsageError, match=r"got the file name .*out\.mp4"):
        enhance(media_folder, tmp_path / "out.mp4")
    with pytest.raises(UsageError, match="file is a file, not a folder"):
        enhance(media_folder, tmp_path / "file" / "out")
    with pytest.raises(UsageError, match="input itself"):
        enhance(media_folder, media_folder / "deep" / "..")
    with pytest.raises(UsageError, match="no image and no video"):
        enhance(tmp_path / "bare", tmp_path / "out")


# Targets


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


def test_a_symlink_in_the_output_folder_to_the_input_is_rejected(media_folder: Path, tmp_path: Path) -> None:
    before = (media_folder / "a.jpg").read_bytes()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.jpg").symlink_to(media_folder / "a.jpg")
    result = enhance(media_folder, tmp_path / "out", force=True)
    assert "input itself" in result.failed[media_folder / "a.jpg"]
    assert (media_folder / "a.jpg").read_bytes() == before


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
