"""Alerts fire only when expected, checked with the rule tester of Prometheus."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from prometheus import DOCKER, RULES, needs_prometheus, promtool, rules

pytestmark = needs_prometheus

ME = 'instance="a:1",job="lumaflow"'
GATE = f'{ME},source="gate"'
CPU = f'{ME},device="cpu"'
FRAMES = "lumaflow_frames_total"
RECONNECTS = "lumaflow_reconnects_total"
AGE = f"lumaflow_frame_age_seconds_bucket{{{GATE}"
STAGE = "lumaflow_stage_seconds_bucket"

Series = dict[str, str]


@dataclass(frozen=True, slots=True)
class Case:
    """One alert: the labels it fires with at `minute`, and series (one sample in 15 s) that decide."""

    alert: str
    name: str
    broken: Series
    well: Series
    labels: dict[str, str] = field(default_factory=lambda: {"source": "gate"})
    minute: int = 8


CASES = [
    Case(
        "LumaflowDown",
        "nothing answers",
        {f"up{{{ME}}}": "1x8 0x60"},
        {f"up{{{ME}}}": "1x60"},
        {"job": "lumaflow"},
    ),
    Case(
        "LumaflowCameraDown",
        "a camera that never answered",
        {f"lumaflow_source_up{{{GATE}}}": "0x60", f'{RECONNECTS}{{{GATE},code="refused"}}': "1+1x60"},
        {f"lumaflow_source_up{{{GATE}}}": "1x60", f'{RECONNECTS}{{{GATE},code="refused"}}': "1x60"},
        {"source": "gate", "job": "lumaflow"},
    ),
    Case(
        "LumaflowCameraDown",
        "a client that stopped sending raises no alert",
        {f"lumaflow_source_up{{{GATE}}}": "0x60", f'{RECONNECTS}{{{GATE},code="eof"}}': "0x8 1x60"},
        {f"lumaflow_source_up{{{GATE}}}": "0x60"},
        {"source": "gate", "job": "lumaflow"},
    ),
    Case(
        "LumaflowCameraStalled",
        "the first stall ever, of which no increase is seen",
        {f'{RECONNECTS}{{{GATE},code="stalled"}}': "_x24 1x60"},
        {f'{RECONNECTS}{{{GATE},code="stalled"}}': "1x60", f'{RECONNECTS}{{{GATE},code="eof"}}': "_x24 1x60"},
        {"source": "gate", "code": "stalled"},
    ),
    Case(
        "LumaflowCameraFrozen",
        "one more freeze",
        {f'{RECONNECTS}{{{GATE},code="frozen"}}': "3x24 4x60"},
        {f'{RECONNECTS}{{{GATE},code="frozen"}}': "3x60"},
        {"source": "gate", "code": "frozen"},
    ),
    Case(
        "LumaflowFramesOld",
        "one frame in fifty is older than a second",
        {
            f'{AGE},le="1.0"}}': "0+49x60",
            f'{AGE},le="2.0"}}': "0+50x60",
            f'{AGE},le="+Inf"}}': "0+50x60",
        },
        {
            f'{AGE},le="1.0"}}': "0+50x60",
            f'{AGE},le="2.0"}}': "0+50x60",
            f'{AGE},le="+Inf"}}': "0+50x60",
        },
    ),
    Case(
        "LumaflowStageOverBudget",
        "50 ms on a processor, where 20 are in the budget",
        {
            f'{STAGE}{{{CPU},stage="hog",le="0.02"}}': "0x60",
            f'{STAGE}{{{CPU},stage="hog",le="0.05"}}': "0+9x60",
            f'{STAGE}{{{CPU},stage="hog",le="+Inf"}}': "0+9x60",
        },
        {
            f'{STAGE}{{{CPU},stage="hog",le="0.02"}}': "0+9x60",
            f'{STAGE}{{{CPU},stage="hog",le="+Inf"}}': "0+9x60",
        },
        {"device": "cpu", "stage": "hog"},
    ),
    Case(
        "LumaflowStageOverBudget",
        "10 ms on a GPU, whose budget is tighter",
        {
            f'{STAGE}{{{ME},device="cuda:0",stage="hog",le="0.005"}}': "0x60",
            f'{STAGE}{{{ME},device="cuda:0",stage="hog",le="0.01"}}': "0+9x60",
            f'{STAGE}{{{ME},device="cuda:0",stage="hog",le="+Inf"}}': "0+9x60",
        },
        {
            f'{STAGE}{{{CPU},stage="hog",le="0.005"}}': "0x60",
            f'{STAGE}{{{CPU},stage="hog",le="0.01"}}': "0+9x60",
            f'{STAGE}{{{CPU},stage="hog",le="+Inf"}}': "0+9x60",
        },
        {"device": "cuda:0", "stage": "hog"},
    ),
    Case(
        "LumaflowFramesLost",
        "two frames of a hundred",
        {
            f'{FRAMES}{{{GATE},outcome="ok"}}': "0+98x60",
            f'{FRAMES}{{{GATE},outcome="dropped"}}': "0+2x60",
        },
        {
            f'{FRAMES}{{{GATE},outcome="ok"}}': "0+1000x60",
            f'{FRAMES}{{{GATE},outcome="corrupt"}}': "0+2x60",
        },
    ),
    Case(
        "LumaflowFramesLost",
        "a source that never had a good frame",
        {f'{FRAMES}{{{GATE},outcome="corrupt"}}': "0+2x60"},
        {f'{FRAMES}{{{GATE},outcome="ok"}}': "0+2x60"},
    ),
    Case(
        "LumaflowOutputDown",
        "a recorder without space",
        {f'lumaflow_output_up{{{GATE},output="record"}}': "1x8 0x60"},
        {f'lumaflow_output_up{{{GATE},output="record"}}': "1x60"},
        {"source": "gate", "output": "record", "job": "lumaflow"},
    ),
    Case(
        "LumaflowWorkerRestarted",
        "one restart",
        {f'lumaflow_worker_restarts_total{{{CPU},reason="stuck"}}': "0x24 1x60"},
        {f'lumaflow_worker_restarts_total{{{CPU},reason="stuck"}}': "7x60"},
        {"device": "cpu", "reason": "stuck"},
    ),
    Case(
        "LumaflowSlotsExhausted",
        "six of eight slots, the last two being kept for views",
        {f"lumaflow_slots_in_use{{{CPU}}}": "6x60", f"lumaflow_slots{{{CPU}}}": "8x60"},
        {f"lumaflow_slots_in_use{{{CPU}}}": "6 6 6 5 6 6 6 5x60", f"lumaflow_slots{{{CPU}}}": "8x60"},
        {"job": "lumaflow", "device": "cpu"},
    ),
    Case(
        "LumaflowDiskLow",
        "half of what recorders keep free is gone",
        {f"lumaflow_disk_free_bytes{{{ME}}}": "499000000x60"},
        {f"lumaflow_disk_free_bytes{{{ME}}}": "1000000000x60"},
        {"job": "lumaflow"},
    ),
]


def firing(case: Case) -> str:
    """The series Prometheus writes while this alert fires."""
    severity = next(rule["labels"]["severity"] for rule in rules("alert") if rule["alert"] == case.alert)
    labels = {
        "alertname": case.alert,
        "alertstate": "firing",
        "instance": "a:1",
        "severity": severity,
        **case.labels,
    }
    return "ALERTS{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"


def expect(
    series: Series, expression: str, samples: list[dict[str, object]], minute: int
) -> dict[str, object]:
    """One test of promtool: what `expression` gives at `minute`, from series with a sample in 15 s."""
    return {
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": expression, "eval_time": f"{minute}m", "exp_samples": samples}],
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.name}")
def test_alert_fires_only_when_expected(case: Case, tmp_path: Path) -> None:
    fires = f'ALERTS{{alertname="{case.alert}",alertstate="firing"}}'
    tests = [
        expect(case.broken, fires, [{"labels": firing(case), "value": 1}], case.minute),
        expect(case.well, fires, [], case.minute),
    ]
    written = {"rule_files": [str(path) for path in RULES], "evaluation_interval": "15s", "tests": tests}
    (tmp_path / "test.yml").write_text(json.dumps(written))  # JSON is YAML
    assert "SUCCESS" in promtool("test", "rules", tmp_path / "test.yml")


def test_every_alert_has_a_case() -> None:
    assert {rule["alert"] for rule in rules("alert")} == {case.alert for case in CASES}


def test_every_alert_has_a_summary_and_an_action() -> None:
    for rule in rules("alert"):
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert {"summary", "action"} <= rule["annotations"].keys()


def test_every_recorded_series_is_used() -> None:
    written = "".join(path.read_text() for path in [*RULES, *DOCKER.glob("grafana/dashboards/*.json")])
    for rule in rules("record"):
        assert len(re.findall(re.escape(rule["record"]), written)) > 1, rule["record"]


def test_promtool_accepts_the_configuration(tmp_path: Path) -> None:
    text = (DOCKER / "prometheus.yml").read_text()
    (tmp_path / "lumaflow_read_token").write_text("read-0123456789abcdef\n")
    here = tmp_path / "prometheus.yml"
    here.write_text(text.replace("/run/secrets", str(tmp_path)).replace("rules/", f"{DOCKER}/rules/"))
    said = promtool("check", "config", here)
    assert said.count("SUCCESS") == 2 + len(RULES)  # that they are there, too


def test_every_alert_is_in_the_operators_guide() -> None:
    page = (DOCKER.parent / "docs/operators.md").read_text()
    for rule in rules("alert"):
        assert f"`{rule['alert']}`" in page
