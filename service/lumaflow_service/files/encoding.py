"""The video encoders of `lumaflow enhance`: containers, options and one scale of quality."""

from dataclasses import dataclass, field
from pathlib import Path

import av

from lumaflow_service.files.errors import UsageError

DEFAULT_QUALITY = 18
BEST_QUALITY, WORST_QUALITY = 1, 51


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder of FFmpeg.

    quality_option : name of its option for constant quality
    offset, worst : its quality is that of x264 plus `offset`, at most `worst`, for about the same picture
    preset_option, preset : name of its option for speed, and the default
    bits : the largest depth that is encoded
    even_only : subsamples only even sizes
    """

    quality_option: str
    offset: int
    worst: int
    preset_option: str
    preset: str
    options: dict[str, str] = field(default_factory=dict)
    bits: int = 10
    even_only: bool = True


_NVENC = {"rc": "vbr", "b": "0"}
ENCODERS = {
    "libx264": Encoder("crf", 0, 51, "preset", "fast"),
    "libx265": Encoder("crf", 4, 51, "preset", "fast", {"x265-params": "log-level=none"}),
    "libsvtav1": Encoder("crf", 12, 63, "preset", "8"),
    "libvpx-vp9": Encoder(
        "crf", 10, 63, "cpu-used", "5", {"b": "0", "deadline": "good", "row-mt": "1"}, bits=8, even_only=False
    ),
    "h264_nvenc": Encoder("cq", 2, 51, "preset", "p4", _NVENC, bits=8),
    "hevc_nvenc": Encoder("cq", 4, 51, "preset", "p4", _NVENC),
    "av1_nvenc": Encoder("cq", 12, 63, "preset", "p4", _NVENC),
}
_H26X = ("libx264", "libx265", "libsvtav1", "h264_nvenc", "hevc_nvenc", "av1_nvenc")


CONTAINERS = {
    ".mp4": ("mp4", _H26X),
    ".m4v": ("mp4", _H26X),
    ".mov": ("mov", tuple(name for name in _H26X if "av1" not in name)),
    ".mkv": ("matroska", _H26X),
    ".webm": ("webm", ("libvpx-vp9", "libsvtav1", "av1_nvenc")),
}
"""File suffix -> FFmpeg's name of the container, and its encoders; the first one is the default."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The options of the user.

    encoder : None: the default of the container
    quality : constant quality on the scale of x264's CRF, 1 to 51, lower is better
    preset : the encoder's own preset for speed; None: a default
    """

    encoder: str | None = None
    quality: int = DEFAULT_QUALITY
    preset: str | None = None


@dataclass(frozen=True, slots=True)
class VideoFormat:
    """The format of one output file: its container, its encoder and the encoder's options for FFmpeg."""

    container: str
    encoder: str
    options: dict[str, str]
    bits: int = 10
    even_only: bool = True


def video_format_of(target: Path, encoding: Encoding) -> VideoFormat:
    """The format of `target`. Raises UsageError for a suffix or an encoder that cannot be written."""
    suffix = target.suffix.lower()
    if suffix not in CONTAINERS:
        raise UsageError(f"{target} cannot be written as a video; give one of {', '.join(CONTAINERS)}")
    container, encoders = CONTAINERS[suffix]
    name = encoding.encoder or encoders[0]
    if name not in encoders or name not in av.codecs_available:
        available = ", ".join(one for one in encoders if one in av.codecs_available)
        raise UsageError(f"expected an encoder for {suffix}, one of {available}, got {name}")
    encoder = ENCODERS[name]
    options = {
        **encoder.options,
        encoder.quality_option: str(min(encoding.quality + encoder.offset, encoder.worst)),
        encoder.preset_option: encoding.preset or encoder.preset,
    }
    return VideoFormat(container, name, options, encoder.bits, encoder.even_only)
