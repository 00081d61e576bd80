"""The geometry and colour matrix of a frame as plain JSON values, for messages between processes."""

from typing import NamedTuple

from lumaflow.formats import Alignment, Color, Matrix, PixelFormat, Range
from lumaflow.geometry import Geometry


class GeometryJson(NamedTuple):
    """A JSON array: width and height in pixels, then the names of format, range, alignment and matrix.

    The values are checked only when `geometry` is read, so a process can report a wrong one as an error.
    """

    width: int
    height: int
    format: str
    range: str = Range.UNSPECIFIED
    alignment: str = Alignment.LSB
    matrix: str = Matrix.UNSPECIFIED

    @classmethod
    def of(cls, geometry: Geometry, matrix: Matrix) -> "GeometryJson":
        """The JSON values of a geometry and a matrix."""
        width, height, pixel_format = geometry.width, geometry.height, geometry.pixel_format
        return cls(width, height, pixel_format, geometry.range, geometry.alignment, matrix)

    @property
    def geometry(self) -> Geometry:
        """The geometry. Raises FrameError for impossible sizes, ValueError for unknown names."""
        pixel_format, range_ = PixelFormat(self.format), Range(self.range)
        return Geometry(self.width, self.height, pixel_format, range_, Alignment(self.alignment))

    @property
    def color(self) -> Color:
        """Range and matrix of the samples. Raises FrameError, and ValueError for unknown names."""
        return Color(self.geometry.range, Matrix(self.matrix))
