"""The choice of an encoder."""

from pathlib import Path

import pytest

from lumaflow_service.camera.outputs import encoder
from lumaflow_service.camera.outputs.encoder import best_encoder


def test_auto_selects_the_first_working_hardware_encoder_else_x264(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for working, selected in (
        ({"h264_nvenc", "h264_qsv"}, "h264_nvenc"),
        ({"h264_qsv"}, "h264_qsv"),
        (set(), "libx264"),
    ):
        best_encoder.cache_clear()
        monkeypatch.setattr(encoder.av, "codecs_available", {*encoder.HARDWARE_ENCODERS, "libx264"})
        monkeypatch.setattr(encoder, "_works", working.__contains__)
        assert best_encoder("yuv420p") == selected
        assert best_encoder("yuv444p") == "libx264"
    best_encoder.cache_clear()


def test_a_hardware_encoder_without_its_hardware_does_not_work() -> None:
    assert encoder._works("libx264")
    assert any(Path("/dev").glob("video*")) or not encoder._works("h264_v4l2m2m")
    assert not encoder._works("no_such_encoder")
