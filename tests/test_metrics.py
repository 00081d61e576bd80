"""Metrics: the names and labels that dashboards use."""

import re
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from lumaflow.frame import LutKind, Tone, ToneReport
from lumaflow.stage import Stage
from lumaflow_service.config.camera_errors import CameraErrorCode
from lumaflow_service.control.metrics import FRAME_ERRORS, MAX_SOURCE_LABELS, RESTART_REASONS, Metrics
from lumaflow_service.errors import BadFrameError, BusyError, WorkerStuckError
from lumaflow_service.ipc.messages import CameraReport, Reply

REPLY = Reply(1, device="cpu", lut="own", stage_seconds={"lut": 3e-5, "apply": 0.004}, frame_seconds=0.006)


@pytest.fixture
def metrics() -> Metrics:
    """Metrics in a registry of their own."""
    return Metrics(CollectorRegistry())


def test_an_enhanced_frame_is_counted_once_everywhere(metrics: Metrics) -> None:
    metrics.frame_enhanced("gate", REPLY, 0.05)
    text = metrics.exposition().decode()
    for line in (
        'lumaflow_frames_total{outcome="ok",source="gate"} 1.0',
        'lumaflow_lut_total{kind="own",source="gate"} 1.0',
        'lumaflow_stage_seconds_count{device="cpu",stage="lut"} 1.0',
        'lumaflow_stage_seconds_count{device="cpu",stage="apply"} 1.0',
        'lumaflow_frame_seconds_count{device="cpu"} 1.0',
        'lumaflow_frame_age_seconds_count{source="gate"} 1.0',
    ):
        assert line in text


@pytest.mark.parametrize("kind", LutKind)
def test_each_kind_of_lut_is_counted_as_itself(metrics: Metrics, kind: LutKind) -> None:
    metrics.frame_enhanced("gate", Reply(1, device="cpu", lut=kind), 0.05)
    counted = {
        other: metrics.registry.get_sample_value("lumaflow_lut_total", {"source": "gate", "kind": other})
        for other in LutKind
    }
    assert counted == {other: 1.0 if other is kind else None for other in LutKind}


@pytest.mark.parametrize(
    ("name", "labels", "seconds"),
    [
        ("frame_seconds", {"device": "cpu"}, 0.006),
        ("frame_age_seconds", {"source": "gate"}, 0.05),
        ("stage_seconds", {"device": "cpu", "stage": "lut"}, 3e-5),
        ("stage_seconds", {"device": "cpu", "stage": "apply"}, 0.004),
    ],
)
def test_lane_time_age_and_stage_times_are_different_figures(
    metrics: Metrics, name: str, labels: dict[str, str], seconds: float
) -> None:
    metrics.frame_enhanced("gate", REPLY, 0.05)
    assert metrics.registry.get_sample_value(f"lumaflow_{name}_sum", labels) == pytest.approx(seconds)


def tone_report(mode: Tone, strength: float = 0.5) -> ToneReport:
    return ToneReport(mode, strength, 8.1, 2.3, 0.0, 255.0, 0.0, False, True, "dark")


def test_the_tone_of_a_frame_is_counted_and_its_strength_is_a_gauge(metrics: Metrics) -> None:
    for tone in (Tone.BYPASS, Tone.LOWLIGHT, Tone.LOWLIGHT):
        metrics.frame_enhanced("gate", replace(REPLY, tone=tone_report(tone, 0.93)), 0.05)
    text = metrics.exposition().decode()
    assert 'lumaflow_tone_total{mode="bypass"} 1.0' in text
    assert 'lumaflow_tone_total{mode="lowlight"} 2.0' in text
    assert 'lumaflow_tone_strength{source="gate"} 0.93' in text


def test_a_plain_mode_removes_the_strength_of_the_tone(metrics: Metrics) -> None:
    metrics.frame_enhanced("gate", REPLY, 0.05)
    assert "lumaflow_tone_strength{" not in metrics.exposition().decode()
    metrics.frame_enhanced("gate", replace(REPLY, tone=tone_report(Tone.DEHAZE)), 0.05)
    metrics.frame_enhanced("gate", REPLY, 0.05)
    assert "lumaflow_tone_strength{" not in metrics.exposition().decode()


