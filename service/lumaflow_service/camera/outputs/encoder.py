"""Enhanced pictures as packets of H.264 or H.265, beside the camera's sound as it came."""

from fractions import Fraction
from functools import cache

import av
import numpy as np
from av.container import OutputContainer
from av.packet import Packet
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

from lumaflow.formats import Family
from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.output_frame import DEEP, OutputFrame
from lumaflow_service.config.model import EncoderConfig
from lumaflow_service.media.codec.display import displayed
from lumaflow_service.media.color import converted, from_bgr
from lumaflow_service.media.yuv import rows, to_video

HARDWARE = ("h264_nvenc", "h264_qsv", "h264_v4l2m2m")
"""What `auto` tries before x264, in this order."""
DEEP_ENCODERS = ("libx265",)
"""Those that keep 10 bits; what is H.264 of 10 bits, few players play."""
KEY_SECONDS = 2
PROBE_PX = 256
NO_COLOR = 128
RATE = Fraction(25)
"""A hint for encoders that want one; the times of the frames are their own."""


class VideoEncoder:
    """The streams of an open container. Pictures that do not grow in time are put after the one before."""

    def __init__(
        self, container: OutputContainer, how: EncoderConfig, show: OutputFrame, sound: AudioFormat | None
    ) -> None:
        self._container = container
        self._size = show.size
        self._stored_as, self._time_base = show.stored_as, show.time_base
        self._color = show.color
        self._video = self._add_video(how, show)
        self._audio = sound.add_to(container) if sound and how.audio else None
        self._sound = sound
        self._begin = show.pts * show.time_base
        self._last_pts: int | None = None
        self._last_dts: int | None = None
        self._key_due = 0

    @property
    def with_sound(self) -> bool:
        """Whether there is a place for the sound."""
        return self._audio is not None

    def fits(self, show: OutputFrame, sound: AudioFormat | None) -> bool:
        """Whether a picture can go on in these streams: same size, chroma, tags and time base, same sound."""
        came = show.size, show.stored_as, show.color, show.time_base
        same = came == (self._size, self._stored_as, self._color, self._time_base)
        return same and (sound is None or sound == self._sound)

    def write(self, show: OutputFrame) -> None:
        """Encode one picture."""
        frame = drawn(show, str(self._video.pix_fmt))
        frame.pts = show.pts if self._last_pts is None else max(show.pts, self._last_pts + 1)
        frame.time_base, self._last_pts = show.time_base, frame.pts
        if frame.pts >= self._key_due:
            frame.pict_type = PictureType.I
            self._key_due = frame.pts + round(KEY_SECONDS / show.time_base)
        self._container.mux(self._video.encode(frame))

    def hear(self, sound: AudioPacket) -> None:
        """Pass one packet of sound on, if there is a place for it."""
        if self._audio is None or sound.kind != self._sound or sound.seconds < self._begin:
            return
        packet = Packet(sound.data)
        base = sound.time_base
        packet.time_base = base
        packet.pts = packet.dts = round(sound.seconds / base)
        packet.duration = sound.duration
        packet.is_keyframe = True
        if self._last_dts is None or packet.dts > self._last_dts:
            self._last_dts = packet.dts
            packet.stream = self._audio
            self._container.mux_one(packet)

    def finish(self) -> None:
        """Write what the encoder still holds."""
        if self._last_pts is not None:
            self._container.mux(self._video.encode(None))

    def _add_video(self, how: EncoderConfig, show: OutputFrame) -> VideoStream:
        plain = show.stored_as.removesuffix(DEEP)
        name = how.encoder if how.encoder != "auto" else best_encoder(plain)
        video = self._container.add_stream(name, rate=RATE, options=options_of(name, how.quality))
        assert isinstance(video, VideoStream)
        video.width, video.height = show.size
        video.pix_fmt = show.stored_as if name in DEEP_ENCODERS else plain
        video.time_base = video.codec_context.time_base = show.time_base
        video.codec_context.max_b_frames = 0
        show.color.tag(video.codec_context)
        return video


def drawn(show: OutputFrame, pixel_format: str) -> VideoFrame:
    """An encoder's frame of an enhanced picture."""
    match show.frame.pixel_format.layout.family:
        case Family.RGB:
            return from_bgr(displayed(show.frame), show.color, pixel_format, show.size)
        case Family.YUV:
            picture = to_video(show.frame)
            show.color.tag(picture)
            same = picture.format.name == pixel_format
            return picture if same else converted(picture, show.color, pixel_format)
    return _gray(show, pixel_format)


def _gray(show: OutputFrame, pixel_format: str) -> VideoFrame:
    """Levels as luma, beside chroma without colour."""
    picture = VideoFrame(*show.size, pixel_format)
    levels, *chroma = (
        rows(plane, (plane.height, plane.width), np.dtype(np.uint8)) for plane in picture.planes
    )
    np.copyto(levels, displayed(show.frame))
    for plane in chroma:
        plane[:] = NO_COLOR
    show.color.tag(picture)
    return picture


def options_of(encoder: str, quality: int) -> dict[str, str]:
    """An encoder's options for this quality, without delay."""
    match encoder:
        case "libx264":
            return {"crf": f"{quality}", "preset": "veryfast", "tune": "zerolatency", "g": "9999"}
        case "libx265":
            quiet = "log-level=none:keyint=9999"
            return {"crf": f"{quality}", "preset": "ultrafast", "tune": "zerolatency", "x265-params": quiet}
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
    """The first of the hardware encoders that works on this machine, else x264."""
    for name in HARDWARE:
        if pixel_format == "yuv420p" and name in av.codecs_available and _works(name):
            return name
    return "libx264"


def _works(name: str) -> bool:
    try:
        encoder = av.CodecContext.create(name, "w")
        assert isinstance(encoder, av.VideoCodecContext)
        encoder.width = encoder.height = PROBE_PX
        encoder.pix_fmt, encoder.time_base, encoder.framerate = "yuv420p", 1 / RATE, RATE
        frame = VideoFrame(PROBE_PX, PROBE_PX, "yuv420p")
        frame.pts = 0
        return bool([*encoder.encode(frame), *encoder.encode(None)])
    except (av.FFmpegError, ValueError):
        return False
