"""A YAML document as plain data, with the line number of every key."""

from dataclasses import dataclass, field
from typing import Any

import yaml

from lumaflow_service.config.camera_errors import ConfigError
from lumaflow_service.config.validation import Location

MAX_CHARACTERS = 1 << 20
MAX_NODES = 50_000
"""Each use of an alias counts: a small file must not expand to a huge document."""


@dataclass(slots=True)
class YamlDocument:
    """A parsed document.

    data : dicts, lists and scalars
    lines : the line number of each location in `data`
    errors : line number and text of each key that `data` leaves out
    """

    data: Any = None
    lines: dict[Location, int] = field(default_factory=dict)
    errors: list[tuple[int, str]] = field(default_factory=list)

    def line(self, location: Location) -> int:
        """The line of `location`, or of its nearest parent in the document; 1 without a parent."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)


def read(text: str) -> YamlDocument:
    """Parse YAML. Raises ConfigError with the line number."""
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(
            f"line 1: expected at most {MAX_CHARACTERS} characters, got {len(text)}; split the configuration"
        )
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ConfigError(f"line {line}: expected YAML, got an error: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"line 1: expected YAML, got an error: {error}") from None
    document = YamlDocument()
    if root is not None:
        document.data = _Constructor(document).construct(root, ())
    return document


class _Constructor:
    """Converts nodes to data and records their lines."""

    def __init__(self, document: YamlDocument) -> None:
        self._lines = document.lines
        self._errors = document.errors
        self._scalars = yaml.SafeLoader("")
        self._nodes = 0

    def construct(self, node: yaml.Node, location: Location) -> Any:
        self._lines.setdefault(location, node.start_mark.line + 1)
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise ConfigError(
                f"line {self._lines[location]}: expected at most {MAX_NODES} values, got more; use fewer"
            )
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [self.construct(child, (*location, index)) for index, child in enumerate(node.value)]
        try:
            return self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError):
            raise ConfigError(
                f"line {self._lines[location]}: expected a plain value, got {node.value!r}; quote it"
            ) from None

    def _mapping(self, node: yaml.MappingNode, location: Location) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self._errors.append((line, "expected a plain key, got a list or mapping; write NAME: VALUE"))
            elif key.value in data:
                other = self._lines[(*location, key.value)]
                self._errors.append((line, f"duplicate key {key.value}; it is also on line {other}"))
            else:
                self._lines[(*location, key.value)] = line
                data[key.value] = self.construct(value, (*location, key.value))
        return data
