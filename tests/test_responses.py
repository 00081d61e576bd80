"""JSON responses: the states of sources and cameras, and the result of a frame."""

from dataclasses import asdict

import pytest
from pydantic import ValidationError

from fake_engine import REPLY
from lumaflow.frame import Tone, ToneReport
from lumaflow.stage import Stage
from lumaflow_service.api.frames import format_tone
from lumaflow_service.api.requests import FrameFormat
from lumaflow_service.api.responses import CameraState, FrameResult, SourceState, ToneState, stage_latency
from lumaflow_service.config.options import Feature, SourceOptions
from lumaflow_service.control.camera_status import CameraStatus
from lumaflow_service.control.sources import Source
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.messages import FrameReady, Reply

TONE = ToneReport(Tone.LOWLIGHT, 0.934567, 8.14, 2.25, 0.5, 255.0, 0.0, True, True, "dark: mean 14; gain 8.1")
READY = FrameReady(
    0, 1, GeometryJson(4, 2, "gray8"), number=9, pts=270_000, time_base=[1, 90_000], wall=1.8e9, arrived=5.0
)
STATUS = CameraStatus(
    state="live",
    cause="corrupt",
    text="its frames are damaged; check the network",
    codec="h264",
    epoch=2,
    corrupt=3,
    restamped=4,
    reconnects=5,
    outputs=[
        {"name": "record-1", "state": "working", "why": "", "written": 6, "dropped": 7, "free_bytes": 8}
    ],
    last=READY,
)


def enhanced_source() -> Source:
    """A source with one enhanced frame."""
    source = Source("gate", SourceOptions())
    source.frame_submitted(0.0)
    source.frame_enhanced(REPLY, [Feature.LBP])
    return source


# result of a frame --------------------------------------------------------------------------------


def test_a_result_has_the_stage_times_of_the_reply_in_seconds() -> None:
    result = FrameResult.from_reply(REPLY)
    assert result.stage_seconds == REPLY.stage_seconds
    assert (result.frame_seconds, result.clamped, result.lut, result.lut_age) == (0.25, 5, "own", 3)
    assert result.geometry == FrameFormat(width=4, height=2, format="gray8", range="full")


# source -------------------------------------------------------------------------------------------


def test_a_source_without_a_frame_has_no_result() -> None:
    state = SourceState.from_source(Source("gate", SourceOptions()), "cuda:0", False, None)
    assert (state.state, state.device, state.frames, state.frames_per_second) == ("idle", "cuda:0", 0, 0.0)
    assert (state.sequence, state.lut, state.lut_age, state.age_seconds) == (None, None, None, None)
    assert (state.frame_seconds, state.stage_seconds, state.stage_latency) == (None, {}, {})
    assert (state.geometry, state.geometry_fixed, state.extracted) == (None, False, [])


def test_a_source_shows_the_result_of_its_last_frame() -> None:
    state = SourceState.from_source(enhanced_source(), "cuda:0", True, None)
    assert (state.state, state.device, state.frames, state.picture) == ("live", "cpu", 1, True)
    assert (state.sequence, state.lut, state.lut_age) == (0, "own", 3)
    assert (state.stage_seconds, state.frame_seconds) == (REPLY.stage_seconds, 0.25)
    assert state.extracted == [Feature.LBP]
    assert state.age_seconds is not None


def test_a_fixed_source_shows_its_geometry_before_the_first_frame() -> None:
    source = Source("gate", SourceOptions())
    source.fix_geometry(GeometryJson(4, 2, "gray8"))
    state = SourceState.from_source(source, "cpu", False, None)
    assert (state.geometry, state.geometry_fixed) == (
        FrameFormat(width=4, height=2, format="gray8"),
        True,
    )


def test_the_latency_of_each_stage_is_its_own_in_pipeline_order() -> None:
    source = Source("gate", SourceOptions())
    source.latency.add({"download": 0.4, "lut": 0.2, "upload": 0.1, "other": 9.0})
    latency = stage_latency(source)
    assert list(latency) == ["upload", "lut", "download"]
    assert {name: round(one.p50, 2) for name, one in latency.items()} == pytest.approx(
        {"upload": 0.1, "lut": 0.2, "download": 0.4}, rel=0.05
    )


def test_the_latency_has_the_median_and_the_99th_percentile() -> None:
    source = Source("gate", SourceOptions())
    for milliseconds in range(1, 101):
        source.latency.add({Stage.APPLY: milliseconds / 1000})
    (apply,) = stage_latency(source).values()
    assert apply.p50 == pytest.approx(0.050, rel=0.05)
    assert apply.p99 == pytest.approx(0.099, rel=0.05)


# camera -------------------------------------------------------------------------------------------


def test_a_camera_shows_every_count_of_its_status() -> None:
    state = CameraState.from_status("rtsp://camera/1", STATUS)
    assert (state.url, state.state, state.cause, state.codec) == (
        "rtsp://camera/1",
        "live",
        "corrupt",
        "h264",
    )
    assert state.why == "its frames are damaged; check the network"
    assert (state.epoch, state.corrupt, state.restamped, state.reconnects) == (2, 3, 4, 5)
    (output,) = state.outputs
    assert (output.name, output.state, output.written, output.dropped) == ("record-1", "working", 6, 7)


def test_the_times_of_a_camera_are_those_of_its_newest_frame() -> None:
    state = CameraState.from_status("rtsp://camera/1", STATUS)
    assert (state.pts_seconds, state.captured_at) == (3.0, 1.8e9)


def test_a_camera_without_a_frame_has_no_times() -> None:
    state = CameraState.from_status("rtsp://camera/1", CameraStatus())
    assert (state.state, state.pts_seconds, state.captured_at, state.outputs) == (
        "connecting",
        None,
        None,
        [],
    )


@pytest.mark.parametrize("cause", ["", "refused", "timeout", "auth", "tls", "stalled", "frozen", "eof"])
def test_every_cause_can_be_shown(cause: str) -> None:
    assert CameraState.from_status("rtsp://camera/1", CameraStatus(cause=cause)).cause == cause


def test_an_unknown_state_is_a_bug_of_the_service() -> None:
    with pytest.raises(ValidationError):
        CameraState.from_status("rtsp://camera/1", CameraStatus(state="sleeping"))


def test_a_reply_without_a_geometry_has_none_in_the_result() -> None:
    assert FrameResult.from_reply(Reply(1)).geometry is None


def test_the_header_is_an_item_with_parameters() -> None:
    assert format_tone(TONE) == "lowlight;strength=0.93;gain=8.1;noise=2.2;haze=0.00"


def test_the_json_has_every_figure_of_the_report() -> None:
    state = ToneState.from_reply(Reply(1, tone=TONE))
    assert state is not None
    assert state.model_dump() == {**asdict(TONE), "strength": 0.9346}
    assert ToneState.from_reply(Reply(1)) is None


def test_the_result_of_a_frame_has_its_tone() -> None:
    result = FrameResult.from_reply(Reply(1, tone=TONE))
    assert result.tone is not None
    assert result.tone.reason == "dark: mean 14; gain 8.1"
    assert FrameResult.from_reply(Reply(1)).tone is None
