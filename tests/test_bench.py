"""Figures, reports, JSON, generated images and the HTTP load of `lumaflow bench`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from lumaflow.cuda import autotune_cache
from lumaflow.errors import FrameError, OptionError
from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry
from lumaflow_service.bench import app, commands, host
from lumaflow_service.bench.figure import Figure, Limit, Skipped
from lumaflow_service.bench.host import describe_host
from lumaflow_service.bench.images import ImageKind, generate_image, read_image
from lumaflow_service.bench.processes import descendants, rss_bytes
from lumaflow_service.bench.report import BenchReport
from lumaflow_service.bench.server import ServerError
from lumaflow_service.bench.service import LoadCounts, memory_figures, send_frames, speed_figures

SMALL = Geometry(160, 96, PixelFormat.BGR24)


def test_a_figure_is_the_median_and_the_spread_of_its_samples() -> None:
    figure = Figure.of("lane", "sustained", "frames/s", [float(n) for n in range(101)])
    assert (figure.median, figure.p10, figure.p90) == (50.0, 10.0, 90.0)
    assert figure.ratio is None
    assert figure.goal_reached is None


def test_a_figure_needs_a_sample() -> None:
    with pytest.raises(ValueError, match="expected at least one sample"):
        Figure.of("lane", "sustained", "frames/s", [])


@pytest.mark.parametrize(("median", "met"), [(70.0, True), (69.9, False)])
def test_a_goal_is_met_if_the_ratio_reaches_it(median: float, met: bool) -> None:
    figure = Figure("service", "one in flight", "frames/s", median, limit=Limit("bare", 100.0, 0.7))
    assert figure.ratio == pytest.approx(median / 100)
    assert figure.goal_reached is met


def test_a_limit_without_a_goal_gives_only_a_ratio() -> None:
    figure = Figure("lane", "sustained", "frames/s", 30.0, limit=Limit("cv2", 20.0))
    assert figure.ratio == pytest.approx(1.5)
    assert figure.goal_reached is None


def test_json_contains_figures_in_base_units(tmp_path: Path) -> None:
    figures = (
        Figure.of("service", "rate", "frames/s", [7.0, 8.0, 9.0], Limit("bare", 10.0, 0.7)),
        Figure("service", "latency, p99", "s", 0.0125),
    )
    BenchReport("a title", {"cpu": "some"}, figures).write(tmp_path / "report.json")
    saved = json.loads((tmp_path / "report.json").read_text())
    assert saved["title"] == "a title"
    assert saved["host"] == {"cpu": "some"}
    assert saved["figures"][0] == {
        "subject": "service",
        "name": "rate",
        "unit": "frames/s",
        "median": 8.0,
        "p10": pytest.approx(7.2),
        "p90": pytest.approx(8.8),
        "limit": {"name": "bare", "value": 10.0, "goal": 0.7},
        "ratio": pytest.approx(0.8),
        "met": True,
    }
    assert saved["figures"][1]["p10"] is None
    assert saved["figures"][1]["limit"] is None


def test_a_report_shows_seconds_as_milliseconds_and_marks_missed_goals() -> None:
    figures = (
        Figure("service", "rate", "frames/s", 50.0, limit=Limit("bare", 100.0, 0.7)),
        Figure.of("service", "latency", "s", [0.0125]),
        Figure("service", "submit", "s", 0.000031),
        Figure("service", "memory", "bytes", 3 * 2**20),
    )
    shown = StringIO()
    BenchReport("a title", {"cpu": "some"}, figures).print(Console(width=120, file=shown))
    for words in ("12.5 ms", "31 us", "3 MiB", "0.50 of bare, under 0.7", "cpu some"):
        assert words in shown.getvalue()


def test_brackets_in_names_and_small_ratios_are_printed() -> None:
    figures = (
        Figure("the job [a]", "lut[image]", "s", 1e-6, limit=Limit("first", 1e-3)),
        Skipped("the job [a]", "other", "no module [cuda12]"),
    )
    shown = StringIO()
    BenchReport("a title", {}, figures).print(Console(width=120, file=shown))
    for words in ("the job [a]", "lut[image]", "no module [cuda12]", "0.001 of first"):
        assert words in shown.getvalue()


@pytest.mark.parametrize("scene", ImageKind)
@pytest.mark.parametrize("pixel_format", [PixelFormat.GRAY8, PixelFormat.BGR24])
def test_a_generated_image_fits_its_geometry_and_is_reproducible(
    scene: ImageKind, pixel_format: PixelFormat
) -> None:
    geometry = Geometry(131, 97, pixel_format)
    made = generate_image(scene, geometry, seed=3)
    assert made.shape == geometry.shape
    assert made.dtype == np.uint8
    assert np.array_equal(made, generate_image(scene, geometry, seed=3))


def test_kinds_of_images_have_their_properties() -> None:
    levels = {scene: generate_image(scene, SMALL) for scene in ImageKind}
    assert np.ptp(levels[ImageKind.CONSTANT]) == 0
    assert levels[ImageKind.DARK].mean() < 40 < 80 < levels[ImageKind.PHOTOGRAPH].mean()
    assert np.unique(levels[ImageKind.RANDOM]).size == 256


def test_an_image_file_is_converted_to_the_geometry(tmp_path: Path) -> None:
    import cv2

    path = tmp_path / "a.png"
    cv2.imwrite(str(path), generate_image(ImageKind.RANDOM, SMALL))
    read = read_image(path, Geometry(50, 30, PixelFormat.GRAY8))
    assert read.shape == (30, 50)
    assert read.dtype == np.uint8


def test_an_unreadable_image_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no picture")
    with pytest.raises(FrameError, match=r"notes\.txt"):
        read_image(tmp_path / "notes.txt", SMALL)


def test_the_header_contains_cpu_and_versions() -> None:
    host = describe_host()
    assert "cores" in host["cpu"]
    assert {"python", "lumaflow", "numpy", "opencv-python-headless"} <= set(host)


def test_the_header_lists_the_tuned_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "available_devices", lambda: ["cpu", "cuda:0", "cuda:1"])
    monkeypatch.setattr(autotune_cache, "cached_file", lambda index: Path("a file") if index == 1 else None)
    assert describe_host()["launches"] == "tuned on cuda:1"
    monkeypatch.setattr(autotune_cache, "cached_file", lambda index: None)
    assert describe_host()["launches"] == "default"
    monkeypatch.setattr(host, "available_devices", lambda: ["cpu"])
    assert "launches" not in describe_host()


def test_memory_of_a_process_and_its_descendants() -> None:
    script = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE) as child:
        assert child.pid in descendants(os.getpid())
        assert rss_bytes(child.pid) > 1 << 20
        child.communicate()
    assert rss_bytes(child.pid) == 0


class _EchoHandler(BaseHTTPRequestHandler):
    """Returns each frame, or an error if the server is set to."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, _Echo)
        self.server.bodies.append(body)
        self.server.tokens.add(self.headers["Authorization"])
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class _Echo(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _EchoHandler)
        self.bodies: list[bytes] = []
        self.tokens: set[str | None] = set()
        self.headers = {"Authorization": "Bearer its-own"}
        self.status = 200

    def connect(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.server_port, timeout=10)


