"""Presets: their values, and what overrides them in JSON, in a configuration file and on the command line."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

import lumaflow_service.files.commands
from lumaflow.errors import OptionError
from lumaflow.options import ColorMode, Equalization, Mode
from lumaflow_service import cli
from lumaflow_service.config.loader import parse
from lumaflow_service.config.model import Config
from lumaflow_service.config.options import OptionsPatch, SourceOptions
from lumaflow_service.config.presets import (
    DEFAULTS,
    PRESETS,
    Preset,
    expand_preset,
    merge_options,
    preset_values,
)
from lumaflow_service.config.settings import Settings
from lumaflow_service.files.run_lane import LaneJob


def camera_options(text: str) -> SourceOptions:
    config = parse(text, Path(), {}).config
    return config.sources["a"].options(config.defaults)


# options ------------------------------------------------------------------------------------------


def test_defaults_are_those_of_the_options() -> None:
    options = SourceOptions()
    assert {name: getattr(options, name) for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize("preset", Preset)
def test_a_preset_is_a_valid_set_of_options(preset: Preset) -> None:
    options = SourceOptions(preset=preset)
    assert options.preset is preset
    assert {name: getattr(options, name) for name in DEFAULTS} == preset_values(preset)
    assert options.to_pipeline().equalization.mode is PRESETS[preset].get("mode", Mode.AUTO)


def test_the_pipeline_gets_every_option() -> None:
    options = SourceOptions(
        mode="lowlight", strength=0.25, target=99, denoise=False, smoothing=0.5, gate=True, color="luma"
    )
    expected = Equalization(
        Mode.LOWLIGHT,
        strength=0.25,
        target=99.0,
        denoise=False,
        smoothing=0.5,
        gate=True,
        color=ColorMode.LUMA,
    )
    assert options.to_pipeline().equalization == expected


def test_an_option_next_to_a_preset_overrides_it() -> None:
    options = SourceOptions(preset="backlight", strength=0.5, target=None)
    assert (options.preset, options.mode, options.strength, options.target) == (
        "backlight",
        "lowlight",
        0.5,
        None,
    )


def test_options_stay_equal_through_json() -> None:
    options = SourceOptions(preset="backlight", strength=0.5)
    assert SourceOptions.model_validate_json(options.model_dump_json()) == options


def test_options_without_a_mode_have_the_preset_auto() -> None:
    assert (SourceOptions().preset, SourceOptions().mode) == (Preset.AUTO, Mode.AUTO)
    assert SourceOptions(strength=0.5).preset is Preset.AUTO
    assert SourceOptions() == SourceOptions(preset="auto")


def test_a_mode_without_a_preset_has_none() -> None:
    assert SourceOptions(mode="stretch").preset is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"preset": "day"},
        {"preset": ["night"]},
        {"strength": 1.1},
        {"strength": -0.1},
        {"target": 39},
        {"target": 161},
        {"smoothing": 0},
        {"smoothing": 1.5},
        {"denoise": "maybe"},
        {"gate": None},
    ],
)
def test_a_value_outside_its_range_is_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        SourceOptions.model_validate(wrong)


def test_a_changed_preset_sets_all_its_values() -> None:
    options = SourceOptions(preset="backlight", clip_limit=5, tiles="2x2").changed({"preset": "industrial"})
    assert options == SourceOptions(preset="industrial", tiles="2x2")


def test_a_changed_mode_clears_the_preset_and_another_option_does_not() -> None:
    night = SourceOptions(preset="night")
    assert night.changed({"mode": "clahe"}).preset is None
    assert night.changed({"mode": "lowlight"}).preset is Preset.NIGHT
    assert night.changed({"strength": 0.5}).preset is Preset.NIGHT


def test_null_unsets_a_preset_and_a_target() -> None:
    patch = OptionsPatch.model_validate({"preset": None, "target": None, "strength": None})
    assert patch.changes() == {"preset": None, "target": None}
    options = SourceOptions(preset="backlight").changed(patch.changes())
    assert (options.preset, options.target, options.mode) == (None, None, "lowlight")


def test_expand_leaves_an_unknown_preset_for_the_validation() -> None:
    assert expand_preset({"preset": "day", "mode": "clahe"}) == {"preset": "day", "mode": "clahe"}
    assert merge_options({}, {"tiles": "2x2"}) == {"tiles": "2x2"}


# configuration file and settings ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "preset", "mode"),
    [
        ("sources: {a: {url: 'rtsp://192.0.2.1/x', preset: fog}}", "fog", "dehaze"),
        ("defaults: {preset: night}\nsources: {a: {url: 'rtsp://192.0.2.1/x'}}", "night", "lowlight"),
        (
            "defaults: {preset: night}\nsources: {a: {url: 'rtsp://192.0.2.1/x', preset: off}}",
            "off",
            "identity",
        ),
        (
            "defaults: {preset: night}\nsources: {a: {url: 'rtsp://192.0.2.1/x', mode: stretch}}",
            None,
            "stretch",
        ),
        (
            "defaults: {mode: clipped}\nsources: {a: {url: 'rtsp://192.0.2.1/x', preset: fog}}",
            "fog",
            "dehaze",
        ),
    ],
)
def test_a_camera_overrides_the_defaults(text: str, preset: str | None, mode: str) -> None:
    options = camera_options(text)
    assert (options.preset, options.mode) == (preset, mode)


def test_a_wrong_preset_is_an_error_with_its_line() -> None:
    from lumaflow_service.config.camera_errors import ConfigError

    with pytest.raises(ConfigError, match=r"line 2: sources\.a\.preset"):
        parse("sources:\n  a: {preset: day, url: 'rtsp://192.0.2.1/x'}", Path(), {})


def test_a_preset_of_the_settings_replaces_that_of_the_defaults() -> None:
    config = Config.model_validate(
        {
            "defaults": {"mode": "clipped", "tiles": "2x2"},
            "sources": {
                "a": {"url": "rtsp://192.0.2.1/x"},
                "b": {"url": "rtsp://192.0.2.1/x", "mode": "clahe"},
            },
        }
    ).with_preset(Preset.NIGHT)
    options = {name: camera.options(config.defaults) for name, camera in config.sources.items()}
    assert options["a"] == SourceOptions(preset="night", tiles="2x2")
    assert (options["b"].mode, options["b"].preset) == ("clahe", None)


def test_the_preset_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().preset is None
    monkeypatch.setenv("LUMAFLOW_PRESET", "fog")
    assert Settings().preset is Preset.FOG


# command line -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["serve", "ingest"])
def test_serve_and_ingest_take_a_preset(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    import lumaflow_service.api.app

    seen: list[Settings] = []
    monkeypatch.setattr(lumaflow_service.api.app, "serve", lambda settings, **_: seen.append(settings))
    assert cli.run([command, "--config", str(tmp_path / "cameras.yaml"), "--preset", "night"]) == 0
    assert seen[0].preset is Preset.NIGHT


def enhance_job(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Equalization:
    """The options with which `lumaflow enhance` enhances."""
    seen: list[LaneJob] = []

    def enhance(source: Path, target: Path, job: LaneJob, features: Path | None, jobs: int) -> int:
        assert (source, target, features) == (Path("in.png"), Path("out.png"), None)
        seen.append(job)
        return 0

    monkeypatch.setattr(lumaflow_service.files.commands, "enhance", enhance)
    assert cli.run(["enhance", "in.png", "out.png", "--device", "cpu", *arguments]) == 0
    return seen[0].options.equalization


def test_enhance_has_the_default_options(monkeypatch: pytest.MonkeyPatch) -> None:
    assert enhance_job(monkeypatch) == SourceOptions().to_pipeline().equalization


@pytest.mark.parametrize("preset", Preset)
def test_enhance_takes_a_preset(monkeypatch: pytest.MonkeyPatch, preset: Preset) -> None:
    expected = SourceOptions(preset=preset).to_pipeline().equalization
    assert enhance_job(monkeypatch, "--preset", preset) == expected


def test_options_of_enhance_override_its_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["--preset", "backlight", "--strength", "0.5", "--target", "90", "--no-denoise", "--tiles", "4x4"]
    expected = Equalization(Mode.LOWLIGHT, tiles=(4, 4), strength=0.5, target=90.0, denoise=False)
    assert enhance_job(monkeypatch, *given) == expected


def test_enhance_takes_smoothing_and_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["--mode", "equalize", "--smoothing", "0.5", "--gate"]
    assert enhance_job(monkeypatch, *given) == Equalization(Mode.EQUALIZE, smoothing=0.5, gate=True)


def test_enhance_names_the_range_of_a_wrong_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["enhance", "in.png", "out.png", "--device", "cpu", "--target", "20"]) == 2
    assert "target must be from 40 to 160" in capsys.readouterr().err


def test_the_about_page_has_the_values_of_every_preset() -> None:
    from lumaflow_service.api.about import About

    schema = About.model_json_schema()
    assert "presets" in schema["required"]
    assert (
        json.loads(json.dumps({preset: preset_values(preset) for preset in Preset}))["off"]["mode"]
        == "identity"
    )


def test_an_option_error_is_raised_for_options_that_exclude_each_other() -> None:
    with pytest.raises(OptionError):
        Equalization(Mode.AUTO, target=20)
