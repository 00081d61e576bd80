"""The keys that a JSON schema knows at a place."""

from collections.abc import Mapping
from typing import Any

from lumaflow_service.config.validation import Place

Schema = Mapping[str, Any]


def names_at(whole: Schema, path: Place, start: Schema | None = None) -> list[str]:
    """The keys known where `path` leads to from `start`, a part of the `whole`; else from the whole."""
    places = [whole if start is None else start]
    for step in path:
        places = [inner for place in places for inner in _inside(place, step, whole)]
    return sorted(
        {name for place in places for one in _real(place, whole) for name in one.get("properties", {})}
    )


def _inside(place: Schema, step: str | int, whole: Schema) -> list[Schema]:
    found: list[Schema] = []
    for one in _real(place, whole):
        inner = one.get("items") if isinstance(step, int) else one.get("properties", {}).get(step)
        patterns = [*one.get("patternProperties", {}).values(), one.get("additionalProperties")]
        found += [entry for entry in ([inner] if inner else patterns) if isinstance(entry, dict)]
    return found


def _real(place: Schema, whole: Schema) -> list[Schema]:
    """A place with its references and alternatives followed."""
    if "$ref" in place:
        referred = whole
        for step in place["$ref"].removeprefix("#/").split("/"):
            referred = referred[step]
        return _real(referred, whole)
    return [one for entry in place["anyOf"] for one in _real(entry, whole)] if "anyOf" in place else [place]
