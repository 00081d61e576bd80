"""Enhancing a still image by its own mapping, turned upright by its EXIF tag; depth, alpha, profile stay."""

from dataclasses import replace
from pathlib import Path

from lumaflow.frame import Frame
from lumaflow.options import ColorMode, Output
from lumaflow_service.files.atomic_write import check_target, written
from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.features import FeatureFile
from lumaflow_service.files.file_kind import moves
from lumaflow_service.files.file_result import FileResult
from lumaflow_service.files.run_lane import LaneJob, enhanced
from lumaflow_service.files.side_by_side import SideBySide
from lumaflow_service.files.still import StillImage, read_still
from lumaflow_service.media.codec import encode_jpeg, encode_png
from lumaflow_service.media.codec.profile import with_profile
from lumaflow_service.media.codec.tiff import encode_tiff

JPEG = frozenset({".jpg", ".jpeg"})
TIFF = frozenset({".tif", ".tiff"})
WRITABLE = JPEG | TIFF | {".png"}
"""Suffixes of images that can be written."""
QUALITY = 95


def enhance_image(
    source: Path, target: Path, job: LaneJob, features: FeatureFile | None = None
) -> FileResult:
    """Enhance one image, of an animated one the first picture. Raises UsageError, BadFileError; then nothing
    is written."""
    if target.suffix.lower() not in WRITABLE:
        raise UsageError(
            f"{target} cannot be written as an image; give a name that ends in .jpg, .png or .tif"
        )
    check_target(target, job.force)
    still = _read(source, job)
    outcome = FileResult(target, still.frame.geometry.width, still.frame.geometry.height, frames=1)
    with written(target, job.force) as part:
        for raw, result in enhanced([still.frame], _for(still, target, job)):
            data = _encoded(still, raw, result.frame, target, job.side_by_side)
            profile = still.fitting_profile
            part.write_bytes(with_profile(data, profile) if profile else data)
            if features:
                features.add(result)
    _note(source, still, outcome)
    return outcome


def describe_image(source: Path, job: LaneJob, features: FeatureFile) -> int:
    """Extract the features of one image; returns the number of frames, 1."""
    for _, result in enhanced([_read(source, job).frame], job):
        features.add(result)
    return 1


def _read(source: Path, job: LaneJob) -> StillImage:
    still = read_still(source, job.orientation)
    if still.colors is not None and job.options.equalization.color is ColorMode.LUMA:
        raise UsageError(f"{source} has 16-bit colour, which is mapped by its value; leave --color luma out")
    return still


def _for(still: StillImage, target: Path, job: LaneJob) -> LaneJob:
    """The job as the target wants it: a JPEG of deep gray gets the mapping that is made for 8 bits."""
    if still.bits == 8 or still.colors is not None or target.suffix.lower() not in JPEG:
        return job
    return replace(job, options=replace(job.options, output=Output.DISPLAY))


def _encoded(still: StillImage, raw: Frame, enhanced: Frame, target: Path, side_by_side: bool) -> bytes:
    suffix = target.suffix.lower()
    if suffix in JPEG:
        shown = still.shown(enhanced)
        return encode_jpeg(SideBySide().join(still.shown(raw), shown) if side_by_side else shown, QUALITY)
    aligned = suffix not in TIFF
    stored = still.stored(enhanced, aligned)
    if side_by_side:
        stored = SideBySide().join(still.stored(raw, aligned), stored)
    return encode_png(stored) if aligned else encode_tiff(stored, still.bits)


def _note(source: Path, still: StillImage, outcome: FileResult) -> None:
    if still.count > 1:
        hint = "; under a name that ends in .mp4 it becomes a video of all" if moves(source) else ""
        outcome.note(f"the first of its {still.count} pictures is enhanced{hint}")
    if still.profile and not still.fitting_profile:
        outcome.note("its colour profile is left out: it is not one of the RGB or gray that is stored")
    if outcome.target.suffix.lower() not in JPEG:
        return
    if still.bits > 8:
        outcome.note(f"its {still.bits} bits are shown in the 8 of a JPEG; .png and .tif keep them")
    if still.has_alpha:
        outcome.note("its alpha is left out of a JPEG; .png and .tif keep it")
