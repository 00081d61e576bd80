"""The search for a launch configuration, with simulated times."""

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
from lumaflow_service.bench.tune import JOBS, config_figures, confirm, search, speed_figures, tune

BEST = LaunchConfig(**{name: values[len(values) // 2 - 1] for name, values in CHOICES.items()})
LATER = 1e9


def valley(job: object, size: Size, config: LaunchConfig) -> float:
    """Simulated seconds that grow with the distance from `BEST`, equally in each field."""
    there, here = (np.log(list(asdict(each).values())) for each in (BEST, config))
    return 1e-5 * float(1 + np.abs(there - here).sum())


def test_each_field_is_tuned_by_one_job() -> None:
    tuned = [field for job in JOBS for field in job.fields]
    assert sorted(tuned) == sorted(field.name for field in fields(LaunchConfig))


def test_the_search_finds_the_best_value_of_each_field() -> None:
    assert BEST != DEFAULT_LAUNCH_CONFIG
    assert search(valley, LATER) == BEST
    assert confirm(valley, BEST) == BEST


def test_block_counts_that_are_faster_only_together_are_found() -> None:
    """Two concurrent kernels: more blocks for one of them slow down the other."""

    def ridge(job: object, size: Size, config: LaunchConfig) -> float:
        blocks = (config.histogram_blocks, config.lut_blocks)
        default = (DEFAULT_LAUNCH_CONFIG.histogram_blocks, DEFAULT_LAUNCH_CONFIG.lut_blocks)
        ratios = [now / before for now, before in zip(blocks, default, strict=True)]
        return 1e-5 * (1.0 + 2.0 * abs(ratios[0] - ratios[1]) + min(ratios))

    found = search(ridge, LATER)
    assert found.histogram_blocks < DEFAULT_LAUNCH_CONFIG.histogram_blocks
    assert found.lut_blocks < DEFAULT_LAUNCH_CONFIG.lut_blocks


def test_a_gain_below_the_minimum_is_ignored() -> None:
    def flat(job: object, size: Size, config: LaunchConfig) -> float:
        return 1e-5 if config == DEFAULT_LAUNCH_CONFIG else 0.985e-5

    assert search(flat, LATER) == DEFAULT_LAUNCH_CONFIG


def test_a_gain_that_is_not_confirmed_is_ignored() -> None:
    def timer(job: object, size: Size, config: LaunchConfig) -> float:
        return 1e-5 * (1 - 0.3 * (config.hog_blocks == 132) + 0.3 * (config.clahe_blocks == 66))

    lucky = replace(DEFAULT_LAUNCH_CONFIG, hog_blocks=132, clahe_blocks=66)
    assert confirm(timer, lucky) == replace(DEFAULT_LAUNCH_CONFIG, hog_blocks=132)


def test_the_search_stops_at_its_deadline_with_the_best_so_far() -> None:
    def slow(job: object, size: Size, config: LaunchConfig) -> float:
        sleep(0.01)
        return valley(job, size, config)

    start = monotonic()
    found = search(slow, start + 0.1)
    assert monotonic() - start < 2
    assert valley(None, (1, 1), found) < valley(None, (1, 1), DEFAULT_LAUNCH_CONFIG)
    assert found.u16_clahe_pixels == DEFAULT_LAUNCH_CONFIG.u16_clahe_pixels != BEST.u16_clahe_pixels


def test_figures_are_relative_to_the_defaults() -> None:
    figures = list(speed_figures("cuda:0", valley, BEST))
    assert len(figures) == 2 * len(JOBS)
    assert all(figure.ratio is not None and figure.ratio < 1 for figure in figures)
    by_name = {figure.name: figure for figure in config_figures("cuda:0", BEST)}
    assert by_name["hog_blocks"].unit == "blocks"
    assert by_name["hog_blocks"].median == BEST.hog_blocks


def test_tuning_requires_a_gpu() -> None:
    with pytest.raises(DeviceError, match="expected a GPU, got cpu"):
        list(tune("cpu", 1.0))


@pytest.mark.skipif("cuda:0" not in available_devices(), reason="no GPU here: see `lumaflow doctor`")
def test_lanes_use_the_result_of_a_short_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lumaflow.cuda.autotune_cache import cache_folder, key_of, launch_config_for, load

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = CliRunner().invoke(app, ["tune", "--device", "cuda:0", "--seconds", "1"])
    assert result.exit_code == 0, result.output
    cached = load(key_of(0), cache_folder())
    assert cached == launch_config_for(0)
    assert key_of(0).file in result.output.replace("\n", "")
