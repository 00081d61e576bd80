"""Enhances the images and videos of a folder into the same tree below another folder."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lumaflow.errors import LumaflowError
from lumaflow_service.files.atomic_write import check_folder, check_not_same_file
from lumaflow_service.files.encoding import CONTAINERS
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
from lumaflow_service.files.process_pool import run_in_processes
from lumaflow_service.files.progress import FrameCallback, ProgressBar
from lumaflow_service.files.run_lane import LaneJob
from lumaflow_service.files.video import enhance_video


@dataclass(slots=True)
class BatchResult:
    """Enhanced files, failed files with the reason, and the number of files that are not media."""

    done: list[FileResult] = field(default_factory=list)
    failed: dict[Path, str] = field(default_factory=dict)
    skipped: int = 0


def enhance_folder(
    source: Path, target: Path, job: LaneJob, progress: ProgressBar, jobs: int = 1
) -> BatchResult:
    """Enhance every image and video below `source` into the same place below `target`.

    With `jobs` above 1 so many files are enhanced at a time, each in a process. A failed file does not stop
    the others. Raises UsageError when the folders are the same, or when `target` is a file, has a file's
    suffix or is not writable.
    """
    _check_target_folder(source, target)
    files = list(_files(source, target.resolve()))
    media = [path for path in files if path.suffix.lower() in IMAGE_SUFFIXES | VIDEO_SUFFIXES]
    if not media:
        raise UsageError(f"{source} contains no image and no video; give another folder")
    pairs = [(path, target / path.relative_to(source)) for path in media]
    result = BatchResult(skipped=len(files) - len(media))
    outcomes = _one_by_one(pairs, job, progress) if jobs == 1 else _in_processes(pairs, job, progress, jobs)
    for path, outcome in zip(media, outcomes, strict=True):
        if isinstance(outcome, FileResult):
            result.done.append(outcome)
        else:
            result.failed[path] = outcome
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


def _one_by_one(
    pairs: Iterable[tuple[Path, Path]], job: LaneJob, progress: ProgressBar
) -> Iterator[FileResult | str]:
    for path, target in pairs:
        yield enhance_media(path, target, job, progress.start(path.name))


def _in_processes(
    pairs: list[tuple[Path, Path]], job: LaneJob, progress: ProgressBar, jobs: int
) -> Iterator[FileResult | str]:
    advance = progress.start("files", unit="files")
    arguments = [(path, target, job) for path, target in pairs]
    for outcome in run_in_processes(enhance_media, arguments, jobs, lambda: advance(len(pairs))):
        yield outcome or "the process that enhanced it died, twice; see what is wrong with the file"


def enhance_media(
    path: Path, target: Path, job: LaneJob, on_frame: FrameCallback = lambda expected: None
) -> FileResult | str:
    """Enhance one image or video of a folder; returns the reason as text when it fails."""
    try:
        return _enhance_file(path, target, job, on_frame)
    except (LumaflowError, OSError) as error:
        return str(error)


def _enhance_file(path: Path, target: Path, job: LaneJob, on_frame: FrameCallback) -> FileResult:
    kind = detect_kind(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    is_still = kind is FileKind.IMAGE and not is_animated(path)
    writable, fallback = (WRITABLE_SUFFIXES, ".png") if is_still else (CONTAINERS, ".mkv")
    if path.suffix.lower() not in writable:
        target = target.with_name(target.name + fallback)
    check_not_same_file(path, target)
    if not is_still:
        return enhance_video(path, target, job, on_frame)
    result = enhance_image(path, target, job)
    on_frame(1)
    return result
