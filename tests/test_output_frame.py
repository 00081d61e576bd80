"""Frames for the outputs keep the levels, chroma, bit depth and colour tags of the camera."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.frame import VideoFrame

from lumaflow_service.camera.captured_frame import CapturedFrame
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.recorder import Recorder
from lumaflow_service.camera.outputs.signal_lost import no_signal_frame
from lumaflow_service.config.model import CameraConfig, RecordConfig
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.control.cameras import with_default_clamp
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.messages import EnhancedReady
from lumaflow_service.ipc.slots import SlotMemory
from lumaflow_service.media.codec import display_pixels
from lumaflow_service.media.color import BT601, BT709, FULL, LIMITED, ColorTags
from lumaflow_service.media.convert import plane_array, to_bgr
from lumaflow_service.media.slot_format import matrix_of, slot_geometry, write_to_slot
from test_slot_format import SIZE, decoded

BASE = Fraction(1, 90_000)


def output_frame_of(frame: VideoFrame) -> OutputFrame:
    """Return the OutputFrame of a frame that is not changed by enhancement."""
    geometry, memory = slot_geometry(frame), SlotMemory.create(1, 1 << 20)
    write_to_slot(frame, geometry, memory.buffer(0, "enhanced", geometry.frame_bytes))
    captured = CapturedFrame(1, frame, 0, BASE, 0.0, 0.0, 1, corrupt=False)
    message = EnhancedReady(0, 0, GeometryJson.of(geometry, matrix_of(frame)), 1, 1, "previous")
    output_frame = OutputFrame.of(captured, message, memory)
    memory.buffer(0, "enhanced", geometry.frame_bytes)[:] = bytes(geometry.frame_bytes)
    memory.close()
    return output_frame


def record_and_decode(folder: Path, output_frame: OutputFrame, encoder: str) -> VideoFrame:
    """Record a frame; return the decoded frame of the file."""
    recorder = Recorder(
        RecordConfig.model_validate({"path": "r", "keep_free_gb": 0, "encoder": encoder, "quality": 1}),
        folder,
    )
    recorder.write(output_frame)
    recorder.close()
    (path,) = (folder / "r").iterdir()
    with av.open(str(path)) as container:
        return next(container.decode(video=0))


@pytest.mark.parametrize(
    ("name", "encoder", "stored"),
    [
        ("yuv420p", "libx264", "yuv420p"),
        ("yuvj420p", "libx264", "yuvj420p"),
        ("nv12", "libx264", "yuv420p"),
        ("yuyv422", "libx264", "yuv422p"),
        ("p010le", "libx264", "yuv420p"),
        ("yuv420p10le", "libx265", "yuv420p10le"),
        ("yuv444p", "libx264", "yuv444p"),
        ("bgr24", "libx264", "yuv420p"),
        ("gray", "libx264", "yuvj420p"),
        ("gray12le", "libx264", "yuvj420p"),
    ],
)
@pytest.mark.parametrize("matrix", [BT709, BT601])
def test_a_recording_keeps_the_levels_and_colour_tags_of_the_camera(
    tmp_path: Path, name: str, encoder: str, stored: str, matrix: int
) -> None:
    frame = decoded(name)
    if not name.startswith(("bgr", "gray")):
        frame.colorspace = matrix
        frame.color_range = FULL if name.startswith("yuvj") else LIMITED
    output_frame = output_frame_of(frame)
    found = record_and_decode(tmp_path, output_frame, encoder)
    assert found.format.name == stored
    assert int(found.color_range) == (FULL if "j" in stored else LIMITED)
    if not name.startswith(("bgr", "gray")):
        assert int(found.colorspace) == matrix
    wanted, color = display_pixels(output_frame.frame).astype(int), ColorTags.of(found)
    if wanted.ndim == 2:
        wanted = np.repeat(wanted[..., None], 3, axis=2)
    assert np.abs(to_bgr(found, color).astype(int) - wanted).mean() < 2.5


def test_x265_records_ten_bits(tmp_path: Path) -> None:
    frame = decoded("yuv420p10le")
    found = record_and_decode(tmp_path, output_frame_of(frame), "libx265")
    luma, wanted = (plane_array(one.planes[0], SIZE[::-1], np.dtype(np.uint16)) for one in (found, frame))
    assert np.abs(luma.astype(int) - wanted).max() <= 4
    assert len(np.unique(luma)) > 256


def test_frames_with_odd_sides_are_encoded_as_yuv444p() -> None:
    for name in ("yuv420p", "yuv422p", "bgr24"):
        assert output_frame_of(decoded(name, (47, 31))).encoder_format == "yuv444p"
    assert output_frame_of(decoded("yuv422p", (46, 31))).encoder_format == "yuv422p"


def test_the_no_signal_picture_is_recorded_in_the_same_file(tmp_path: Path) -> None:
    output_frame = output_frame_of(decoded("yuv420p10le"))
    recorder = Recorder(
        RecordConfig.model_validate({"path": "r", "keep_free_gb": 0, "encoder": "libx265"}), tmp_path
    )
    recorder.write(output_frame)
    recorder.write(replace(output_frame.with_frame(no_signal_frame(output_frame.frame, 0.0)), pts=3600))
    recorder.close()
    assert len(list((tmp_path / "r").iterdir())) == 1


def test_a_rotated_frame_has_the_rotated_geometry() -> None:
    frame, memory = decoded("yuv420p"), SlotMemory.create(1, 1 << 20)
    upright = GeometryJson.of(slot_geometry(frame), matrix_of(frame))._replace(width=32, height=48)
    message = EnhancedReady(0, 0, upright, 1, 1, "own")
    output_frame = OutputFrame.of(
        CapturedFrame(1, frame, 0, BASE, 0.0, 0.0, 1, corrupt=False), message, memory
    )
    assert output_frame.size == (32, 48)
    assert [plane.shape for plane in output_frame.frame.planes] == [(48, 32), (24, 16), (24, 16)]


def test_a_live_camera_clamps_unless_configured_otherwise() -> None:
    for delivery, told, wanted in (
        ("live", {}, True),
        ("live", {"clamp": False}, False),
        ("lossless", {}, False),
    ):
        camera = CameraConfig.model_validate({"url": "file:x", "delivery": delivery})
        assert with_default_clamp(camera, SourceOptions.model_validate(told)).clamp is wanted
