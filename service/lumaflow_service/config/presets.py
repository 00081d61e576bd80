"""Presets: named values for the options that depend on the scene."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from lumaflow.options import Mode


class Preset(StrEnum):
    """Values for `mode` and the options that belong to it, by the name of a scene."""

    AUTO = "auto"
    NIGHT = "night"
    BACKLIGHT = "backlight"
    FOG = "fog"
    INDUSTRIAL = "industrial"
    DOCUMENT = "document"
    OFF = "off"


DEFAULTS: Mapping[str, Any] = {
    "mode": Mode.AUTO,
    "clip_limit": 2.0,
    "strength": 1.0,
    "target": None,
    "denoise": True,
    "smoothing": 1.0,
    "gate": False,
}
"""Default values of the options that a preset sets."""

PRESETS: Mapping[Preset, Mapping[str, Any]] = {
    Preset.AUTO: {},
    Preset.NIGHT: {"mode": Mode.LOWLIGHT},
    Preset.BACKLIGHT: {"mode": Mode.LOWLIGHT, "target": 60.0},
    Preset.FOG: {"mode": Mode.DEHAZE},
    Preset.INDUSTRIAL: {"mode": Mode.CLAHE},
    Preset.DOCUMENT: {"mode": Mode.STRETCH},
    Preset.OFF: {"mode": Mode.IDENTITY},
}
"""Preset -> the values that differ from DEFAULTS. docs/quality.md has the reasons."""


def expand_preset(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the values of their preset; options that are given next to a preset override it.

    A mode without a preset sets `preset` to None. A wrong preset stays as it is, for the validation.
    """
    preset = parse_off(options.get("preset"))
    if preset is None:
        return {**({"preset": None} if "mode" in options else {}), **options}
    if preset not in list(Preset):
        return dict(options)
    return {**preset_values(Preset(preset)), **options, "preset": preset}


def parse_off(preset: Any) -> Any:
    """`off` for false, which YAML reads `off` as; another value unchanged."""
    return Preset.OFF if preset is False else preset


def preset_values(preset: Preset) -> dict[str, Any]:
    """All option values that a preset sets."""
    return {**DEFAULTS, **PRESETS[preset]}


def merge_options(*levels: Mapping[str, Any]) -> dict[str, Any]:
    """Options from several places; a later one overrides an earlier one, and so does its preset.

    Another mode than that of the preset sets `preset` to None.
    """
    merged: dict[str, Any] = {}
    for options in levels:
        same_mode = "mode" in merged and options.get("mode") == merged["mode"]
        merged |= options if same_mode and "preset" not in options else expand_preset(options)
    return merged
