"""Enhances an image with its own LUT, upright by its EXIF orientation; depth, alpha and ICC profile stay."""

from dataclasses import replace
from pathlib import Path

from lumaflow.frame import Frame, Plane
from lumaflow.options import ColorMode, Output
from lumaflow_service.files.atomic_write import atomic_write, check_target
from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.features import FeatureFile
from lumaflow_service.files.file_kind import is_animated
from lumaflow_service.files.file_result import FileResult
from lumaflow_service.files.run_lane import LaneJob, run_lane
from lumaflow_service.files.side_by_side import SideBySide
from lumaflow_service.files.still_image import StillImage, read_still_image
from lumaflow_service.media.codec import encode_jpeg, encode_png
from lumaflow_service.media.codec.icc_profile import insert_icc_profile
from lumaflow_service.media.codec.tiff import encode_tiff

JPEG_SUFFIXES = frozenset({".jpg", ".jpeg"})
TIFF_SUFFIXES = frozenset({".tif", ".tiff"})
WRITABLE_SUFFIXES = JPEG_SUFFIXES | TIFF_SUFFIXES | {".png"}
JPEG_QUALITY = 95


def enhance_image(
    source: Path, target: Path, job: LaneJob, features: FeatureFile | None = None
) -> FileResult:
    """Enhance one image, of an animation the first frame.

    Raises UsageError and BadFileError; then `target` is not written.
    """
    if target.suffix.lower() not in WRITABLE_SUFFIXES:
        raise UsageError(
            f"{target} cannot be written as an image; give a name that ends in .jpg, .png or .tif"
        )
    check_target(target, job.force)
    image = _read(source, job)
    geometry = image.frame.geometry
    file_result = FileResult(target, geometry.width, geometry.height, frames=1)
    with atomic_write(target, job.force) as temporary:
        for raw, result in run_lane([image.frame], _with_output_depth(job, image, target)):
            data = _encode(image, raw, result.frame, target, job.side_by_side)
            profile = image.output_profile
            temporary.write_bytes(insert_icc_profile(data, profile) if profile else data)
            if features:
                features.add(result)
    _add_warnings(source, image, file_result)
    return file_result


def extract_image_features(source: Path, job: LaneJob, features: FeatureFile) -> int:
    """Extract the features of one image; returns the number of frames, 1."""
    for _, result in run_lane([_read(source, job).frame], job):
        features.add(result)
    return 1


def _read(source: Path, job: LaneJob) -> StillImage:
    image = read_still_image(source, job.orientation)
    if image.color16 is not None and job.options.equalization.color is ColorMode.LUMA:
        raise UsageError(f"{source} has 16-bit colour, which is enhanced by value; leave --color luma out")
    return image


def _with_output_depth(job: LaneJob, image: StillImage, target: Path) -> LaneJob:
    """The job with the 8-bit LUT for a JPEG of gray above 8 bits."""
    if image.bits == 8 or image.color16 is not None or target.suffix.lower() not in JPEG_SUFFIXES:
        return job
    return replace(job, options=replace(job.options, output=Output.DISPLAY))


def _encode(image: StillImage, raw: Frame, enhanced: Frame, target: Path, side_by_side: bool) -> bytes:
    suffix = target.suffix.lower()
    frames = (raw, enhanced) if side_by_side else (enhanced,)
    if suffix in JPEG_SUFFIXES:
        return encode_jpeg(_join([image.display_pixels(frame) for frame in frames]), JPEG_QUALITY)
    if suffix in TIFF_SUFFIXES:
        return encode_tiff(_join([image.lossless_pixels(frame, False) for frame in frames]), image.bits)
    return encode_png(_join([image.lossless_pixels(frame, True) for frame in frames]))


def _join(parts: list[Plane]) -> Plane:
    return SideBySide().join(*parts) if len(parts) == 2 else parts[0]


def _add_warnings(source: Path, image: StillImage, result: FileResult) -> None:
    if image.count > 1:
        hint = "; with an output name that ends in .mp4 all are enhanced" if is_animated(source) else ""
        result.warn(f"only the first of its {image.count} frames is enhanced{hint}")
    if image.icc_profile and not image.output_profile:
        result.warn("its ICC profile is left out: it is neither RGB nor gray as the output is")
    if result.target.suffix.lower() not in JPEG_SUFFIXES:
        return
    if image.bits > 8:
        result.warn(f"its {image.bits} bits are reduced to the 8 bits of a JPEG; .png and .tif keep them")
    if image.has_alpha:
        result.warn("a JPEG has no alpha channel; .png and .tif keep it")
