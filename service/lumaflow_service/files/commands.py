"""`lumaflow enhance` and `lumaflow features`: what was typed, carried out and reported."""

import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from lumaflow_service.files.atomic_write import check_apart
from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.features import open_features
from lumaflow_service.files.file_kind import READ, FileKind, kind_of, moves
from lumaflow_service.files.file_result import FileResult
from lumaflow_service.files.folder import FolderCount, enhance_folder
from lumaflow_service.files.image import WRITABLE, describe_image, enhance_image
from lumaflow_service.files.progress import ProgressBar, open_meter
from lumaflow_service.files.run_lane import LaneJob
from lumaflow_service.files.video import describe_video, enhance_video
from lumaflow_service.files.video_writer import SHAPES


def enhance(source: Path, target: Path, job: LaneJob, features: Path | None) -> int:
    """Enhance a video, an image or a folder and say what became of it; returns the exit status."""
    kind = kind_of(source)
    started = time.perf_counter()
    with open_meter() as meter:
        if kind is FileKind.FOLDER:
            if features:
                raise UsageError("--features takes one video or image; run lumaflow features on each file")
            tally = enhance_folder(source, target, job, meter)
        else:
            check_apart(source, target)
            tally = FolderCount([_enhance_file(kind, source, target, job, features, meter)])
    _report(tally, job, time.perf_counter() - started)
    return 1 if tally.failed else 0


def describe(source: Path, target: Path, job: LaneJob) -> int:
    """Write the features of a video or an image; returns the exit status."""
    kind = kind_of(source)
    if kind is FileKind.FOLDER:
        raise UsageError(f"{source} is a folder; name one video or image")
    check_apart(source, target)
    with open_meter() as meter, open_features(target, job.force) as file:
        if kind is FileKind.IMAGE:
            count = describe_image(source, job, file)
        else:
            count = describe_video(source, job, meter.start(source.name), file)
    print(f"{target}: features of {count} frame{'s' * (count != 1)}, on {job.device}")
    return 0


def _enhance_file(
    kind: FileKind, source: Path, target: Path, job: LaneJob, features: Path | None, meter: ProgressBar
) -> FileResult:
    if features:
        check_apart(source, features)
    with ExitStack() as stack:
        file = stack.enter_context(open_features(features, job.force)) if features else None
        if kind is FileKind.VIDEO and target.suffix.lower() in WRITABLE:
            raise UsageError(
                f"{source} is no image that is read: {READ};"
                " a video becomes one under a name that ends in .mp4"
            )
        if kind is FileKind.IMAGE and not (target.suffix.lower() in SHAPES and moves(source)):
            return enhance_image(source, target, job, file)
        return enhance_video(source, target, job, meter.start(source.name), file)


def _report(tally: FolderCount, job: LaneJob, seconds: float) -> None:
    for outcome in tally.done:
        _warn(f"{outcome.target}: {note}" for note in outcome.notes)
    _warn(why if str(path) in why else f"{path}: {why}" for path, why in tally.failed.items())
    frames = sum(outcome.frames for outcome in tally.done)
    rate = f"{frames} frame{'s' * (frames != 1)} in {seconds:.1f} s on {job.device}"
    if len(tally.done) == 1 and not tally.failed and not tally.skipped:
        (outcome,) = tally.done
        print(f"{outcome.target}: {outcome.width}x{outcome.height}, {rate}")
    else:
        counts = f"{len(tally.done)} enhanced, {len(tally.failed)} failed, {tally.skipped} not media"
        print(f"{counts}; {rate}")


def _warn(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"lumaflow: {line}", file=sys.stderr)
