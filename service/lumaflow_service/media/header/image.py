"""The properties of an image that its header tells."""

from dataclasses import dataclass
from enum import StrEnum

from lumaflow.formats import PixelFormat
from lumaflow.geometry import MAX_SIDE_PX, Geometry
from lumaflow_service.errors import BadFrameError, TooLargeError, UnsupportedMediaError


class ImageFormat(StrEnum):
    """The image formats of the service, by media type."""

    JPEG = "image/jpeg"
    PNG = "image/png"


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """The properties of an image before it is decoded.

    width, height : pixels as stored, before the orientation is applied
    channels : of the decoded image: 1 (gray), 3 (colour) or 4 (colour and alpha)
    bits : of a stored sample: up to 8, or 16
    orientation : EXIF orientation 1..8; 5..8 exchange width and height
    cmyk : stored as cyan, magenta, yellow and black
    animated : the first of several images
    """

    format: ImageFormat
    width: int
    height: int
    channels: int
    bits: int
    orientation: int = 1
    cmyk: bool = False
    animated: bool = False

    @property
    def upright_size(self) -> tuple[int, int]:
        """(width, height) after the orientation is applied."""
        return (self.height, self.width) if self.orientation >= 5 else (self.width, self.height)

    @property
    def geometry(self) -> Geometry:
        """The geometry of the decoded frame. Raises UnsupportedMediaError when no pixel format fits."""
        if self.animated:
            raise UnsupportedMediaError("expected a single image, got an animated PNG; send its frames")
        depth = 8 if self.bits <= 8 else 16
        pixel_format = _PIXEL_FORMATS.get((self.channels, depth))
        if pixel_format is None:
            raise UnsupportedMediaError(
                "expected a colour image of 8 bits a sample, got 16 bits; convert it to 8 bits or to gray"
            )
        return Geometry(*self.upright_size, pixel_format)


_PIXEL_FORMATS = {
    (1, 8): PixelFormat.GRAY8,
    (1, 16): PixelFormat.GRAY16,
    (3, 8): PixelFormat.BGR24,
    (4, 8): PixelFormat.BGRA32,
}


def check_size(width: int, height: int, max_pixels: int) -> None:
    """Check the size of an image. Raises BadFrameError (no pixels) and TooLargeError."""
    size, pixels = f"{width}x{height}", width * height
    if not pixels:
        raise BadFrameError(f"expected an image of at least 1x1 pixels, got {size}; send another image")
    if pixels > max_pixels:
        raise TooLargeError(f"expected at most {max_pixels} pixels, got {size} = {pixels}; scale the image")
    if max(width, height) > MAX_SIDE_PX:
        raise TooLargeError(
            f"expected sides of at most {MAX_SIDE_PX} pixels, got {size}; scale or crop the image"
        )
