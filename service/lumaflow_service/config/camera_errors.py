"""Errors of cameras, their outputs and their configuration."""

from enum import StrEnum

from lumaflow.errors import LumaflowError, OptionError


class CameraErrorCode(StrEnum):
    """The cause of a camera's error, as in its JSON state, the log and the label of a metric."""

    REFUSED = "refused"
    TIMEOUT = "timeout"
    AUTH = "auth"
    NOT_FOUND = "not_found"
    TLS = "tls"
    CODEC = "codec"
    STALLED = "stalled"
    FROZEN = "frozen"
    EOF = "eof"
    CORRUPT = "corrupt"


class UrlError(OptionError):
    """A URL that is not valid or not allowed."""


class ConfigError(OptionError):
    """A configuration with errors; the text has one line per error."""


class NoConfigError(ConfigError):
    """A reload in a service that was started without a configuration (409)."""


class CameraError(LumaflowError, OSError):
    """A camera that cannot be opened or read, with its cause; the text contains no URL."""

    def __init__(self, cause: CameraErrorCode, text: str) -> None:
        super().__init__(text)
        self.cause = cause


class OutputError(LumaflowError, OSError):
    """An output that cannot be written or sent."""
