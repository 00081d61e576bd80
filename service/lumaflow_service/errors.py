"""What a client can do wrong and what can be wrong with us; `app` maps each to an HTTP status."""

from lumaflow.errors import LumaflowError


class BadFrameError(LumaflowError, ValueError):
    """Bytes that are not the frame they claim to be: garbage, truncated, of the wrong length (400)."""


class TooLargeError(LumaflowError, ValueError):
    """A frame over the limit in bytes or pixels; known from its header, before any decoding (413)."""


class UnsupportedMediaError(LumaflowError, ValueError):
    """A media type or image variant that is not taken (415)."""


class UnauthorizedError(LumaflowError, PermissionError):
    """A request without a token, or with one that is none (401)."""


class ForbiddenError(LumaflowError, PermissionError):
    """A request with a token of another scope than it needs (403)."""


class OtherSiteError(LumaflowError, PermissionError):
    """A request of a page that is not ours, or under a name that is not ours (403)."""


class UnknownSourceError(LumaflowError, LookupError):
    """A source that does not exist, or has no frame yet (404)."""


class UnknownImageError(LumaflowError, LookupError):
    """An image that was never tried, or whose result is no longer kept (404)."""


class UnknownPeerError(LumaflowError, LookupError):
    """A WebRTC viewer that is not there any more, or never was (404)."""


class BadOfferError(LumaflowError, ValueError):
    """A WebRTC offer that cannot be answered (400)."""


class MissingExtraError(LumaflowError, ImportError):
    """Something that needs an extra which is not installed (501)."""


class FeatureOffError(LumaflowError, LookupError):
    """A result that its source's options do not ask for (404)."""


class GeometryConflictError(LumaflowError, ValueError):
    """A frame of another geometry than the one its source was fixed to (409)."""


class BusyError(LumaflowError, RuntimeError):
    """The source's queue is full, or no slot is free; try again a little later (429)."""


class SlowBodyError(LumaflowError, TimeoutError):
    """A body that did not arrive in the time it may take (408)."""


class NotAcceptableError(LumaflowError, ValueError):
    """No media type that the client accepts can be given (406)."""


class WorkerUnavailableError(LumaflowError, RuntimeError):
    """The worker is starting, restarting, or died with this frame (503)."""


class WorkerStuckError(LumaflowError, RuntimeError):
    """The worker did not answer in time and was killed (504)."""


class AddressError(LumaflowError, OSError):
    """An address that cannot be listened on."""


def not_kept(source: str, idle_seconds: float) -> UnknownSourceError:
    """The error for a source that exists, and whose last frame is let go by now."""
    return UnknownSourceError(
        f"the source {source!r} has no recent frame: without a new one a frame is kept for {idle_seconds:g} s"
        " (LUMAFLOW_LANE_IDLE_SECONDS); send one first"
    )
