"""Reading a configuration file: every mistake with its line, all of them at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lumaflow.errors import OptionError
from lumaflow_service.config import yaml_lines
from lumaflow_service.config.camera_errors import ConfigError, UrlError
from lumaflow_service.config.model import Config, known_at
from lumaflow_service.config.url_policy import UrlPolicy, check_url, expand, has_variable
from lumaflow_service.config.validation import dotted, format_validation_error, path_of
from lumaflow_service.config.yaml_lines import YamlDocument
from lumaflow_service.redact import redact_urls

URL_KEYS = ("url", "publish")
"""Keys whose values may hold ${NAME}."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A configuration that can be used, the folder it is in, and what it lets be opened."""

    config: Config
    folder: Path
    policy: UrlPolicy


def load(path: Path, environment: Mapping[str, str], complete: bool = False) -> LoadedConfig:
    """The configuration in a file. Raises ConfigError with a line of text for each mistake.

    complete : whether files that it names must be there already; a service waits for them.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{path} cannot be read: {why}") from None
    try:
        return parse(text, path.resolve().parent, environment, complete)
    except ConfigError as error:
        lines = "\n".join(f"{path}: {line}" for line in str(error).splitlines())
        raise ConfigError(lines) from None


def parse(text: str, folder: Path, environment: Mapping[str, str], complete: bool = False) -> LoadedConfig:
    """The configuration in `text`, whose relative paths begin at `folder`. Raises ConfigError."""
    source = yaml_lines.read(text)
    mistakes = source.mistakes
    data = _expanded(source.data, (), source, environment, mistakes)
    if data is None:
        data = {}
    mistakes += [(source.line(place), text) for place, text in _check_urls(data, folder, complete)]
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        mistakes += [
            (source.line(path_of(one)), format_validation_error(one, "the file", known_at))
            for one in error.errors()
        ]
    else:
        mistakes += [(source.line(place), text) for place, text in _check_options(config)]
        if not mistakes:
            return LoadedConfig(config, folder, config.policy(folder))
    raise ConfigError("\n".join(f"line {line}: {redact_urls(text)}" for line, text in sorted(set(mistakes))))


def _expanded(
    value: Any,
    path: yaml_lines.Path,
    source: YamlDocument,
    environment: Mapping[str, str],
    mistakes: list[tuple[int, str]],
) -> Any:
    """`value` with variables replaced where they may stand; elsewhere they are a mistake."""
    if isinstance(value, dict):
        return {k: _expanded(v, (*path, k), source, environment, mistakes) for k, v in value.items()}
    if isinstance(value, list):
        return [_expanded(v, (*path, i), source, environment, mistakes) for i, v in enumerate(value)]
    if isinstance(value, str) and has_variable(value):
        try:
            if path[-1] not in URL_KEYS:
                raise UrlError(f"{dotted(path)}: ${{...}} stands in URLs only; write the value")
            return expand(value, environment)
        except UrlError as error:
            mistakes.append((source.line(path), str(error)))
    return value


def _check_urls(data: Any, folder: Path, complete: bool) -> Iterator[tuple[yaml_lines.Path, str]]:
    """URLs that may not be opened, told also when the rest is full of mistakes."""
    try:
        given = {key: data[key] for key in ("networks", "files") if key in data}
        policy = Config.model_validate(given).policy(folder)
        urls = {name: camera["url"] for name, camera in data["sources"].items() if "url" in camera}
    except (AttributeError, KeyError, TypeError, ValidationError):
        return
    for name, url in urls.items():
        try:
            if isinstance(url, str) and not has_variable(url):
                path = check_url(url, policy).path
                if complete and path is not None and not path.exists():
                    raise UrlError(f"there is nothing at {path}; see its spelling, or plug it in")
        except UrlError as error:
            yield ("sources", name, "url"), f"sources.{name}.url: {error}"


def _check_options(config: Config) -> Iterator[tuple[yaml_lines.Path, str]]:
    """Options that do not go together, though each is right."""
    for name, camera in config.sources.items():
        try:
            camera.options(config.defaults).to_pipeline()
        except (OptionError, ValidationError) as error:
            yield ("sources", name), f"sources.{name}: {error}"
