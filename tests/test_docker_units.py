"""The systemd units: systemd takes them, and what they run is hardened."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

UNITS = sorted((Path(__file__).parents[1] / "docker/systemd").glob("*.service"))
EXPOSURE = 2.0
"""systemd's own figure, 0 (sealed) to 10; it calls up to 4 OK. A web service with devices has 1.8."""
INSTALLED = "/opt/lumaflow/bin/lumaflow"

needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"),
    reason="systemd-analyze is missing; type: sudo apt-get install systemd",
)


def analyze(*arguments: str | Path) -> str:
    """What systemd-analyze says; fails the test when it is not content."""
    answer = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout + answer.stderr


@pytest.fixture(params=UNITS, ids=lambda path: path.stem)
def unit(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A unit that runs this checkout's command in place of the installed one."""
    text = request.param.read_text()
    here = tmp_path / request.param.name
    here.write_text(re.sub(f"^ExecStart={INSTALLED}", f"ExecStart={own_command()}", text, flags=re.M))
    return here


def own_command() -> Path:
    """The `lumaflow` of this environment."""
    return Path(sys.executable).with_name("lumaflow")


def test_there_is_a_unit_for_serve_and_one_for_ingest() -> None:
    assert [path.stem for path in UNITS] == ["lumaflow-ingest", "lumaflow-serve"]


@needs_systemd
def test_systemd_verifies_the_unit(unit: Path) -> None:
    assert analyze("verify", unit) == ""


@needs_systemd
def test_the_unit_is_hardened(unit: Path) -> None:
    said = analyze("security", "--offline=true", f"--threshold={EXPOSURE * 10:.0f}", "--no-pager", unit)
    assert float(re.findall(r"Overall exposure level for \S+: (\S+)", said)[0]) <= EXPOSURE


def test_command_of_the_unit_exists(unit: Path) -> None:
    (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.M)
    _, *arguments = line.split()
    arguments[-1] = str(unit.with_name("absent.yaml"))
    answer = subprocess.run([own_command(), *arguments], capture_output=True, text=True, timeout=60)
    assert answer.returncode == 2
    assert "absent.yaml" in answer.stderr