@pytest.fixture
def echo() -> Iterator[_Echo]:
    with _Echo() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize("in_flight", [1, 3])
def test_each_frame_is_sent_once(echo: _Echo, in_flight: int) -> None:
    images = [b"first", b"second"]
    latencies, seconds = send_frames(echo, images, 10, in_flight)  # type: ignore[arg-type]
    assert sorted(echo.bodies) == sorted(images * 5)
    assert echo.tokens == {"Bearer its-own"}
    assert len(latencies) == 10
    assert 0 < max(latencies) <= seconds


def test_an_error_response_ends_the_measurement(echo: _Echo) -> None:
    echo.status = 503
    with pytest.raises(ServerError, match=r"answered 503.*the words"):
        send_frames(echo, [b"the words"], 1, 1)  # type: ignore[arg-type]


def test_the_rate_of_the_service_is_relative_to_the_plain_loop() -> None:
    counts = LoadCounts()
    counts.plain_loop.add([0.01] * 10, 0.1)
    for count in counts.served.values():
        count.add([0.02] * 10, 0.125)
    figures = {figure.name: figure for figure in speed_figures("service", counts)}
    assert figures["bare loop"].median == pytest.approx(100)
    assert figures["1 in flight"].ratio == pytest.approx(0.8)
    assert figures["1 in flight"].goal_reached
    assert figures["4 in flight: latency"].median == pytest.approx(0.02)


