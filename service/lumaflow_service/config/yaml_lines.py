"""A YAML document as plain data, and the line of every key in it."""

from dataclasses import dataclass, field
from typing import Any

import yaml

from lumaflow_service.config.camera_errors import ConfigError

Path = tuple[str | int, ...]
MOST_BYTES = 1 << 20
MOST_NODES = 50_000
"""An alias used over and over counts each time: a small file must not become a huge document."""


@dataclass(slots=True)
class YamlDocument:
    """`data`, for each path of keys and indices into it the line it begins on, and what it leaves out."""

    data: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    mistakes: list[tuple[int, str]] = field(default_factory=list)

    def line(self, path: Path) -> int:
        """Line of the longest part of `path` that is in the document; 1 when nothing is."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read(text: str) -> YamlDocument:
    """The document in `text`. Raises ConfigError for what is not YAML, with its line."""
    if len(text) > MOST_BYTES:
        raise ConfigError(f"line 1: {len(text)} characters came; a configuration has at most {MOST_BYTES}")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigError(
            f"line {mark.line + 1 if mark else 1}: {error.problem} (this is not YAML)"
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"line 1: {error} (this is not YAML)") from None
    document = YamlDocument()
    if root is not None:
        document.data = _Builder(document).build(root, ())
    return document


class _Builder:
    """Turns nodes into data and notes their lines."""

    def __init__(self, document: YamlDocument) -> None:
        self._lines = document.lines
        self._mistakes = document.mistakes
        self._scalars = yaml.SafeLoader("")
        self._nodes = 0

    def build(self, node: yaml.Node, path: Path) -> Any:
        self._lines.setdefault(path, node.start_mark.line + 1)
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise ConfigError(f"line {self._lines[path]}: more than {MOST_NODES} values came; use fewer")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(one, (*path, index)) for index, one in enumerate(node.value)]
        try:
            return self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError):
            raise ConfigError(f"line {self._lines[path]}: {node.value!r} cannot be read; quote it") from None

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self._mistakes.append((line, "a key that is no plain word came; write NAME: VALUE"))
            elif key.value in data:
                other = self._lines[(*path, key.value)]
                self._mistakes.append((line, f"{key.value} is there twice; it is also on line {other}"))
            else:
                self._lines[(*path, key.value)] = line
                data[key.value] = self.build(value, (*path, key.value))
        return data
