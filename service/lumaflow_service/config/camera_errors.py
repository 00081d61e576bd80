"""What can go wrong with cameras and their configuration."""

from enum import StrEnum

from lumaflow.errors import LumaflowError, OptionError


class CameraErrorCode(StrEnum):
    """Why a camera gives no good picture: a closed set, in its state, the log and a metric's label."""

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
    """A URL that must not be opened: its scheme, its address or its spelling."""


class ConfigError(OptionError):
    """A configuration that cannot be used; the text has a line for each mistake."""


class NoConfigError(ConfigError):
    """A service that was started without a configuration has none to read again (409)."""


class CameraError(LumaflowError, OSError):
    """A camera that cannot be opened or read, with its cause; the text never holds a URL."""

    def __init__(self, cause: CameraErrorCode, text: str) -> None:
        super().__init__(text)
        self.cause = cause


class OutputError(LumaflowError, OSError):
    """An output that cannot be written."""
