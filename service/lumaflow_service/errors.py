"""The errors of the service; `lumaflow_service.api.app` maps each to the HTTP status in its docstring."""

from lumaflow.errors import LumaflowError


class BadFrameError(LumaflowError, ValueError):
    """A body that is not a valid frame: unreadable, truncated, or of the wrong length (400)."""


class TooLargeError(LumaflowError, ValueError):
    """A frame over the limit in bytes or pixels; its header is checked before decoding (413)."""


class UnsupportedMediaError(LumaflowError, ValueError):
    """A media type or image variant that is not supported (415)."""


class UnauthorizedError(LumaflowError, PermissionError):
    """A request without a valid token (401)."""


class ForbiddenError(LumaflowError, PermissionError):
    """A request whose token lacks the required scope (403)."""


class OtherSiteError(LumaflowError, PermissionError):
    """A cross-site request, or one for another host name (403)."""


class UnknownSourceError(LumaflowError, LookupError):
    """A source that does not exist, or has no recent frame (404)."""


class UnknownImageError(LumaflowError, LookupError):
    """A one-shot image that never existed or has expired (404)."""


class UnknownPeerError(LumaflowError, LookupError):
    """A WebRTC viewer that never existed or has disconnected (404)."""


class BadOfferError(LumaflowError, ValueError):
    """A WebRTC offer that is not valid (400)."""


class MissingExtraError(LumaflowError, ImportError):
    """A feature whose optional dependencies are not installed (501)."""


class FeatureOffError(LumaflowError, LookupError):
    """A result that is not among the features of its source (404)."""


class GeometryConflictError(LumaflowError, ValueError):
    """A frame of another geometry than the one its source is fixed to (409)."""


class BusyError(LumaflowError, RuntimeError):
    """The queue of the source is full, or no slot is free; retry later (429)."""


class SlowBodyError(LumaflowError, TimeoutError):
    """A request body that was not received in time (408)."""


class NotAcceptableError(LumaflowError, ValueError):
    """The Accept header matches no media type that the service can send (406)."""


class WorkerUnavailableError(LumaflowError, RuntimeError):
    """The worker is starting or restarting, or died with this frame (503)."""


class WorkerStuckError(LumaflowError, RuntimeError):
    """The worker did not answer in time and was killed (504)."""


class AddressError(LumaflowError, OSError):
    """A network address that the server cannot listen on."""


def no_recent_frame(source: str, idle_seconds: float) -> UnknownSourceError:
    """The error for a source that exists, but whose last frame is too old."""
    return UnknownSourceError(
        f"the source {source!r} has no recent frame: a frame is kept for {idle_seconds:g} s"
        " (LUMAFLOW_LANE_IDLE_SECONDS); send one first"
    )
