"""The search for launch shapes, on a clock of the tests' own: it finds the best and keeps to its time."""

from dataclasses import asdict, fields, replace
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
from typer.testing import CliRunner

from lumaflow.backend import available_devices
from lumaflow.cuda.launch_config import CHOICES, DEFAULT_LAUNCH_CONFIG, LaunchConfig
from lumaflow.errors import DeviceError
from lumaflow_service.bench import app
from lumaflow_service.bench.kernels import Size
from lumaflow_service.bench.tune import JOBS, confirmed, search, shape_figures, speed_figures, tune

BEST = LaunchConfig(**{name: values[len(values) // 2 - 1] for name, values in CHOICES.items()})
LATER = 1e9


def valley(job: object, size: Size, shapes: LaunchConfig) -> float:
    """Seconds that grow with the distance from `BEST`, in every number alike."""
    there, here = (np.log(list(asdict(one).values())) for one in (BEST, shapes))
    return 1e-5 * float(1 + np.abs(there - here).sum())


def test_every_number_is_tuned_by_one_job() -> None:
    tuned = [number for job in JOBS for number in job.numbers]
    assert sorted(tuned) == sorted(field.name for field in fields(LaunchConfig))


def test_the_search_finds_the_best_of_every_number() -> None:
    assert BEST != DEFAULT_LAUNCH_CONFIG
    assert search(valley, LATER) == BEST
    assert confirmed(valley, BEST) == BEST


def test_blocks_that_only_win_together_are_found() -> None:
    """Two kernels side by side: more blocks of the one alone take from the other."""

    def ridge(job: object, size: Size, shapes: LaunchConfig) -> float:
        numbers = (shapes.histogram_blocks, shapes.lut_blocks)
        usual = (DEFAULT_LAUNCH_CONFIG.histogram_blocks, DEFAULT_LAUNCH_CONFIG.lut_blocks)
        ratios = [now / before for now, before in zip(numbers, usual, strict=True)]
        return 1e-5 * (1.0 + 2.0 * abs(ratios[0] - ratios[1]) + min(ratios))

    found = search(ridge, LATER)
    assert found.histogram_blocks < DEFAULT_LAUNCH_CONFIG.histogram_blocks
    assert found.lut_blocks < DEFAULT_LAUNCH_CONFIG.lut_blocks


def test_what_is_hardly_faster_is_left_alone() -> None:
    def flat(job: object, size: Size, shapes: LaunchConfig) -> float:
        return 1e-5 if shapes == DEFAULT_LAUNCH_CONFIG else 0.985e-5

    assert search(flat, LATER) == DEFAULT_LAUNCH_CONFIG


def test_a_job_that_wins_only_once_keeps_its_defaults() -> None:
    def clock(job: object, size: Size, shapes: LaunchConfig) -> float:
        return 1e-5 * (1 - 0.3 * (shapes.hog_blocks == 132) + 0.3 * (shapes.clahe_blocks == 66))

    lucky = replace(DEFAULT_LAUNCH_CONFIG, hog_blocks=132, clahe_blocks=66)
    assert confirmed(clock, lucky) == replace(DEFAULT_LAUNCH_CONFIG, hog_blocks=132)


def test_the_search_ends_in_time_with_what_it_has() -> None:
    def slow(job: object, size: Size, shapes: LaunchConfig) -> float:
        sleep(0.01)
        return valley(job, size, shapes)

    began = monotonic()
    found = search(slow, began + 0.1)
    assert monotonic() - began < 2
    assert valley(None, (1, 1), found) < valley(None, (1, 1), DEFAULT_LAUNCH_CONFIG)
    assert found.word_clahe_pixels == DEFAULT_LAUNCH_CONFIG.word_clahe_pixels != BEST.word_clahe_pixels


def test_what_was_found_is_held_against_the_defaults() -> None:
    figures = list(speed_figures("cuda:0", valley, BEST))
    assert len(figures) == 2 * len(JOBS)
    assert all(figure.ratio is not None and figure.ratio < 1 for figure in figures)
    numbers = {figure.name: figure for figure in shape_figures("cuda:0", BEST)}
    assert numbers["hog_blocks"].unit == "blocks"
    assert numbers["hog_blocks"].median == BEST.hog_blocks


def test_tuning_asks_for_a_gpu() -> None:
    with pytest.raises(DeviceError, match="cpu was asked for"):
        list(tune("cpu", 1.0))


@pytest.mark.skipif("cuda:0" not in available_devices(), reason="no GPU here: see `lumaflow doctor`")
def test_a_short_search_keeps_what_lanes_then_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lumaflow.cuda.autotune_cache import cache_folder, key_of, launch_config_for, load

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = CliRunner().invoke(app, ["tune", "--device", "cuda:0", "--seconds", "1"])
    assert result.exit_code == 0, result.output
    kept = load(key_of(0), cache_folder())
    assert kept == launch_config_for(0)
    assert key_of(0).file in result.output.replace("\n", "")
