"""The query of a posted frame: what its bytes cannot say themselves."""

from pydantic import BaseModel, ConfigDict, Field

from lumaflow.errors import OptionError
from lumaflow.formats import Alignment, Matrix, PixelFormat, Range
from lumaflow.geometry import MAX_SIDE_PX
from lumaflow_service.api.frame_format import FrameFormat
from lumaflow_service.config.options import Feature
from lumaflow_service.errors import BadFrameError, TooLargeError

FORMATS = ", ".join(PixelFormat)


class FrameQuery(BaseModel):
    """What a client may say of its frame beside the media type."""

    model_config = ConfigDict(frozen=True)

    format: PixelFormat | None = Field(
        None, description=f"of a raw frame: {FORMATS}; deep ones in 16-bit words, little-endian"
    )
    width: int | None = Field(None, ge=1, le=MAX_SIDE_PX, description="of a raw frame, in pixels")
    height: int | None = Field(None, ge=1, le=MAX_SIDE_PX, description="of a raw frame, in pixels")
    range: Range = Field(Range.UNSPECIFIED, description="full or limited; if unsaid, limited for YUV alone")
    alignment: Alignment = Field(Alignment.LSB, description="lsb or msb: of gray10, gray12 and gray14")
    matrix: Matrix = Field(
        Matrix.UNSPECIFIED, description="bt601, bt709 or bt2020; if unsaid, bt601 below 720 lines, else bt709"
    )
    features: str | None = Field(None, description="hog,lbp,histogram,heatmap: what an npz holds")

    def shape(self, max_pixels: int) -> FrameFormat:
        """The shape of a raw frame.

        Raises BadFrameError (incomplete), FrameError (impossible), TooLargeError.
        """
        if self.format is None or self.width is None or self.height is None:
            raise BadFrameError(
                "a raw frame came without its geometry; add"
                f" ?format={'|'.join(PixelFormat)}&width=..&height=.."
            )
        if self.width * self.height > max_pixels:
            raise TooLargeError(
                f"{self.width}x{self.height} = {self.width * self.height} pixels came; at most {max_pixels}"
                " are taken"
            )
        shape = FrameFormat(
            width=self.width,
            height=self.height,
            format=self.format,
            range=self.range,
            alignment=self.alignment,
            matrix=self.matrix,
        )
        _ = shape.geometry  # raises FrameError
        return shape


def features_in(text: str | None) -> list[Feature] | None:
    """The features in a comma-separated query; None when it was not given. Raises OptionError."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in list(Feature)]
    if unknown:
        raise OptionError(f"features={text} came; give any of {','.join(Feature)}")
    return [Feature(name) for name in names]
