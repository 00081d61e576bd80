"""`bench kernels` and `bench baselines`: figures, generated frames, plots, and errors without a GPU."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from rich.console import Console

from lumaflow.cuda.bench.profiler import KernelTimes, RecordingKernel
from lumaflow.errors import OptionError
from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.options import Options
from lumaflow_service.bench.baselines import measure_baselines
from lumaflow_service.bench.figure import Figure, Limit, Skipped
from lumaflow_service.bench.images import ImageKind, frames
from lumaflow_service.bench.kernels import KernelJob, job_figures
from lumaflow_service.bench.plot import draw
from lumaflow_service.bench.report import BenchReport
from lumaflow_service.cli import run

SIZE = (160, 90)
JOB = KernelJob("a job", PixelFormat.GRAY8, Options(), goals={SIZE: 10e-6})


def times_of(seconds: dict[ImageKind, float], kernels: dict[str, float]) -> dict[ImageKind, KernelTimes]:
    """Times for each scene; each step moves 1000 bytes."""
    return {
        scene: KernelTimes([value] * 3, {name: [spent] * 3 for name, spent in kernels.items()}, 1000)
        for scene, value in seconds.items()
    }


def test_a_step_is_relative_to_a_copy_and_the_slowest_scene_to_the_goal() -> None:
    seconds = {
        ImageKind.PHOTOGRAPH: 8e-6,
        ImageKind.DARK: 4e-6,
        ImageKind.CONSTANT: 12e-6,
        ImageKind.RANDOM: 8e-6,
    }
    figures = list(job_figures(JOB, SIZE, times_of(seconds, {"apply": 3e-6}), bandwidth=1e9))
    named = {figure.name.strip(): figure for figure in figures}
    assert named["photograph"].ratio == pytest.approx(8)
    assert named["slowest over fastest"].median == pytest.approx(3)
    assert named["slowest over fastest"].goal_reached is False
    assert named["slowest"].median == pytest.approx(12e-6)
    assert named["slowest"].goal_reached is False
    assert named["apply, photograph"].median == pytest.approx(3e-6)


def test_a_job_can_select_one_kernel() -> None:
    job = KernelJob("a transposition", PixelFormat.GRAY8, Options(), kernel="transpose", copy_goal=1.25)
    times = times_of({ImageKind.PHOTOGRAPH: 9e-6}, {"apply": 5e-6, "transpose_1": 1.2e-6})
    transposition, _ = job_figures(job, SIZE, times, bandwidth=1e9)
    assert transposition.median == pytest.approx(1.2e-6)
    assert transposition.goal_reached


@pytest.mark.parametrize(("seconds", "met"), [(10e-6, True), (10.1e-6, False)])
def test_a_time_meets_its_goal_if_it_is_not_longer(seconds: float, met: bool) -> None:
    assert Figure("lane", "step", "s", seconds, limit=Limit("a copy", 5e-6, 2.0)).goal_reached is met


def test_a_skipped_measurement_is_reported_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    report = BenchReport("a title", {}, (Skipped("1x1 a job", "all", "it does not run here"),))
    report.print(Console(width=120))
    assert "left out: it does not run here" in capsys.readouterr().out
    assert report.figures[0].as_json()["missing"] == "it does not run here"


@pytest.mark.parametrize("name", ["gray8", "bgr24", "nv12", "i420", "gray12", "p010"])
def test_frames_of_a_scene_fit_every_planar_format_and_differ(name: str) -> None:
    geometry = Geometry(130, 95, PixelFormat(name))
    made = frames(ImageKind.PHOTOGRAPH, geometry, 3)
    assert [frame.geometry for frame in made] == [geometry] * 3
    assert not np.array_equal(made[0].pixels, made[1].pixels)
    assert all(np.ptp(frame.pixels >> geometry.shift) > 50 << (geometry.layout.bits - 8) for frame in made)
    assert all(int(frame.pixels.max()) >> geometry.shift < 1 << geometry.layout.bits for frame in made)


def test_a_recorded_launch_can_be_repeated() -> None:
    seen: list[tuple[object, ...]] = []

    def kernel(
        grid: object, block: object, args: object, *, shared_mem: int = 0, stream: object = None
    ) -> None:
        seen.append((grid, block, args, shared_mem, stream))

    recorder = RecordingKernel(kernel)
    recorder((1, 1, 1), (32, 1, 1), (7,), shared_mem=5, stream="first")
    for launch in recorder.launches:
        launch(stream="again")
    assert seen == [((1, 1, 1), (32, 1, 1), (7,), 5, stream) for stream in ("first", "again")]


def test_a_plot_without_matplotlib_names_the_extra_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(OptionError, match=r"'\.\[plot\]'"):
        draw(BenchReport("a title", {}, (Figure("a", "b", "s", 1.0),)), tmp_path / "plot.png")


def test_a_plot_shows_every_subject(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed; install the extra plot")
    figures = (
        Figure.of("first job", "spread", "s", [1e-5, 2e-5, 4e-5], Limit("a copy", 1e-5)),
        Skipped("first job", "another", "it is not here"),
        Figure("second job", "alone", "frames/s", 100.0),
    )
    draw(BenchReport("a title", {}, figures), tmp_path / "plot.svg")
    drawn = (tmp_path / "plot.svg").read_text()
    assert all(subject in drawn for subject in ("a title", "first job", "second job"))


def test_a_plot_without_figures_is_rejected(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed; install the extra plot")
    with pytest.raises(OptionError, match="expected figures to plot, got none"):
        draw(BenchReport("a title", {}, (Skipped("a", "b", "not here"),)), tmp_path / "plot.png")


@pytest.mark.parametrize(
    "arguments",
    [
        ["kernels"],
        ["kernels", "--device", "cpu"],
        ["experiments"],
        ["seeds"],
        ["baselines", "--device", "cuda"],
    ],
)
def test_without_a_gpu_the_error_is_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert run(["bench", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("lumaflow: ")
    assert error.count("\n") == 1


def test_baselines_on_the_cpu_are_opencv_with_one_and_with_all_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "kornia_rs", None)
    *measured, missing = measure_baselines("cpu", [(64, 48)])
    assert "equalize: cv2, 1 threads, photograph" in [figure.name for figure in measured]
    assert len(measured) == 2 * 4 * 2
    assert isinstance(missing, Skipped)
    assert "pip install kornia-rs" in missing.reason


def test_kornia_rs_receives_planes_of_one_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, tuple[int, ...]]] = []
    imgproc = ModuleType("imgproc")
    for name in ("equalize_hist", "clahe", "compute_histogram"):
        setattr(imgproc, name, lambda pixels, *_, name=name: calls.append((name, pixels.shape)))
    package = ModuleType("kornia_rs")
    vars(package)["imgproc"] = imgproc
    monkeypatch.setitem(sys.modules, "kornia_rs", package)
    figures = [entry for entry in measure_baselines("cpu", [(64, 48)]) if "kornia-rs" in entry.name]
    assert len(figures) == 3 * 2
    assert set(calls) == {(name, (48, 64, 1)) for name in ("equalize_hist", "clahe", "compute_histogram")}
