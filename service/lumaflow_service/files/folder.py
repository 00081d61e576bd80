"""Enhancing a folder: its images and videos, mirrored into another folder."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lumaflow.errors import LumaflowError
from lumaflow_service.files.atomic_write import check_apart, check_folder
from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.file_kind import IMAGES, VIDEOS, FileKind, kind_of, moves
from lumaflow_service.files.file_result import FileResult
from lumaflow_service.files.image import WRITABLE, enhance_image
from lumaflow_service.files.progress import ProgressBar
from lumaflow_service.files.run_lane import LaneJob
from lumaflow_service.files.video import enhance_video
from lumaflow_service.files.video_writer import SHAPES


@dataclass(slots=True)
class FolderCount:
    """What became of a folder: finished files, files that failed and why, files that are no media."""

    done: list[FileResult] = field(default_factory=list)
    failed: dict[Path, str] = field(default_factory=dict)
    skipped: int = 0


def enhance_folder(source: Path, target: Path, job: LaneJob, meter: ProgressBar) -> FolderCount:
    """Enhance every image and video below `source` into the same place below `target`.

    A file that fails stops no other. Raises UsageError when the folders are the same, or `target` is or looks
    like a file, or may not be written to.
    """
    _check_output(source, target)
    tally = FolderCount()
    for path in list(_files(source, target.resolve())):
        if path.suffix.lower() not in IMAGES | VIDEOS:
            tally.skipped += 1
            continue
        try:
            tally.done.append(_enhance_one(path, target / path.relative_to(source), job, meter))
        except (LumaflowError, OSError) as error:
            tally.failed[path] = str(error)
    if not (tally.done or tally.failed):
        raise UsageError(f"{source} holds no image and no video")
    return tally


def _check_output(source: Path, target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; the output of a folder is a folder")
    if not target.exists() and target.suffix.lower() in IMAGES | VIDEOS:
        raise UsageError(
            f"{target} is a file's name, and {source} is a folder, whose output is one too: leave"
            f" {target.suffix} out"
        )
    if target.resolve() == source.resolve():
        raise UsageError(f"{target} is the input itself; give the output another name")
    check_folder(target)


def _files(source: Path, output: Path) -> Iterator[Path]:
    """Files below `source` in order of their names, without hidden ones and without earlier output."""
    for path in sorted(source.iterdir()):
        if path.name.startswith(".") or path.resolve() == output:
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _files(path, output)
        elif path.is_file():
            yield path


def _enhance_one(path: Path, place: Path, job: LaneJob, meter: ProgressBar) -> FileResult:
    kind = kind_of(path)
    step = meter.start(path.name)
    place.parent.mkdir(parents=True, exist_ok=True)
    still = kind is FileKind.IMAGE and not moves(path)
    writable, suffix = (WRITABLE, ".png") if still else (SHAPES, ".mkv")
    place = _named(place, path.suffix.lower() in writable, suffix)
    check_apart(path, place)
    if not still:
        return enhance_video(path, place, job, step)
    outcome = enhance_image(path, place, job)
    step(1)
    return outcome


def _named(place: Path, writable: bool, suffix: str) -> Path:
    """The same name where it can be written, else with a suffix that can hold anything."""
    return place if writable else place.with_name(place.name + suffix)
