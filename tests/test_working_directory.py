"""No process of the service imports a module from the folder it is started in."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from conftest import RunningService, finish
from make_video import make_video
from test_camera_service import wait_until

PACKAGES = "service", "pipeline", "lumaflow", "lumaflow_service"
MODULES = "json.py", "numpy.py", "socket.py"
CONFIG = """
networks: [127.0.0.0/8]
sources:
  gate:
    url: file:film.mp4
    loop: true
    outputs:
      - publish: rtsp://127.0.0.1:1/nobody
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with modules of the names that the service imports; each writes to `imported` when it runs."""
    for package in PACKAGES:
        (tmp_path / package).mkdir()
    names = [*(f"{package}/__init__.py" for package in PACKAGES), *MODULES]
    for name in names:
        (tmp_path / name).write_text(f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r} + '\\n')\n")
    make_video(tmp_path / "film.mp4", 40)
    (tmp_path / "cameras.yaml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def service(folder: Path) -> Iterator[RunningService]:
    """`lumaflow serve --config cameras.yaml`, started in that folder."""
    command = [Path(sys.executable).with_name("lumaflow"), "serve", "--config", "cameras.yaml"]
    process = subprocess.Popen(
        [*command, "--port", "0", "--device", "cpu"], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        with httpx.Client(base_url=process.stdout.readline().split()[-1], timeout=30) as client:
            running = RunningService(process, client)
            running.wait_ready()
            yield running
    finally:
        finish(process)


def test_worker_camera_and_relay_ignore_modules_of_the_working_directory(
    service: RunningService, folder: Path
) -> None:
    def state() -> dict:
        return service.client.get("/v1/sources/gate").json()

    wait_until(lambda: state()["frames"] >= 5)
    wait_until(lambda: "refused" in str(state()["camera"]["outputs"]))
    assert not (folder / "imported").exists(), (folder / "imported").read_text()
