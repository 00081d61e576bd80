"""Enhances the images and videos of a folder into the same tree below another folder."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lumaflow.errors import LumaflowError
from lumaflow_service.files.atomic_write import check_folder, check_not_same_file
from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.file_kind import (
    IMAGE_SUFFIXES,
    VIDEO_SUFFIXES,
    FileKind,
    detect_kind,
    is_animated,
)
from lumaflow_service.files.file_result import FileResult
from lumaflow_service.files.image import WRITABLE_SUFFIXES, enhance_image
from lumaflow_service.files.progress import ProgressBar
from lumaflow_service.files.run_lane import LaneJob
from lumaflow_service.files.video import enhance_video
from lumaflow_service.files.video_writer import VIDEO_FORMATS


@dataclass(slots=True)
class BatchResult:
    """Enhanced files, failed files with the reason, and the number of files that are not media."""

    done: list[FileResult] = field(default_factory=list)
    failed: dict[Path, str] = field(default_factory=dict)
    skipped: int = 0


def enhance_folder(source: Path, target: Path, job: LaneJob, progress: ProgressBar) -> BatchResult:
    """Enhance every image and video below `source` into the same place below `target`.

    A failed file does not stop the others. Raises UsageError when the folders are the same, or when `target`
    is a file, has a file's suffix or is not writable.
    """
    _check_target_folder(source, target)
    result = BatchResult()
    for path in list(_files(source, target.resolve())):
        if path.suffix.lower() not in IMAGE_SUFFIXES | VIDEO_SUFFIXES:
            result.skipped += 1
            continue
        try:
            result.done.append(_enhance_file(path, target / path.relative_to(source), job, progress))
        except (LumaflowError, OSError) as error:
            result.failed[path] = str(error)
    if not (result.done or result.failed):
        raise UsageError(f"{source} contains no image and no video; give another folder")
    return result


def _check_target_folder(source: Path, target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; give a folder as the output of a folder")
    if not target.exists() and target.suffix.lower() in IMAGE_SUFFIXES | VIDEO_SUFFIXES:
        raise UsageError(
            f"expected a folder as the output of the folder {source}, got the file name {target}; leave"
            f" {target.suffix} out"
        )
    if target.resolve() == source.resolve():
        raise UsageError(f"{target} is the input itself; give the output another name")
    check_folder(target)


def _files(folder: Path, target: Path) -> Iterator[Path]:
    """Files below `folder` by name, without hidden files and without those in `target`."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.resolve() == target:
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _files(path, target)
        elif path.is_file():
            yield path


def _enhance_file(path: Path, target: Path, job: LaneJob, progress: ProgressBar) -> FileResult:
    kind = detect_kind(path)
    on_frame = progress.start(path.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    is_still = kind is FileKind.IMAGE and not is_animated(path)
    writable, fallback = (WRITABLE_SUFFIXES, ".png") if is_still else (VIDEO_FORMATS, ".mkv")
    if path.suffix.lower() not in writable:
        target = target.with_name(target.name + fallback)
    check_not_same_file(path, target)
    if not is_still:
        return enhance_video(path, target, job, on_frame)
    result = enhance_image(path, target, job)
    on_frame(1)
    return result
