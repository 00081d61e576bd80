"""Enhancing folders, and writing beside the target."""

import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from films import content, dim_frame, make_film
from lumaflow_service.files.atomic_write import check_apart, check_target, written
from lumaflow_service.files.errors import BadFileError, UsageError
from lumaflow_service.files.folder import FolderCount, enhance_folder
from lumaflow_service.files.progress import open_meter
from lumaflow_service.files.run_lane import LaneJob
from lumaflow_service.media.codec import encode_jpeg, encode_png


@pytest.fixture
def album(tmp_path: Path) -> Path:
    folder = tmp_path / "album"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "a.jpg").write_bytes(encode_jpeg(dim_frame(0)))
    (folder / "deep" / "b.png").write_bytes(encode_png(dim_frame(1)))
    make_film(folder / "deep" / "er" / "c.mp4", frames=3)
    make_film(folder / "d.ts", frames=3)
    (folder / "notes.txt").write_text("not media")
    (folder / ".hidden.jpg").write_bytes(b"never looked at")
    return folder


def enhance(source: Path, target: Path, **job: bool) -> FolderCount:
    with open_meter() as meter:
        return enhance_folder(source, target, LaneJob(**job), meter)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_images_and_videos_are_mirrored(album: Path, tmp_path: Path) -> None:
    tally = enhance(album, tmp_path / "out")
    assert names(tmp_path / "out") == ["a.jpg", "d.ts.mkv", "deep/b.png", "deep/er/c.mp4"]
    assert (len(tally.done), tally.failed, tally.skipped) == (4, {}, 1)
    assert len(content(tmp_path / "out" / "deep" / "er" / "c.mp4").times) == 3


def test_one_bad_file_stops_no_other(album: Path, tmp_path: Path) -> None:
    (album / "broken.png").write_bytes(encode_png(dim_frame(0))[:100])
    (album / "empty.mp4").touch()
    tally = enhance(album, tmp_path / "out")
    assert len(tally.done) == 4
    assert {path.name for path in tally.failed} == {"broken.png", "empty.mp4"}


def test_output_inside_the_input_is_not_enhanced_again(album: Path) -> None:
    enhance(album, album / "enhanced")
    tally = enhance(album, album / "enhanced", force=True)
    assert len(tally.done) == 4
    assert names(album / "enhanced") == ["a.jpg", "d.ts.mkv", "deep/b.png", "deep/er/c.mp4"]


def test_a_second_run_keeps_what_is_there(album: Path, tmp_path: Path) -> None:
    enhance(album, tmp_path / "out")
    tally = enhance(album, tmp_path / "out")
    assert tally.done == []
    assert all("--force" in why for why in tally.failed.values())


def test_folders_that_cannot_be_are_refused(album: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "bare").mkdir()
    with pytest.raises(UsageError, match="is a file"):
        enhance(album, tmp_path / "file")
    with pytest.raises(UsageError, match=r"out\.mp4 is a file's name"):
        enhance(album, tmp_path / "out.mp4")
    with pytest.raises(UsageError, match="file is a file, not a folder"):
        enhance(album, tmp_path / "file" / "out")
    with pytest.raises(UsageError, match="input itself"):
        enhance(album, album / "deep" / "..")
    with pytest.raises(UsageError, match="no image and no video"):
        enhance(tmp_path / "bare", tmp_path / "out")


# Targets


def test_a_target_is_there_only_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "out.bin"
    with written(target) as part:
        part.write_bytes(b"half")
        assert not target.exists()
        assert part.parent == target.parent
    assert target.read_bytes() == b"half"
    assert names(tmp_path) == ["out.bin"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_target_and_no_other_file(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out.bin"
    target.write_bytes(b"old")

    def write() -> None:
        with written(target, force=True) as part:
            part.write_bytes(b"new")
            raise error

    with pytest.raises(error):
        write()
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["out.bin"]


def test_a_target_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    with pytest.raises(UsageError, match="--force"):
        check_target(tmp_path / "there")
    check_target(tmp_path / "there", force=True)
    with pytest.raises(UsageError, match="is a folder"):
        check_target(tmp_path, force=True)
    with pytest.raises(UsageError, match="does not exist"):
        check_target(tmp_path / "missing" / "out.mp4")


def test_what_is_no_file_is_refused_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for target in (pipe, tmp_path / "link"):
        with pytest.raises(UsageError, match="is a pipe, not a file"), written(target, force=True) as part:
            part.touch()
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(tmp_path / "socket"))
        with pytest.raises(UsageError, match="is a socket, not a file"):
            check_target(tmp_path / "socket", force=True)
    assert pipe.is_fifo()


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "old").write_bytes(b"old")
    for name, behind in (("link", "far/old"), ("onward", "link"), ("dangling", "far/new")):
        (tmp_path / name).symlink_to(behind)
        with written(tmp_path / name, force=True) as part:
            assert part.parent == tmp_path / "far"
            part.write_bytes(name.encode())
        assert (tmp_path / name).is_symlink()
    assert (tmp_path / "far" / "old").read_bytes() == b"onward"
    assert (tmp_path / "far" / "new").read_bytes() == b"dangling"
    (tmp_path / "lost").symlink_to("nowhere/new")
    with pytest.raises(UsageError, match="does not exist"):
        check_target(tmp_path / "lost")


def test_a_link_in_the_output_folder_never_leads_to_the_input(album: Path, tmp_path: Path) -> None:
    before = (album / "a.jpg").read_bytes()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.jpg").symlink_to(album / "a.jpg")
    tally = enhance(album, tmp_path / "out", force=True)
    assert "input itself" in tally.failed[album / "a.jpg"]
    assert (album / "a.jpg").read_bytes() == before


def test_an_error_of_the_system_names_the_target(tmp_path: Path) -> None:
    with (
        pytest.raises(BadFileError, match=r"out\.bin cannot be written: No such file or directory$"),
        written(tmp_path / "out.bin"),
    ):
        pass
    with pytest.raises(FileNotFoundError, match="another"), written(tmp_path / "out.bin"):
        (tmp_path / "another").read_bytes()


def test_the_input_is_never_its_own_output(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    check_apart(tmp_path / "a", tmp_path / "b")
    with pytest.raises(UsageError, match="input itself"):
        check_apart(tmp_path / "a", tmp_path / "link")