def test_memory_growth_is_from_the_first_to_the_last_round() -> None:
    rounds = [(100, 1000), (90, 1100), (100, 1300)]
    figures = {figure.name: figure.median for figure in memory_figures("service", rounds, frames=50)}
    assert figures == {
        "API resident": 100,
        "API growth, 50 frames": 0,
        "worker resident": 1100,
        "worker growth, 50 frames": 300,
    }


def test_bench_pipeline_measures_a_small_lane_and_saves_its_figures(tmp_path: Path) -> None:
    saved = tmp_path / "figures.json"
    arguments = ["pipeline", "--device", "cpu", "--frames", "2", "--size", "64x48", "--json", str(saved)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "sustained" in result.output
    figures = json.loads(saved.read_text())["figures"]
    assert {figure["subject"] for figure in figures} == {
        f"64x48 {name} on cpu" for name in ("gray8", "nv12", "bgr24")
    }
    names = {figure["name"] for figure in figures}
    assert "cv2 CLAHE, HOG" in names
    stages = {f"stage {stage}" for stage in ("histogram", "lut", "apply", "hog", "lbp")}
    assert {"sustained", "latency, one frame", "latency, p99", "host: submit"} | stages <= names
    assert all(figure["median"] > 0 for figure in figures)
    assert all(figure["ratio"] > 0 for figure in figures if figure["name"] == "sustained")


def test_a_plot_without_matplotlib_is_rejected_before_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(*_: object) -> Iterator[Figure]:
        pytest.fail("measured already")
        yield

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(commands, "measure_lane", measured)
    options = ["--device", "cpu", "--plot", str(tmp_path / "a.png")]
    done = CliRunner().invoke(app, ["pipeline", *options])
    assert isinstance(done.exception, OptionError)
    assert "pip install -e '.[plot]'" in str(done.exception)


def test_progress_is_shown_only_on_a_terminal_and_on_standard_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    figure = Figure.of("the lane", "sustained [a]", "frames/s", [1.0])
    monkeypatch.setattr(commands, "measure_lane", lambda *_: [figure])
    for terminal in (True, False):
        output = StringIO()
        stderr_console = Console(file=output, force_terminal=terminal, width=120)
        monkeypatch.setattr(
            commands,
            "Console",
            lambda stderr=False, stderr_console=stderr_console: stderr_console if stderr else Console(),
        )
        done = CliRunner().invoke(app, ["pipeline", "--device", "cpu", "--size", "32x16"])
        assert done.exit_code == 0
        assert "lumaflow bench pipeline" in done.stdout
        assert ("the last: the lane, sustained [a]" in output.getvalue()) is terminal
        assert "measuring" not in done.stdout


def test_the_help_is_plain_text() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert "--install-completion" not in shown
    assert "╭" not in shown


@pytest.mark.parametrize("size", ["large", "0x0", "64x0", "99999x1", "64x48x3"])
def test_bench_pipeline_rejects_an_invalid_size(size: str) -> None:
    result = CliRunner().invoke(app, ["pipeline", "--device", "cpu", "--size", size])
    assert result.exit_code == 2
    assert "WIDTHxHEIGHT" in result.output
