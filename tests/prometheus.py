"""Prometheus's own tools, for the tests of rules and dashboards."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

DOCKER = Path(__file__).parents[1] / "docker"
RULES = sorted((DOCKER / "rules").glob("*.yml"))

needs_prometheus = pytest.mark.skipif(
    not (shutil.which("promtool") and shutil.which("prometheus")),
    reason="promtool is missing; type: sudo apt-get install prometheus",
)


def promtool(*arguments: str | Path) -> str:
    """What promtool prints; fails the test with it when promtool is not content."""
    answer = subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def rules(kind: str) -> list[dict[str, Any]]:
    """All rules of one kind: `alert` or `record`."""
    groups = [group for path in RULES for group in yaml.safe_load(path.read_text())["groups"]]
    return [rule for group in groups for rule in group["rules"] if kind in rule]
