"""Media types (RFC 6838) of frames and responses, which the API negotiates and the worker encodes."""

from enum import StrEnum


class MediaType(StrEnum):
    """The media types that the service reads or writes."""

    JPEG = "image/jpeg"
    PNG = "image/png"
    RAW = "application/octet-stream"
    JSON = "application/json"
    NPZ = "application/x-npz"