def test_stage_buckets_resolve_microseconds(metrics: Metrics) -> None:
    metrics.frame_enhanced("gate", REPLY, 0.05)
    text = metrics.exposition().decode()
    assert 'lumaflow_stage_seconds_bucket{device="cpu",le="2e-05",stage="lut"} 0.0' in text
    assert 'lumaflow_stage_seconds_bucket{device="cpu",le="5e-05",stage="lut"} 1.0' in text


def test_two_registries_are_independent(metrics: Metrics) -> None:
    other = Metrics(CollectorRegistry())
    metrics.frame_enhanced("gate", REPLY, 0.05)
    assert "gate" not in other.exposition().decode()


def test_ten_thousand_ids_make_a_bounded_number_of_series(metrics: Metrics) -> None:
    for number in range(10_000):
        metrics.frame_enhanced(f"camera{number}", REPLY, 0.05)
    labels = set(
        re.findall(r'lumaflow_frames_total\{outcome="ok",source="(\w+)"', metrics.exposition().decode())
    )
    assert len(labels) == MAX_SOURCE_LABELS + 1
    assert 'source="other"} 9744.0' in metrics.exposition().decode()


def test_a_source_without_a_good_frame_gets_no_label(metrics: Metrics) -> None:
    metrics.frame_failed("stranger", BadFrameError("garbage"))
    text = metrics.exposition().decode()
    assert "stranger" not in text
    assert 'lumaflow_frames_total{outcome="corrupt",source="other"} 1.0' in text


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (BadFrameError(), "corrupt", "bad_frame"),
        (BusyError(), "dropped", "busy"),
        (WorkerStuckError(), "error", "stuck"),
        (ZeroDivisionError(), "error", "internal"),
    ],
)
def test_a_failed_frame_is_counted_by_reason(
    metrics: Metrics, error: Exception, outcome: str, reason: str
) -> None:
    metrics.source_label("gate")
    metrics.frame_failed("gate", error)
    text = metrics.exposition().decode()
    assert f'lumaflow_frames_total{{outcome="{outcome}",source="gate"}} 1.0' in text
    assert f'lumaflow_dropped_total{{reason="{reason}",source="gate"}} 1.0' in text


def test_a_removed_source_loses_its_gauges_and_keeps_its_counters(metrics: Metrics) -> None:
    metrics.frame_enhanced("gate", REPLY, 0.05)
    metrics.source_up.labels("gate").set(1)
    metrics.remove_source("gate")
    metrics.remove_source("never seen")
    text = metrics.exposition().decode()
    assert "lumaflow_source_up{" not in text
    assert 'lumaflow_frames_total{outcome="ok",source="gate"} 1.0' in text


def reported(metrics: Metrics, **report: object) -> str:
    """The exposition after a camera's process said this for the first time."""
    metrics.camera_reported("gate", CameraReport("connecting"), CameraReport("live", **report))  # type: ignore[arg-type]
    return metrics.exposition().decode()


def test_a_late_frame_is_dropped_but_has_no_outcome(metrics: Metrics) -> None:
    text = reported(metrics, dropped={"late": 7, "no_key_frame": 2})
    assert 'lumaflow_dropped_total{reason="late",source="gate"} 7.0' in text
    assert 'lumaflow_frames_total{outcome="dropped",source="gate"} 2.0' in text


def test_a_corrupt_frame_that_is_enhanced_counts_once(metrics: Metrics) -> None:
    metrics.frame_enhanced("gate", REPLY, 0.05, corrupt=True)
    text = reported(metrics, corrupt=1)
    assert 'lumaflow_frames_total{outcome="corrupt",source="gate"} 1.0' in text
    assert 'outcome="ok"' not in text


def test_frames_dropped_by_outputs_are_counted_separately(metrics: Metrics) -> None:
    metrics.frame_enhanced("gate", REPLY, 0.05)
    outputs = [{"name": f"record-{n}", "state": "working", "dropped": n} for n in (1, 2)]
    text = reported(metrics, outputs=outputs)
    assert 'lumaflow_output_dropped_total{source="gate"} 3.0' in text
    assert 'lumaflow_frames_total{outcome="ok",source="gate"} 1.0' in text
    assert "lumaflow_dropped_total{" not in text


