"""The commands `lumaflow enhance` and `lumaflow features`."""

import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from lumaflow_service.files.atomic_write import check_not_same_file
from lumaflow_service.files.encoding import CONTAINERS
from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.features import open_features
from lumaflow_service.files.file_kind import READABLE_IMAGES, FileKind, detect_kind, is_animated
from lumaflow_service.files.file_result import FileResult
from lumaflow_service.files.folder import BatchResult, enhance_folder
from lumaflow_service.files.image import WRITABLE_SUFFIXES, enhance_image, extract_image_features
from lumaflow_service.files.progress import ProgressBar, open_progress_bar
from lumaflow_service.files.run_lane import LaneJob
from lumaflow_service.files.video import enhance_video, extract_video_features


def enhance(source: Path, target: Path, job: LaneJob, features: Path | None, jobs: int = 1) -> int:
    """Enhance a video, an image or a folder and print the result; returns the exit status.

    jobs : number of files of a folder that are enhanced at a time, each in a process
    """
    kind = detect_kind(source)
    started = time.perf_counter()
    with open_progress_bar() as progress:
        if kind is FileKind.FOLDER:
            if features:
                raise UsageError("--features takes one video or image; run lumaflow features on each file")
            result = enhance_folder(source, target, job, progress, jobs)
        else:
            check_not_same_file(source, target)
            result = BatchResult([_enhance_file(kind, source, target, job, features, progress)])
    _print_result(result, job, time.perf_counter() - started)
    return 1 if result.failed else 0


def extract_features(source: Path, target: Path, job: LaneJob) -> int:
    """Write the features of a video or an image to an npz file; returns the exit status."""
    kind = detect_kind(source)
    if kind is FileKind.FOLDER:
        raise UsageError(f"{source} is a folder; give one video or image")
    check_not_same_file(source, target)
    with open_progress_bar() as progress, open_features(target, job.force) as file:
        if kind is FileKind.IMAGE:
            count = extract_image_features(source, job, file)
        else:
            count = extract_video_features(source, job, progress.start(source.name), file)
    print(f"{target}: features of {count} frame{'s' * (count != 1)}, on {job.device}")
    return 0


def _enhance_file(
    kind: FileKind, source: Path, target: Path, job: LaneJob, features: Path | None, progress: ProgressBar
) -> FileResult:
    if features:
        check_not_same_file(source, features)
    with ExitStack() as stack:
        file = stack.enter_context(open_features(features, job.force)) if features else None
        suffix = target.suffix.lower()
        if kind is FileKind.VIDEO and suffix in WRITABLE_SUFFIXES:
            raise UsageError(
                f"{source} is not an image; expected one of {READABLE_IMAGES}, or for a video an output name"
                " that ends in .mp4"
            )
        if kind is FileKind.IMAGE and not (suffix in CONTAINERS and is_animated(source)):
            return enhance_image(source, target, job, file)
        return enhance_video(source, target, job, progress.start(source.name), file)


def _print_result(result: BatchResult, job: LaneJob, seconds: float) -> None:
    for file in result.done:
        _warn(f"{file.target}: {warning}" for warning in file.warnings)
    _warn(why if str(path) in why else f"{path}: {why}" for path, why in result.failed.items())
    frames = sum(file.frames for file in result.done)
    rate = f"{frames} frame{'s' * (frames != 1)} in {seconds:.1f} s on {job.device}"
    if len(result.done) == 1 and not result.failed and not result.skipped:
        (file,) = result.done
        print(f"{file.target}: {file.width}x{file.height}, {rate}")
    else:
        counts = f"{len(result.done)} enhanced, {len(result.failed)} failed, {result.skipped} not media"
        print(f"{counts}; {rate}")


def _warn(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"lumaflow: {line}", file=sys.stderr)
