"""FFmpeg's pixel formats: their names, depth and chroma subsampling. This module imports no FFmpeg."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumaflow.formats import PixelFormat

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

PIXEL_FORMATS = {
    "gray": PixelFormat.GRAY8,
    "gray10le": PixelFormat.GRAY10,
    "gray12le": PixelFormat.GRAY12,
    "gray14le": PixelFormat.GRAY14,
    "gray16le": PixelFormat.GRAY16,
    "bgr24": PixelFormat.BGR24,
    "rgb24": PixelFormat.RGB24,
    "nv12": PixelFormat.NV12,
    "yuv420p": PixelFormat.I420,
    "yuvj420p": PixelFormat.I420,
    "p010le": PixelFormat.P010,
    "yuyv422": PixelFormat.YUYV,
    "uyvy422": PixelFormat.UYVY,
}
"""FFmpeg's formats that the pipeline reads without conversion."""
FFMPEG_NAMES = {pixel_format: name for name, pixel_format in reversed(PIXEL_FORMATS.items())}
"""The inverse; of two names the first."""
TEN_BIT = "10le"
"""Suffix of FFmpeg's planar YUV formats of 10 bits."""

Subsampling = tuple[int, int]
"""Luma samples for each chroma sample, horizontally and vertically: (2, 2) is 4:2:0."""


def is_rgb(frame: VideoFrame) -> bool:
    """Whether a decoded frame has RGB or palette pixels."""
    return frame.format.is_rgb or frame.format.has_palette


def is_gray(frame: VideoFrame) -> bool:
    """Whether a decoded frame has luma alone."""
    return frame.format.name.startswith("gray")


def bit_depth(frame: VideoFrame) -> int:
    """Bits of a decoded sample."""
    return max(component.bits for component in frame.format.components)


def chroma_subsampling(frame: VideoFrame) -> Subsampling:
    """The chroma subsampling of a decoded frame; (2, 2) for RGB and gray, which are encoded as 4:2:0."""
    if is_rgb(frame) or len(frame.format.components) < 3:
        return 2, 2
    return 64 // frame.format.chroma_width(64), 64 // frame.format.chroma_height(64)


def planar_yuv(subsampling: Subsampling, bits: int = 8) -> str:
    """FFmpeg's planar YUV format of this depth, in 4:4:4 or 4:2:2 where it is the same, else in 4:2:0."""
    name = {(1, 1): "yuv444p", (2, 1): "yuv422p"}.get(subsampling, "yuv420p")
    return name if bits == 8 else f"{name}{bits}le"


def encoder_format(
    subsampling: Subsampling, size: tuple[int, int], bits: int = 8, even_only: bool = True
) -> str:
    """The pixel format to encode frames of `size` (width, height) in.

    `even_only`: the encoder subsamples only even sizes, so an odd size becomes 4:4:4.
    """
    odd = size[0] % subsampling[0] or size[1] % subsampling[1]
    return planar_yuv((1, 1) if even_only and odd else subsampling, bits)