def test_the_gauges_of_a_removed_camera_are_removed(metrics: Metrics) -> None:
    outputs = [{"name": "record-1", "state": "working", "dropped": 0, "free_bytes": 1}]
    assert "lumaflow_output_up{" in reported(metrics, outputs=outputs)
    metrics.remove_source("gate")
    metrics.update_gauges("cpu", 0, 8)
    text = metrics.exposition().decode()
    assert "lumaflow_output_up{" not in text
    assert "lumaflow_disk_free_bytes 1.0" not in text


def test_free_space_is_that_of_the_fullest_recording_disk(metrics: Metrics) -> None:
    outputs = [{"name": f"record-{n}", "state": "working", "dropped": 0, "free_bytes": n} for n in (7, 5)]
    reported(metrics, outputs=[*outputs, {"name": "publish-3", "state": "working", "dropped": 0}])
    metrics.update_gauges("cpu", 0, 8)
    assert "lumaflow_disk_free_bytes 5.0" in metrics.exposition().decode()


def test_no_created_series_double_the_exposition(metrics: Metrics) -> None:
    metrics.frame_enhanced("gate", REPLY, 0.05)
    assert "_created" not in metrics.exposition().decode()


def test_restarts_count_from_zero_so_that_the_first_is_an_increase(metrics: Metrics) -> None:
    metrics.worker_started("cpu")
    text = metrics.exposition().decode()
    for reason in RESTART_REASONS:
        assert f'lumaflow_worker_restarts_total{{device="cpu",reason="{reason}"}} 0.0' in text


def test_gauges_show_slots_in_use_and_free_disk_space(metrics: Metrics) -> None:
    metrics.update_gauges("cuda:0", 3, 8)
    text = metrics.exposition().decode()
    assert 'lumaflow_slots_in_use{device="cuda:0"} 3.0' in text
    assert 'lumaflow_slots{device="cuda:0"} 8.0' in text
    assert float(re.findall(r"^lumaflow_disk_free_bytes (\S+)", text, re.M)[0]) > 0


def test_the_memory_of_the_worker_is_shown(metrics: Metrics) -> None:
    metrics.set_worker_memory("cuda:0", Reply(1, device_bytes=3 << 20, pinned_bytes=1 << 20))
    text = metrics.exposition().decode()
    assert 'lumaflow_device_memory_bytes{device="cuda:0"} 3.145728e+06' in text
    assert 'lumaflow_pinned_memory_bytes{device="cuda:0"} 1.048576e+06' in text


def test_without_a_worker_there_is_no_device_label(metrics: Metrics) -> None:
    metrics.update_gauges("", 0, 8)
    assert "lumaflow_slots_in_use{" not in metrics.exposition().decode()


STAGES = dict.fromkeys((str(stage) for stage in Stage), 1e-3)
EVERYTHING = CameraReport(
    "failed",
    dropped=dict.fromkeys(("late", "no_key_frame"), 1),
    reconnects=dict.fromkeys(CameraErrorCode, 1),
    outputs=[
        {"name": name, "state": "working", "dropped": 1, "free_bytes": 9e12}
        for name in ("record", "publish", "snapshot", "descriptors")
    ],
)


@pytest.mark.parametrize("kind", ["clients", "cameras"])
def test_a_scrape_of_64_sources_with_all_series_is_under_200_kb(metrics: Metrics, kind: str) -> None:
    for number in range(64):
        source = f"{number:02d}-entrance-left"
        for lut in LutKind:
            metrics.frame_enhanced(source, Reply(1, device="cuda:0", lut=lut, stage_seconds=STAGES), 0.05)
        for tone in Tone:
            metrics.frame_enhanced(source, Reply(1, device="cuda:0", lut="own", tone=tone_report(tone)), 0.05)
        if kind == "cameras":
            metrics.camera_reported(source, CameraReport("opening"), EVERYTHING)
        for error in [BusyError, WorkerStuckError] if kind == "cameras" else FRAME_ERRORS:
            metrics.frame_failed(source, error())
        metrics.source_up.labels(source).set(1)
        metrics.queue_depth.labels(source).set(1)
    assert 100_000 < len(metrics.exposition()) < 200_000
