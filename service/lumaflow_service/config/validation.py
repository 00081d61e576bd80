"""Pydantic errors as sentences: where the error is, what was expected, what was given."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from lumaflow_service.redact import redact_urls

Location = tuple[str | int, ...]
KnownKeys = Callable[[Location], list[str]]
"""Returns the keys that the schema defines at a location."""

REQUEST_PARTS = ("body", "query", "path")
MAX_VALUE_LENGTH = 60
KEY_SIMILARITY, NESTED_KEY_SIMILARITY = 0.5, 0.7
"""Minimum similarity (difflib) of an unknown key to a suggestion at its level, and one level deeper."""


def format_validation_errors(error: ValidationError, root: str, known_keys: KnownKeys = lambda _: []) -> str:
    """All errors of a ValidationError in one line."""
    return "; ".join(format_validation_error(one, root, known_keys) for one in error.errors())


def format_validation_error(error: Mapping[str, Any], root: str, known_keys: KnownKeys = lambda _: []) -> str:
    """One entry of `ValidationError.errors()`; `root` names the document if the error is not in a key."""
    location = location_of(error)
    return f"{dotted(location) or root}: {_message(error, location, known_keys)}"


def location_of(error: Mapping[str, Any]) -> Location:
    """The keys and indices that lead to an error."""
    steps = error["loc"]
    if steps and steps[0] in REQUEST_PARTS:
        steps = steps[1:]
    return tuple(step for step in steps if step != "[key]")


def dotted(location: Location) -> str:
    """A location as text, for example `sources.gate.url`."""
    return ".".join(map(str, location))


def suggest_key(location: Location, known_keys: KnownKeys) -> str:
    """A suggestion for the unknown key at the end of `location`."""
    parent, key = location[:-1], str(location[-1])
    known = known_keys(parent)
    nested = {name: f"{outer}.{name}" for outer in known for name in known_keys((*parent, outer))}
    if key in nested:
        return f"did you mean {nested[key]}?"
    similar = get_close_matches(key, known, n=1, cutoff=KEY_SIMILARITY)
    similar += [nested[name] for name in get_close_matches(key, nested, n=1, cutoff=NESTED_KEY_SIMILARITY)]
    return f"did you mean {similar[0]}?" if similar else f"known keys: {', '.join(known)}"


def _message(error: Mapping[str, Any], location: Location, known_keys: KnownKeys) -> str:
    match error["type"]:
        case "extra_forbidden":
            return f"unknown key; {suggest_key(location, known_keys)}"
        case "missing":
            return "field required"
        case "value_error":
            return str(error["msg"]).removeprefix("Value error, ")
        case "dict_type" | "model_type" | "model_attributes_type":
            keys = known_keys(location)
            hint = f"; known keys: {', '.join(keys)}" if keys else ""
            return f"expected keys with values, got {_type_name(error['input'])}{hint}"
    return f"expected {_expected(error)}, got {_short_repr(error['input'])}"


def _expected(error: Mapping[str, Any]) -> str:
    """The valid values of a field."""
    limits = error.get("ctx", {})
    match error["type"]:
        case "enum" | "literal_error":
            return str(limits["expected"])
        case "greater_than":
            return f"more than {limits['gt']:g}"
        case "greater_than_equal":
            return f"at least {limits['ge']:g}"
        case "less_than_equal":
            return f"at most {limits['le']:g}"
        case "int_type" | "int_parsing" | "int_from_float":
            return "an integer"
        case "float_type" | "float_parsing":
            return "a number"
        case "bool_type" | "bool_parsing":
            return "true or false"
        case "string_type":
            return "text"
        case "list_type":
            return "a list"
    return f"a valid value ({error['msg']})"


def _short_repr(value: object) -> str:
    """A value without the credentials of its URLs, cut to MAX_VALUE_LENGTH."""
    text = redact_urls(repr(value))
    return f"{text[:MAX_VALUE_LENGTH]}..." if len(text) > MAX_VALUE_LENGTH else text


def _type_name(value: object) -> str:
    names = {str: "text", bytes: "text", list: "a list", type(None): "nothing"}
    return names.get(type(value)) or _short_repr(value)
