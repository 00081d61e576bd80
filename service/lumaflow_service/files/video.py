"""Enhancing a video: times, rotation, colour tags, audio and subtitles stay as they are."""

from collections.abc import Callable
from pathlib import Path

import av

from lumaflow.frame import Frame
from lumaflow_service.files.atomic_write import check_target, written
from lumaflow_service.files.errors import BadFileError
from lumaflow_service.files.features import FeatureFile
from lumaflow_service.files.file_result import FileResult
from lumaflow_service.files.run_lane import LaneJob, enhanced
from lumaflow_service.files.side_by_side import SideBySide
from lumaflow_service.files.video_reader import VideoReader, open_film
from lumaflow_service.files.video_writer import VideoWriter, open_recording, shape_of
from lumaflow_service.media.color import chroma_steps

Step = Callable[[int | None], None]
"""Called after every frame with the number of frames to expect, None where the file does not say."""


def enhance_video(
    source: Path, target: Path, job: LaneJob, step: Step, features: FeatureFile | None = None
) -> FileResult:
    """Enhance every frame of `source` that can be decoded.

    A damaged or cut-off video gives what decodes, and the outcome notes how much is missing. Raises
    UsageError and BadFileError; then nothing is written.
    """
    shape = shape_of(target)
    check_target(target, job.force)
    with open_film(source, job.orientation) as film, written(target, job.force) as part:
        size = film.size
        outcome = FileResult(target, *size)
        split = SideBySide.of(film.display_matrix) if job.side_by_side else None
        try:
            with open_recording(part, shape, film, split.size(*size) if split else size) as recording:
                for raw, result in enhanced(film.frames(recording.copy), job):
                    picture, duration = film.taken(raw)
                    shown = picture.showing(result.frame.pixels)
                    both = picture.beside(shown, film.color, split) if split else shown
                    recording.write(both, result.frame.pts or 0, duration)
                    if features:
                        features.add(result)
                    outcome.frames += 1
                    _note_size(raw, outcome)
                    step(film.frames_announced)
        except av.FFmpegError as error:
            raise BadFileError(f"{target} cannot be written: {error.strerror or error}") from error
        _note_rest(film, recording, outcome)
    return outcome


def describe_video(source: Path, job: LaneJob, step: Step, features: FeatureFile) -> int:
    """Extract the features of every frame that can be decoded; returns their number."""
    count = 0
    with open_film(source, job.orientation) as film:
        for raw, result in enhanced(film.frames(lambda packet: None), job):
            film.taken(raw)
            features.add(result)
            count += 1
            step(film.frames_announced)
    return count


def _note_size(raw: Frame, outcome: FileResult) -> None:
    width, height = raw.geometry.width, raw.geometry.height
    if (width, height) != (outcome.width, outcome.height):
        outcome.note(
            f"the size changes to {width}x{height}; scaled to the first, {outcome.width}x{outcome.height}"
        )


def _note_rest(film: VideoReader, recording: VideoWriter, outcome: FileResult) -> None:
    if film.cut_off:
        outcome.note(f"cut off {film.cut_off}; the {outcome.frames} frames that are there are enhanced")
    for count, what in (
        (film.damaged, "damaged packets gave no frame"),
        (film.corrupt, "damaged frames are enhanced as they are and shape no other frame"),
        (film.restamped, "frames without a usable time are put after the one before"),
        (film.left_out, "further streams (video, data) are left out"),
    ):
        if count:
            outcome.note(f"{what}: {count}")
    if film.bits > recording.bits:
        outcome.note(f"{film.bits}-bit video is stored with {recording.bits} bits")
    if recording.pixel_format.startswith("yuv444p") and chroma_steps(film.first) != (1, 1):
        why = "turned chroma" if film.format.startswith("yuv444p") else "odd size"
        outcome.note(f"its {why} is stored with whole chroma (4:4:4)")
    for what in recording.without:
        outcome.note(f"{what} cannot be stored in {outcome.target.suffix} and are left out")
