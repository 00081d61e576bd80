"""Encodes enhanced frames as H.264 or H.265, and writes the camera's audio packets beside them."""

from functools import cache

import av
import numpy as np
from av.container import OutputContainer
from av.packet import Packet
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

from lumaflow.formats import Family
from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.config.model import EncoderConfig
from lumaflow_service.media.codec.display import display_pixels
from lumaflow_service.media.convert import convert_yuv, from_bgr, plane_arrays, to_video_frame
from lumaflow_service.media.pixel_format import TEN_BIT
from lumaflow_service.media.video.writer import DEFAULT_RATE, add_video_stream

HARDWARE_ENCODERS = ("h264_nvenc", "h264_qsv", "h264_v4l2m2m")
"""The encoders that `auto` tries before libx264, in this order."""
TEN_BIT_ENCODERS = ("libx265",)
"""The encoders that keep 10 bits. Few players decode H.264 of 10 bits."""
KEY_FRAME_SECONDS = 2
PROBE_PX = 256
NEUTRAL_CHROMA = 128


class VideoEncoder:
    """The encoded streams of an open container. A pts that does not increase follows the previous one."""

    def __init__(
        self, container: OutputContainer, config: EncoderConfig, first: OutputFrame, audio: AudioFormat | None
    ) -> None:
        self._container = container
        self._format = _format_of(first)
        self._video = self._add_video(config, first)
        self._audio_format = audio
        self._audio = audio.add_to(container) if audio and config.audio else None
        self._start_seconds = first.pts * first.time_base
        self._last_pts: int | None = None
        self._last_audio_dts: int | None = None
        self._next_key_pts = 0

    @property
    def has_audio(self) -> bool:
        """Whether there is an audio stream."""
        return self._audio is not None

    def accepts(self, frame: OutputFrame, audio: AudioFormat | None) -> bool:
        """Whether a frame continues these streams: same size, format, tags and time base, same audio."""
        return _format_of(frame) == self._format and (audio is None or audio == self._audio_format)

    def write(self, frame: OutputFrame) -> None:
        """Encode one frame."""
        video_frame = to_encoder_frame(frame, str(self._video.pix_fmt))
        pts = frame.pts if self._last_pts is None else max(frame.pts, self._last_pts + 1)
        video_frame.pts, video_frame.time_base, self._last_pts = pts, frame.time_base, pts
        if pts >= self._next_key_pts:
            video_frame.pict_type = PictureType.I
            self._next_key_pts = pts + round(KEY_FRAME_SECONDS / frame.time_base)
        self._container.mux(self._video.encode(video_frame))

    def write_audio(self, audio: AudioPacket) -> None:
        """Write one audio packet, unless it has no stream or precedes the first frame."""
        is_other = audio.format != self._audio_format
        if self._audio is None or is_other or audio.seconds < self._start_seconds:
            return
        packet = Packet(audio.data)
        packet.time_base = audio.time_base
        packet.pts = packet.dts = round(audio.seconds / audio.time_base)
        packet.duration = audio.duration
        packet.is_keyframe = True
        if self._last_audio_dts is None or packet.dts > self._last_audio_dts:
            self._last_audio_dts = packet.dts
            packet.stream = self._audio
            self._container.mux_one(packet)

    def flush(self) -> None:
        """Write the frames that the encoder still holds."""
        if self._last_pts is not None:
            self._container.mux(self._video.encode(None))

    def _add_video(self, config: EncoderConfig, first: OutputFrame) -> VideoStream:
        eight_bit = first.encoder_format.removesuffix(TEN_BIT)
        name = config.encoder if config.encoder != "auto" else best_encoder(eight_bit)
        pixel_format = first.encoder_format if name in TEN_BIT_ENCODERS else eight_bit
        options = encoder_options(name, config.quality)
        video = add_video_stream(
            self._container, name, options, first.size, pixel_format, first.time_base, first.color
        )
        video.codec_context.max_b_frames = 0
        return video


def _format_of(frame: OutputFrame) -> tuple[object, ...]:
    return frame.size, frame.encoder_format, frame.color, frame.time_base


def to_encoder_frame(frame: OutputFrame, pixel_format: str) -> VideoFrame:
    """An enhanced frame as a tagged frame for an encoder."""
    match frame.frame.pixel_format.layout.family:
        case Family.RGB:
            return from_bgr(display_pixels(frame.frame), frame.color, pixel_format, frame.size)
        case Family.YUV:
            video_frame = to_video_frame(frame.frame)
            frame.color.apply_to(video_frame)
            is_same = video_frame.format.name == pixel_format
            return video_frame if is_same else convert_yuv(video_frame, frame.color, pixel_format)
    return _gray_to_yuv(frame, pixel_format)


def _gray_to_yuv(frame: OutputFrame, pixel_format: str) -> VideoFrame:
    video_frame = VideoFrame(*frame.size, pixel_format)
    luma, *chroma = plane_arrays(video_frame)
    np.copyto(luma, display_pixels(frame.frame))
    for plane in chroma:
        plane[:] = NEUTRAL_CHROMA
    frame.color.apply_to(video_frame)
    return video_frame


def encoder_options(encoder: str, quality: int) -> dict[str, str]:
    """The options of an encoder for this quality, with the lowest latency."""
    match encoder:
        case "libx264":
            return {"crf": f"{quality}", "preset": "veryfast", "tune": "zerolatency", "g": "9999"}
        case "libx265":
            x265 = "log-level=none:keyint=9999"
            return {
                "crf": f"{quality}",
                "preset": "ultrafast",
                "tune": "zerolatency",
                "forced-idr": "1",  # else a forced I frame is no key frame
                "x265-params": x265,
            }
        case "h264_nvenc" | "hevc_nvenc":
            return {
                "cq": f"{quality}",
                "rc": "vbr",
                "preset": "p4",
                "tune": "ull",
                "g": "9999",
                "forced-idr": "1",
            }
        case "h264_qsv":
            return {"global_quality": f"{quality}", "forced_idr": "1", "async_depth": "1"}
    return {}


@cache
def best_encoder(pixel_format: str) -> str:
    """The first hardware encoder that works on this machine, else libx264."""
    for name in HARDWARE_ENCODERS:
        if pixel_format == "yuv420p" and name in av.codecs_available and _works(name):
            return name
    return "libx264"


def _works(name: str) -> bool:
    """Whether an encoder encodes one small frame."""
    try:
        encoder = av.CodecContext.create(name, "w")
        assert isinstance(encoder, av.VideoCodecContext)
        encoder.width = encoder.height = PROBE_PX
        encoder.pix_fmt, encoder.framerate = "yuv420p", DEFAULT_RATE
        encoder.time_base = 1 / DEFAULT_RATE
        frame = VideoFrame(PROBE_PX, PROBE_PX, "yuv420p")
        frame.pts = 0
        return bool([*encoder.encode(frame), *encoder.encode(None)])
    except (av.FFmpegError, ValueError):
        return False
