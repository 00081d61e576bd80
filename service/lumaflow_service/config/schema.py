"""Lookup of the keys that a JSON schema defines at a location."""

from collections.abc import Mapping
from typing import Any

from lumaflow_service.config.validation import Location

Schema = Mapping[str, Any]


def keys_at(root: Schema, location: Location, start: Schema | None = None) -> list[str]:
    """The keys at `location`, sorted.

    root : the whole schema, in which references are resolved
    start : the part of it where `location` begins; None for `root`
    """
    schemas = [root if start is None else start]
    for step in location:
        schemas = [child for schema in schemas for child in _children(schema, step, root)]
    return sorted(
        {key for schema in schemas for one in _resolve(schema, root) for key in one.get("properties", {})}
    )


def _children(schema: Schema, step: str | int, root: Schema) -> list[Schema]:
    found: list[Schema] = []
    for one in _resolve(schema, root):
        child = one.get("items") if isinstance(step, int) else one.get("properties", {}).get(step)
        patterns = [*one.get("patternProperties", {}).values(), one.get("additionalProperties")]
        found += [entry for entry in ([child] if child else patterns) if isinstance(entry, dict)]
    return found


def _resolve(schema: Schema, root: Schema) -> list[Schema]:
    """The schemas that `schema` stands for, with `$ref` and `anyOf` resolved."""
    if "$ref" in schema:
        target = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return _resolve(target, root)
    if "anyOf" in schema:
        return [one for entry in schema["anyOf"] for one in _resolve(entry, root)]
    return [schema]
