"""A mistake that pydantic found, as a sentence: where it is, what came, what is needed."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from lumaflow_service.redact import redact_urls

Place = tuple[str | int, ...]
Names = Callable[[Place], list[str]]
"""Gives the keys that are known at a place."""

PLACES = ("body", "query", "path")
MOST_SHOWN = 60
NEAR, NEARER = 0.5, 0.7
"""How alike a key must be to one that is known here, and to one that is known a step further in."""


def format_validation_error(error: Mapping[str, Any], whole: str, names: Names = lambda _: []) -> str:
    """One error of a ValidationError; `whole` says what it is that has the mistake."""
    path = path_of(error)
    return f"{dotted(path) or whole}: {_told(error, path, names)}"


def path_of(error: Mapping[str, Any]) -> Place:
    """The keys and indices that lead to the mistake."""
    steps = error["loc"][1:] if error["loc"][:1] and error["loc"][0] in PLACES else error["loc"]
    return tuple(step for step in steps if step != "[key]")


def dotted(path: Place) -> str:
    """A path as it is written."""
    return ".".join(map(str, path))


def hint(path: Place, names: Names) -> str:
    """What the key at the end of `path`, which is not known there, may have been meant to be."""
    place, name = path[:-1], str(path[-1])
    known = names(place)
    inner = {one: f"{key}.{one}" for key in known for one in names((*place, key))}
    if name in inner:
        return f"did you mean {inner[name]}?"
    near = get_close_matches(name, known, n=1, cutoff=NEAR)
    near += [inner[one] for one in get_close_matches(name, inner, n=1, cutoff=NEARER)]
    return f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"


def _told(error: Mapping[str, Any], path: Place, names: Names) -> str:
    match error["type"]:
        case "extra_forbidden":
            return f"there is no such key; {hint(path, names)}"
        case "missing":
            return "nothing came; add it"
        case "value_error":
            return str(error["msg"]).removeprefix("Value error, ")
        case "dict_type" | "model_type" | "model_attributes_type":
            known = names(path)
            listed = f"; known here: {', '.join(known)}" if known else ""
            return f"{_kind(error['input'])} came; give keys with their values{listed}"
    return f"{_shown(error['input'])} came; {_needed(error)}"


def _needed(error: Mapping[str, Any]) -> str:
    """What to give instead of a value."""
    limits = error.get("ctx", {})
    match error["type"]:
        case "enum" | "literal_error":
            return f"give {limits['expected']}"
        case "greater_than":
            return f"give more than {limits['gt']:g}"
        case "greater_than_equal":
            return f"give at least {limits['ge']:g}"
        case "less_than_equal":
            return f"give at most {limits['le']:g}"
        case "int_type" | "int_parsing" | "int_from_float":
            return "give a whole number"
        case "float_type" | "float_parsing":
            return "give a number"
        case "bool_type" | "bool_parsing":
            return "give true or false"
        case "string_type":
            return "give text"
        case "list_type":
            return "give a list"
    return str(error["msg"])


def _shown(value: object) -> str:
    """A value, without the credentials of its URLs, in the length of a sentence."""
    text = redact_urls(repr(value))
    return f"{text[:MOST_SHOWN]}..." if len(text) > MOST_SHOWN else text


def _kind(value: object) -> str:
    kinds = {str: "text", bytes: "text", list: "a list", type(None): "nothing"}
    return kinds.get(type(value)) or _shown(value)
