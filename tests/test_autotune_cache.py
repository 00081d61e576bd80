"""Launch configurations: selection, damaged cache files, and equal results for all configurations."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lane_helpers import enhance_all
from lumaflow.backend import available_devices
from lumaflow.cuda import autotune_cache
from lumaflow.cuda.autotune_cache import (
    CacheKey,
    cache_folder,
    kernels_digest,
    launch_config_for,
    load,
    store,
)
from lumaflow.cuda.launch_config import CHOICES, DEFAULT_LAUNCH_CONFIG, LaunchConfig
from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, Hog, HogLayout, Lbp, Mode, Options
from lumaflow_service import doctor
from shim import open_shim, run_step
from synthetic_frames import synthetic_frame

KEY = CacheKey("some GPU", 13000, "of these kernels")
LEAST, MOST = (
    LaunchConfig(**{name: pick(values) for name, values in CHOICES.items()}) for pick in (min, max)
)
JOBS = (
    (PixelFormat.GRAY8, Options(hog=Hog(), lbp=Lbp(), heatmap=True)),
    (PixelFormat.BGR24, Options(Equalization(Mode.EQUALIZE), hog=Hog(HogLayout.COMPACT))),
    (PixelFormat.GRAY12, Options(hog=Hog())),
    (PixelFormat.GRAY16, Options(Equalization(Mode.EQUALIZE))),
)


def test_the_defaults_are_among_the_choices() -> None:
    assert all(value in CHOICES[name] for name, value in asdict(DEFAULT_LAUNCH_CONFIG).items())


def test_a_stored_configuration_is_loaded_only_for_the_same_key(tmp_path: Path) -> None:
    path = store(KEY, MOST, tmp_path / "not" / "there" / "yet")
    assert load(KEY, path.parent) == MOST
    for other in (
        replace(KEY, gpu="another"),
        replace(KEY, driver=12080),
        replace(KEY, kernels="changed"),
    ):
        assert load(other, path.parent) is None
    assert [file.name for file in path.parent.iterdir()] == [KEY.file]


def test_a_file_with_another_key_is_ignored(tmp_path: Path) -> None:
    other = replace(KEY, gpu="another")
    store(other, MOST, tmp_path).rename(tmp_path / KEY.file)
    assert load(KEY, tmp_path) is None


def whole() -> dict[str, Any]:
    """The content of a valid file."""
    return {"key": asdict(KEY), "shapes": asdict(MOST)}


def changed(**fields: object) -> bytes:
    """A file with changed fields."""
    return json.dumps(whole() | {"shapes": asdict(MOST) | fields}).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no JSON",
        b"\xff\xfe\x00",
        b"[" * 60_000,
        b"[]",
        json.dumps(whole()).encode()[:-20],
        json.dumps({"key": asdict(KEY)}).encode(),
        json.dumps(whole() | {"shapes": [1, 2]}).encode(),
        json.dumps(whole() | {"shapes": {"hog_blocks": 132}}).encode(),
        changed(blocks=7),
        changed(hog_blocks="132"),
        changed(hog_blocks=True),
        changed(hog_blocks=132.0),
        changed(hog_blocks=0),
        changed(clahe_blocks=1 << 40),
        changed(clahe_pixels=-1),
        b" " * (1 << 16) + json.dumps(whole()).encode(),
    ],
)
def test_a_damaged_file_is_ignored(tmp_path: Path, content: bytes) -> None:
    (tmp_path / KEY.file).write_bytes(content)
    assert load(KEY, tmp_path) is None


def test_an_unreadable_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / KEY.file).mkdir()
    assert load(KEY, tmp_path) is None
    assert load(KEY, tmp_path / KEY.file / "nowhere") is None


def test_a_lane_uses_the_configuration_of_its_gpu_or_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(autotune_cache, "key_of", lambda index: replace(KEY, gpu=f"GPU {index}"))
    assert launch_config_for(0) == DEFAULT_LAUNCH_CONFIG
    store(replace(KEY, gpu="GPU 0"), LEAST, cache_folder())
    assert (launch_config_for(0), launch_config_for(1)) == (LEAST, DEFAULT_LAUNCH_CONFIG)
    assert cache_folder() == tmp_path / "lumaflow"


def test_doctor_lists_the_tuned_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(doctor, "available_devices", lambda: ["cpu", "cuda:0", "cuda:1"])
    monkeypatch.setattr(autotune_cache, "key_of", lambda index: replace(KEY, gpu=f"GPU {index}"))
    path = store(replace(KEY, gpu="GPU 1"), LEAST, cache_folder())
    origins = doctor._launch_configs()
    assert "lumaflow bench tune" in origins["launches on cuda:0"]
    assert origins["launches on cuda:1"] == f"tuned, from {path}"
    monkeypatch.setattr(doctor, "available_devices", lambda: ["cpu"])
    assert doctor._launch_configs() == {}


def test_the_cache_folder_is_below_home_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/.cache/lumaflow")


def test_a_changed_kernel_or_compiler_changes_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kernels_digest((12, 9))
    assert kernels_digest((12, 9)) == before != kernels_digest((13, 0))
    for path in autotune_cache.FOLDER.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(autotune_cache, "FOLDER", tmp_path)
    assert kernels_digest((12, 9)) == before
    (tmp_path / "lbp.cu").write_text("// another")
    assert kernels_digest((12, 9)) != before


@pytest.mark.parametrize(("pixel_format", "options"), JOBS)
def test_launch_configurations_do_not_change_results(
    tmp_path: Path, rng: np.random.Generator, pixel_format: PixelFormat, options: Options
) -> None:
    one = synthetic_frame(rng, Geometry(333, 175, pixel_format), 3)
    kernels = open_shim(tmp_path, one.geometry, options)
    expected = run_step(kernels, one, options)
    few = replace(LEAST, **{name: 2 for name in CHOICES})
    many = replace(MOST, **{name: 64 for name in CHOICES if name.endswith("pixels")})
    for config in (LEAST, MOST, few, many):
        found = run_step(kernels, one, options, launch_config=config)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, err_msg=f"{name} of {config}")


@pytest.mark.skipif("cuda:0" not in available_devices(), reason="no GPU here: see `lumaflow doctor`")
@pytest.mark.parametrize(("pixel_format", "options"), JOBS)
def test_a_tuned_lane_gives_the_same_results(
    tmp_path: Path,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    pixel_format: PixelFormat,
    options: Options,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    frames = [synthetic_frame(rng, Geometry(1000, 601, pixel_format), kind) for kind in (3, 4, 3)]
    expected = enhance_all("cuda:0", frames, options)
    for config in (LEAST, MOST):
        store(autotune_cache.key_of(0), config, cache_folder())
        assert launch_config_for(0) == config
        for found, one in zip(enhance_all("cuda:0", frames, options), expected, strict=True):
            np.testing.assert_array_equal(found.frame.pixels, one.frame.pixels)
            for name in ("bins", "lut", "hog", "lbp"):
                np.testing.assert_array_equal(getattr(found, name), getattr(one, name), err_msg=name)
