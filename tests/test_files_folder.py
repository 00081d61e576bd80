"""Enhancing folders."""

import os
from pathlib import Path

import pytest

from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.folder import BatchResult, enhance_folder
from lumaflow_service.files.process_pool import run_in_processes
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


def test_a_symlink_in_the_output_folder_to_the_input_is_rejected(media_folder: Path, tmp_path: Path) -> None:
    before = (media_folder / "a.jpg").read_bytes()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.jpg").symlink_to(media_folder / "a.jpg")
    result = enhance(media_folder, tmp_path / "out", force=True)
    assert "input itself" in result.failed[media_folder / "a.jpg"]
    assert (media_folder / "a.jpg").read_bytes() == before


def test_files_in_several_processes_give_the_same_result(media_folder: Path, tmp_path: Path) -> None:
    (media_folder / "broken.png").write_bytes(encode_png(dim_frame(0))[:100])
    enhance(media_folder, tmp_path / "one")
    with open_progress_bar() as progress:
        result = enhance_folder(media_folder, tmp_path / "two", LaneJob(), progress, jobs=2)
    assert names(tmp_path / "two") == names(tmp_path / "one")
    assert {path.name for path in result.failed} == {"broken.png"}
    for name in ("a.jpg", "deep/b.png", "deep/er/c.mp4"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def exit_on_two(number: int) -> int:
    if number == 2:
        os._exit(1)
    return number * number


def test_only_the_call_whose_process_dies_has_no_result() -> None:
    finished: list[int] = []
    results = run_in_processes(exit_on_two, [(n,) for n in range(5)], 2, lambda: finished.append(1))
    assert results == [0, 1, None, 9, 16]
    assert len(finished) == 4
