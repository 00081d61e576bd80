"""What a header says, once it is read."""

from dataclasses import dataclass
from enum import StrEnum

from lumaflow.formats import PixelFormat
from lumaflow.geometry import MAX_SIDE_PX, Geometry
from lumaflow_service.errors import BadFrameError, TooLargeError, UnsupportedMediaError


class ImageKind(StrEnum):
    """The two kinds of image that are taken, by media type."""

    JPEG = "image/jpeg"
    PNG = "image/png"


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """What the decoder will make of an image.

    width, height : pixels as stored, before any turn
    channels : 1 (gray), 3 (colour) or 4 (colour and alpha) of the decoded picture
    bits : of a stored sample: up to 8, or 16
    orientation : EXIF's 1..8; 5..8 exchange width and height
    inks : stored as cyan, magenta, yellow and black
    animated : the first of several pictures
    """

    kind: ImageKind
    width: int
    height: int
    channels: int
    bits: int
    orientation: int = 1
    inks: bool = False
    animated: bool = False

    @property
    def upright_size(self) -> tuple[int, int]:
        """(width, height) after the turn that the orientation asks for."""
        return (self.height, self.width) if self.orientation >= 5 else (self.width, self.height)

    @property
    def geometry(self) -> Geometry:
        """That of the decoded frame, upright. Raises UnsupportedMediaError where no frame holds it."""
        if self.animated:
            raise UnsupportedMediaError(
                "an animated PNG came; one picture is taken: send its frames one by one"
            )
        depth = 8 if self.bits <= 8 else 16
        pixel_format = _FORMATS.get((self.channels, depth))
        if pixel_format is None:
            raise UnsupportedMediaError(
                "a colour image of 16 bits a sample came; a frame has 8 in colour, 16 in gray: convert it"
            )
        return Geometry(*self.upright_size, pixel_format)


_FORMATS = {
    (1, 8): PixelFormat.GRAY8,
    (1, 16): PixelFormat.GRAY16,
    (3, 8): PixelFormat.BGR24,
    (4, 8): PixelFormat.BGRA32,
}


def check_size(width: int, height: int, max_pixels: int) -> None:
    """Refuse an image without pixels or with too many. Raises BadFrameError, TooLargeError."""
    came = f"an image of {width}x{height} pixels came"
    if not width or not height:
        raise BadFrameError(f"{came}; both sides must be at least 1")
    if width * height > max_pixels:
        raise TooLargeError(f"{came}, {width * height} in all; at most {max_pixels} are taken: scale it down")
    if max(width, height) > MAX_SIDE_PX:
        raise TooLargeError(f"{came}; a side may have at most {MAX_SIDE_PX}: scale it down or cut it")
