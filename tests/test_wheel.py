"""The wheel works in an environment that has never seen the checkout: library, command, service, types."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import httpx
import pytest

from conftest import finish

ROOT = Path(__file__).parents[1]
USER_SCRIPT = """
import numpy as np

from lumaflow import Equalization, Frame, Geometry, Mode, Options, PixelFormat, open_lane

dark = np.full((48, 64, 3), 20, np.uint8)
dark[:, ::2] += 5
options = Options(Equalization(Mode.EQUALIZE))
with open_lane("cpu", Geometry(64, 48, PixelFormat.BGR24), options) as lane:
    lane.submit(Frame(dark, PixelFormat.BGR24))
    enhanced = lane.collect()
print(int(enhanced.frame.pixels.max()), enhanced.lut_kind)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("lumaflow-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel; the dependencies are those of this run, without its checkout."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def run(environment: Path, *arguments: str | Path, cwd: Path) -> str:
    """Standard output of a command of the environment, away from the checkout."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [environment / "bin" / str(arguments[0]), *arguments[1:]]
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "user.py"
    path.write_text(USER_SCRIPT)
    return path


def test_both_packages_come_from_the_wheel(environment: Path, tmp_path: Path) -> None:
    code = "import lumaflow, lumaflow_service; print(lumaflow.__file__); print(lumaflow_service.__file__)"
    for line in run(environment, "python", "-c", code, cwd=tmp_path).splitlines():
        assert Path(line).is_relative_to(environment)


def test_a_users_script_runs_and_is_typed(environment: Path, script: Path) -> None:
    assert run(environment, "python", script, cwd=script.parent).split() == ["255", "own"]
    mypy = ["-m", "mypy", "--strict", "--cache-dir", str(script.parent / "cache"), script]
    assert "Success" in run(environment, "python", *mypy, cwd=script.parent)


def test_the_command_says_its_version_and_devices(environment: Path, tmp_path: Path) -> None:
    assert run(environment, "lumaflow", "--version", cwd=tmp_path).strip()
    assert "cpu" in run(environment, "lumaflow", "doctor", cwd=tmp_path)


def test_the_service_serves_its_page_and_says_that_it_is_alive(environment: Path, tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [environment / "bin" / "lumaflow", "serve", "--port", "0", "--device", "cpu"]
    process = subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        with httpx.Client(base_url=process.stdout.readline().split()[-1], timeout=30) as client:
            assert "lumaflow" in client.get("/").text
            assert client.get("/livez").status_code == 200
            assert client.get("/readyz").status_code in (200, 503)  # the lanes may still compile
    finally:
        finish(process)
