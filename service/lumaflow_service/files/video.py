"""Enhances a video. Times, rotation, colour tags, audio and subtitles stay as they are."""

from pathlib import Path

import av

from lumaflow.frame import Frame
from lumaflow_service.files.atomic_write import atomic_write, check_target
from lumaflow_service.files.encoding import video_format_of
from lumaflow_service.files.errors import BadFileError
from lumaflow_service.files.features import FeatureFile
from lumaflow_service.files.file_result import FileResult
from lumaflow_service.files.progress import FrameCallback
from lumaflow_service.files.run_lane import LaneJob, run_lane
from lumaflow_service.files.side_by_side import SideBySide
from lumaflow_service.files.video_reader import VideoReader, open_video
from lumaflow_service.files.video_writer import VideoWriter, create_video
from lumaflow_service.media.pixel_format import chroma_subsampling


def enhance_video(
    source: Path, target: Path, job: LaneJob, on_frame: FrameCallback, features: FeatureFile | None = None
) -> FileResult:
    """Enhance every frame of `source` that can be decoded.

    A damaged or truncated video gives the frames that decode, and warnings in the result. Raises UsageError
    and BadFileError; then `target` is not written.
    """
    video_format = video_format_of(target, job.encoding)
    check_target(target, job.force)
    with (
        open_video(source, job.orientation, job.with_chroma) as reader,
        atomic_write(target, job.force) as temporary,
    ):
        size = reader.size
        file_result = FileResult(target, *size)
        layout = SideBySide.of(reader.display_matrix) if job.side_by_side else None
        output_size = layout.size(*size) if layout else size
        try:
            with create_video(temporary, video_format, reader, output_size) as writer:
                for raw, result in run_lane(reader.frames(writer.copy), job):
                    planes, duration = reader.pop_planes(raw)
                    output = planes.with_planes(result.frame.planes)
                    if layout:
                        output = planes.side_by_side(output, reader.tags, layout)
                    writer.write(output, result.frame.pts or 0, duration)
                    if features:
                        features.add(result)
                    file_result.frames += 1
                    _warn_of_size(raw, file_result)
                    on_frame(reader.expected_frames)
        except av.FFmpegError as error:
            raise BadFileError(f"{target} cannot be written: {error.strerror or error}") from error
        _add_warnings(reader, writer, file_result)
    return file_result


def extract_video_features(source: Path, job: LaneJob, on_frame: FrameCallback, features: FeatureFile) -> int:
    """Extract the features of every frame that can be decoded; returns their number."""
    count = 0
    with open_video(source, job.orientation, job.with_chroma) as reader:
        for raw, result in run_lane(reader.frames(lambda packet: None), job):
            reader.pop_planes(raw)
            features.add(result)
            count += 1
            on_frame(reader.expected_frames)
    return count


def _warn_of_size(raw: Frame, result: FileResult) -> None:
    width, height = raw.geometry.width, raw.geometry.height
    if (width, height) != (result.width, result.height):
        result.warn(
            f"the size changes to {width}x{height}; scaled to the first, {result.width}x{result.height}"
        )


def _add_warnings(reader: VideoReader, writer: VideoWriter, result: FileResult) -> None:
    if reader.truncated:
        result.warn(f"truncated {reader.truncated}; the {result.frames} frames of it are enhanced")
    for count, text in (
        (reader.damaged, "damaged packets without a frame"),
        (reader.corrupt, "corrupt frames, enhanced but not used for the LUT of other frames"),
        (reader.restamped, "frames without a usable pts, placed after the previous frame"),
        (reader.left_out, "other streams (video, data), left out"),
    ):
        if count:
            result.warn(f"{text}: {count}")
    if reader.bits > writer.bits:
        result.warn(f"{reader.bits}-bit video is stored with {writer.bits} bits")
    subsampling = chroma_subsampling(reader.first)
    if subsampling in ((1, 1), (2, 1)) and writer.pixel_format.startswith(("yuv420p", "p010")):
        result.warn(f"{writer.encoder} has no such chroma: it is stored as 4:2:0")
    if writer.pixel_format.startswith("yuv444p") and subsampling != (1, 1):
        why = "4:2:2 chroma is rotated" if reader.pixel_format.startswith("yuv444p") else "size is odd"
        result.warn(f"its {why}; it is stored as 4:4:4")
    for subtitles in writer.left_out:
        result.warn(f"{subtitles} cannot be stored in {result.target.suffix} and are left out")
