"""The one Protocol that every device meets, and what every lane checks."""

from dataclasses import replace
from types import TracebackType
from typing import Any, Protocol, Self

from lumaflow.errors import FrameError, OptionError
from lumaflow.formats import Chroma, Family, PixelFormat
from lumaflow.frame import Enhanced, Frame
from lumaflow.geometry import Geometry
from lumaflow.options import Options, Orientation, Output, Region


class Lane(Protocol):
    """One source on one device, its mapping included: frames in by `submit`, results out by `collect`.

    `out[N] = M[N-1](frame[N])`: a frame is shown through the mapping of the last good frame before it;
    the first one through its own (spec 5). All memory is taken when the lane is opened.
    A lane is not thread-safe; different lanes are independent.

    geometry : of the frames that come
    output : of the enhanced frames: turned by `Options.orientation`, gray8 with `Output.DISPLAY`
    """

    device: str
    geometry: Geometry
    output: Geometry
    options: Options

    @property
    def in_flight(self) -> int:
        """Frames submitted and not yet collected, at most `options.slots`."""

    def next_input(self) -> Frame:
        """A frame in the input buffers of the slot that the next `submit` takes.

        A frame born there (fill its planes, then submit it or a `replace` of it) is not copied on the host.
        """

    def submit(self, frame: Frame, out: Frame | None = None) -> None:
        """Start one frame; the planes of `out`, of the `output` geometry, receive the enhanced picture.

        The planes of both must stay untouched until the frame is collected; `out` may be `frame`. Without
        `out` the picture lies in the slot. Raises FrameError (another geometry, a bad `out`; a value beyond
        the depth, by the time the frame is collected), StateError (closed, ring full).
        """

    def collect(self) -> Enhanced:
        """Wait for the oldest frame in flight; its arrays are valid until the next `submit`.

        Raises StateError when nothing is in flight or the lane is closed.
        """

    def close(self) -> None:
        """Give all memory back; frames in flight are lost. Closing twice is harmless."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any: ...


def output_geometry(geometry: Geometry, options: Options) -> Geometry:
    """The geometry of enhanced frames. Raises OptionError when the options do not fit the frames."""
    _check_output(geometry, options.output)
    _check_orientation(geometry, options.orientation)
    turned = geometry.turned(options.orientation)
    if options.region is not None:
        _check_region(turned, options.region, options)
    if options.output is Output.SAME:
        return turned
    return replace(turned, pixel_format=PixelFormat.GRAY8)


def check_frame(geometry: Geometry, frame: Frame, output: Geometry, out: Frame | None) -> None:
    """Raise FrameError unless a lane of `geometry` can take `frame` and write to `out`."""
    came = _geometry_of(frame)
    if came != geometry:
        raise FrameError(
            f"a frame of {came} came; this lane was opened for {geometry}, "
            "open another one for the new geometry"
        )
    if out is None:
        return
    came = _geometry_of(out)
    if (came.pixel_format, came.width, came.height) != (output.pixel_format, output.width, output.height):
        raise FrameError(f"an out of {came} came; this lane writes {output}")
    if not all(getattr(plane.flags, "writeable", True) for plane in out.planes):
        raise FrameError("a read-only out came; pass arrays that can be written")


def _geometry_of(frame: Frame) -> Geometry:
    try:
        return frame.geometry
    except AttributeError:
        raise FrameError(
            f"a {type(frame).__name__} came; a lane takes frames: Frame.from_numpy(array), or from_cupy, or"
            " from_dlpack"
        ) from None


def beyond_depth(geometry: Geometry, value: int) -> FrameError:
    """The error for a frame whose highest value is `value`, more than its depth allows."""
    top = (1 << geometry.layout.bits) - 1
    return FrameError(
        f"a value of {value} came in a frame of {geometry}; its levels end at {top}:"
        " name the right format or alignment, or set Options(clamp=True)"
    )


def _check_output(geometry: Geometry, output: Output) -> None:
    if output is Output.DISPLAY and geometry.layout.family is not Family.GRAY:
        raise OptionError(f"a display output of {geometry} was asked for; only gray frames have one")


def _check_orientation(geometry: Geometry, orientation: Orientation) -> None:
    if geometry.layout.chroma is not Chroma.PACKED or orientation in (Orientation.NONE, Orientation.FLIP_Y):
        return
    if orientation.swaps_sides or geometry.width % 2:
        raise OptionError(
            f"{orientation} of {geometry} was asked for; its pixels share their chroma in pairs along a row:"
            " convert the frames to nv12 or i420 first"
        )


def _check_region(turned: Geometry, region: Region, options: Options) -> None:
    if region.x + region.width > turned.width or region.y + region.height > turned.height:
        raise OptionError(f"{region} came; the frame has {turned.width}x{turned.height}")
    if region.everywhere:
        return
    if turned.layout.family is Family.YUV and options.equalization.chroma_gain != 1.0:
        raise OptionError("chroma_gain came with a region that is mapped alone; map everywhere, or leave it")
