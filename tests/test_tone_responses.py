"""The tone of a frame in headers and in JSON."""

from dataclasses import asdict

from lumaflow.frame import Tone, ToneReport
from lumaflow_service.api.frames import format_tone
from lumaflow_service.api.responses import FrameResult, ToneState
from lumaflow_service.ipc.messages import Reply

TONE = ToneReport(Tone.LOWLIGHT, 0.934567, 8.14, 2.25, 0.5, 255.0, 0.0, True, True, "dark: mean 14; gain 8.1")


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
