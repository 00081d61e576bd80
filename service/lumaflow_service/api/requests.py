"""Parsing of requests: Accept header, query of a frame, frame format, JSON bodies of sources."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lumaflow.errors import OptionError
from lumaflow.formats import Alignment, Matrix, PixelFormat, Range
from lumaflow.geometry import MAX_SIDE_PX, Geometry
from lumaflow_service.config.model import CameraConfig, Delivery, Transport
from lumaflow_service.config.options import Feature, OptionsPatch, SourceOptions
from lumaflow_service.errors import BadFrameError, NotAcceptableError, TooLargeError
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.media_type import MediaType

# Accept header ------------------------------------------------------------------------------------


def choose_media_type(accept: str, default: MediaType) -> MediaType:
    """The response media type that an Accept header prefers (RFC 9110, 12.5.1).

    Among types of equal weight `default` wins, then the order of `MediaType`. Raises NotAcceptableError if
    the header accepts none of them.
    """
    ranges = [parse_media_range(part) for part in accept.split(",") if part.strip()] or [("*/*", 1.0)]
    offers = [default, *(media for media in MediaType if media is not default)]
    best = max(offers, key=lambda media: weight_of(media, ranges))
    if weight_of(best, ranges) <= 0:
        raise NotAcceptableError(
            f"expected an Accept header that allows {', '.join(MediaType)}, got {accept}; add one of them"
        )
    return best


def parse_media_range(text: str) -> tuple[str, float]:
    """A media range and its weight; a malformed weight counts as 0."""
    media, *parameters = (part.strip().lower() for part in text.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return media, float(parameter[2:])
            except ValueError:
                return media, 0.0
    return media, 1.0


def weight_of(media: MediaType, ranges: list[tuple[str, float]]) -> float:
    """The weight of the most specific range that matches `media`; 0 if none matches."""
    main_type = media.split("/")[0]
    for pattern in (media, f"{main_type}/*", "*/*"):
        weights = [weight for media_range, weight in ranges if media_range == pattern]
        if weights:
            return max(weights)
    return 0.0


# frames -------------------------------------------------------------------------------------------


class FrameFormat(BaseModel):
    """Width and height in pixels, the pixel format, and how its samples are to be read."""

    model_config = ConfigDict(extra="forbid")

    width: int = Field(ge=1, le=MAX_SIDE_PX)
    height: int = Field(ge=1, le=MAX_SIDE_PX)
    format: PixelFormat
    range: Range = Field(Range.UNSPECIFIED, description="unspecified: limited for YUV, full for all others")
    alignment: Alignment = Field(Alignment.LSB, description="of gray10, gray12 and gray14 in their 16 bits")
    matrix: Matrix = Field(Matrix.UNSPECIFIED, description="unspecified: bt601 below 720 lines, else bt709")

    @classmethod
    def from_json(cls, geometry: GeometryJson | None) -> Self | None:
        """The format of a geometry in an IPC message."""
        return cls.model_validate(geometry._asdict()) if geometry else None

    def to_json(self) -> GeometryJson:
        """The geometry for an IPC message; an unspecified range gets the default of the pixel format."""
        return GeometryJson.of(self.geometry, self.matrix)

    @property
    def geometry(self) -> Geometry:
        """The pipeline's Geometry. Raises FrameError for a combination that does not exist."""
        return Geometry(self.width, self.height, self.format, self.range, self.alignment)

    @property
    def frame_bytes(self) -> int:
        """Length of one raw frame in bytes."""
        return self.geometry.frame_bytes


class FixedFormat(FrameFormat):
    """The format of all frames of a source."""

    @model_validator(mode="after")
    def _validate_geometry(self) -> Self:
        _ = self.geometry  # raises FrameError, a ValueError
        return self


class FrameQuery(BaseModel):
    """Query parameters of a frame: the format of a raw one, and the requested features."""

    model_config = ConfigDict(frozen=True)

    format: PixelFormat | None = Field(
        None,
        description=f"of a raw frame: {', '.join(PixelFormat)}; deep ones in 16-bit words, little-endian",
    )
    width: int | None = Field(None, ge=1, le=MAX_SIDE_PX, description="of a raw frame, in pixels")
    height: int | None = Field(None, ge=1, le=MAX_SIDE_PX, description="of a raw frame, in pixels")
    range: Range = Field(Range.UNSPECIFIED, description="full or limited; default: limited for YUV only")
    alignment: Alignment = Field(Alignment.LSB, description="lsb or msb: of gray10, gray12 and gray14")
    matrix: Matrix = Field(
        Matrix.UNSPECIFIED,
        description="bt601, bt709 or bt2020; default: bt601 below 720 lines, else bt709",
    )
    features: str | None = Field(None, description="hog,lbp,histogram,heatmap: the arrays of an npz")

    def frame_format(self, max_pixels: int) -> FrameFormat:
        """The format of a raw frame.

        Raises BadFrameError (incomplete), FrameError (combination does not exist), TooLargeError.
        """
        if self.format is None or self.width is None or self.height is None:
            raise BadFrameError(
                "expected the format, width and height of a raw frame, got a query without them; add"
                f" ?format={'|'.join(PixelFormat)}&width=..&height=.."
            )
        if self.width * self.height > max_pixels:
            raise TooLargeError(
                f"expected at most {max_pixels} pixels, got {self.width}x{self.height} ="
                f" {self.width * self.height}; send a smaller frame"
            )
        frame_format = FrameFormat(
            width=self.width,
            height=self.height,
            format=self.format,
            range=self.range,
            alignment=self.alignment,
            matrix=self.matrix,
        )
        _ = frame_format.geometry  # raises FrameError
        return frame_format


def parse_features(text: str | None) -> list[Feature] | None:
    """Features from a comma-separated list; None stays None. Raises OptionError."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if any(name not in list(Feature) for name in names):
        raise OptionError(f"expected features of {','.join(Feature)}, got features={text}; correct the list")
    return [Feature(name) for name in names]


def content_type_of(header: str | None) -> str:
    """The media type in a Content-Type header, in lower case and without parameters."""
    return (header or "").partition(";")[0].strip().lower()


# JSON bodies --------------------------------------------------------------------------------------


class SourceBody(BaseModel):
    """The fields that PUT and PATCH of a source share."""

    model_config = ConfigDict(extra="forbid")

    geometry: FixedFormat | None = None
    url: str | None = Field(None, min_length=1, max_length=2048, description="of a camera to be read")
    transport: Transport | None = None
    delivery: Delivery | None = None
    deinterlace: bool | None = None
    verify_tls: bool | None = None

    def camera_fields(self) -> dict[str, Any]:
        """The given fields of a camera."""
        return self.model_dump(exclude={"options", "geometry"}, exclude_none=True)


class SourcePut(SourceBody):
    """A source to create or replace; with a geometry it accepts frames of that geometry only."""

    options: SourceOptions = SourceOptions()

    def camera(self) -> CameraConfig | None:
        """The camera of the source; None without a url. Raises OptionError."""
        fields = self.camera_fields()
        if self.url is None:
            if fields:
                raise OptionError(f"expected a url with {', '.join(fields)}, got none; add the camera's url")
            return None
        return CameraConfig(**fields)


class SourcePatch(SourceBody):
    """Fields of a source to change; a geometry of null accepts frames of every geometry again."""

    options: OptionsPatch = OptionsPatch()
