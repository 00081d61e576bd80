"""Choosing the media type of an answer by the client's Accept header (RFC 9110, 12.5.1)."""

from lumaflow_service.errors import NotAcceptableError
from lumaflow_service.ipc.media_type import MediaType


def choose(accept: str, default: MediaType) -> MediaType:
    """The offered type the client likes best; among equals `default`, then the order of `MediaType`.

    Raises NotAcceptableError when the client takes none of them.
    """
    ranges = [quality_of(part) for part in accept.split(",") if part.strip()] or [("*/*", 1.0)]
    offers = [default, *(media for media in MediaType if media is not default)]
    best = max(offers, key=lambda media: liking(media, ranges))
    if liking(best, ranges) <= 0:
        raise NotAcceptableError(f"Accept: {accept} came; a frame can be answered as {', '.join(MediaType)}")
    return best


def quality_of(part: str) -> tuple[str, float]:
    """One media range and its weight; a weight that is no number counts as 0."""
    media, *parameters = (piece.strip().lower() for piece in part.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return media, float(parameter[2:])
            except ValueError:
                return media, 0.0
    return media, 1.0


def liking(media: MediaType, ranges: list[tuple[str, float]]) -> float:
    """The weight of the most specific range that covers this type; 0 when none does."""
    kind = media.split("/")[0]
    for pattern in (media, f"{kind}/*", "*/*"):
        weights = [weight for given, weight in ranges if given == pattern]
        if weights:
            return max(weights)
    return 0.0
