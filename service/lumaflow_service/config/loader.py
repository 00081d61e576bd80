"""Reading a configuration file. All errors are reported at once, each with its line number."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lumaflow.errors import OptionError
from lumaflow_service.config import yaml_lines
from lumaflow_service.config.camera_errors import ConfigError, UrlError
from lumaflow_service.config.model import Config, known_keys
from lumaflow_service.config.url_policy import UrlPolicy, check_url, expand, has_variable
from lumaflow_service.config.validation import Location, dotted, format_validation_error, location_of
from lumaflow_service.config.yaml_lines import YamlDocument
from lumaflow_service.redact import redact_urls

URL_KEYS = ("url", "publish")
"""Keys whose values may contain ${NAME}."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A valid configuration, the folder of its file, and the URLs it allows."""

    config: Config
    folder: Path
    policy: UrlPolicy


def load(path: Path, environment: Mapping[str, str], complete: bool = False) -> LoadedConfig:
    """Read and validate a configuration file. Raises ConfigError with one line of text for each error.

    complete : files and devices that it names must exist; the service waits for them instead
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{path} cannot be read: {reason}") from None
    try:
        return parse(text, path.resolve().parent, environment, complete)
    except ConfigError as error:
        lines = "\n".join(f"{path}: {line}" for line in str(error).splitlines())
        raise ConfigError(lines) from None


def parse(text: str, folder: Path, environment: Mapping[str, str], complete: bool = False) -> LoadedConfig:
    """Validate the text of a configuration; its relative paths start at `folder`. Raises ConfigError."""
    document = yaml_lines.read(text)
    errors = document.errors
    data = _expand_variables(document.data, (), document, environment)
    if data is None:
        data = {}
    errors += [(document.line(location), text) for location, text in _url_errors(data, folder, complete)]
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        errors += [
            (document.line(location_of(one)), format_validation_error(one, "file", known_keys))
            for one in error.errors()
        ]
    else:
        errors += [(document.line(location), text) for location, text in _option_errors(config)]
        if not errors:
            return LoadedConfig(config, folder, config.policy(folder))
    raise ConfigError("\n".join(f"line {line}: {redact_urls(text)}" for line, text in sorted(set(errors))))


def _expand_variables(
    value: Any, location: Location, document: YamlDocument, environment: Mapping[str, str]
) -> Any:
    """`value` with ${NAME} replaced in URLs; errors are added to `document.errors`."""
    if isinstance(value, dict):
        return {k: _expand_variables(v, (*location, k), document, environment) for k, v in value.items()}
    if isinstance(value, list):
        return [_expand_variables(v, (*location, i), document, environment) for i, v in enumerate(value)]
    if isinstance(value, str) and has_variable(value):
        try:
            if location[-1] not in URL_KEYS:
                raise UrlError(
                    f"{dotted(location)}: expected a value, got ${{...}}; only URLs allow variables"
                )
            return expand(value, environment)
        except UrlError as error:
            document.errors.append((document.line(location), str(error)))
    return value


def _url_errors(data: Any, folder: Path, complete: bool) -> Iterator[tuple[Location, str]]:
    """Errors of camera URLs; found even if other parts of the configuration are invalid."""
    try:
        limits = {key: data[key] for key in ("networks", "files") if key in data}
        policy = Config.model_validate(limits).policy(folder)
        urls = {name: camera["url"] for name, camera in data["sources"].items() if "url" in camera}
    except (AttributeError, KeyError, TypeError, ValidationError):
        return
    for name, url in urls.items():
        try:
            if isinstance(url, str) and not has_variable(url):
                path = check_url(url, policy).path
                if complete and path is not None and not path.exists():
                    raise UrlError(f"{path} does not exist; correct the path, or connect the device")
        except UrlError as error:
            yield ("sources", name, "url"), f"sources.{name}.url: {error}"


def _option_errors(config: Config) -> Iterator[tuple[Location, str]]:
    """Options that are valid alone but not together."""
    for name, camera in config.sources.items():
        try:
            camera.options(config.defaults).to_pipeline()
        except (OptionError, ValidationError) as error:
            yield ("sources", name), f"sources.{name}: {error}"
