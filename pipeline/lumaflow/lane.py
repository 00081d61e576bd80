"""The `Lane` protocol, and what the lanes of every device share: the ring of slots and the checks."""

from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from lumaflow.errors import FrameError, OptionError, StateError
from lumaflow.formats import Chroma, Family, PixelFormat
from lumaflow.frame import Enhanced, Frame
from lumaflow.geometry import Geometry
from lumaflow.options import LaneConfig, Options, Orientation, Output, Region

Slot = TypeVar("Slot")


class Lane(Protocol):
    """Processes the frames of one source on one device: `submit` takes a frame, `collect` returns its result.

    Frame N is enhanced with the LUT computed from the last good frame before it; the first frame uses its
    own LUT (spec 5). The lane allocates all its memory when it is opened. A lane is not thread-safe;
    different lanes are independent.

    device : "cpu" or "cuda:N"
    geometry : of the frames to submit
    output : geometry of the enhanced frames: after `Options.orientation`, gray8 with `Output.DISPLAY`
    """

    device: str
    geometry: Geometry
    output: Geometry
    options: Options
    config: LaneConfig

    @property
    def in_flight(self) -> int:
        """Frames submitted and not yet collected, at most `config.slots`."""

    def next_input(self) -> Frame:
        """Return a frame over the input buffers of the slot that the next `submit` uses.

        To avoid a copy on the host, write its planes, then submit it or a `dataclasses.replace` of it.
        Raises StateError when the lane is closed or all slots are in flight.
        """

    def submit(self, frame: Frame, out: Frame | None = None) -> None:
        """Start processing `frame`; the lane writes the enhanced planes to `out`, of the `output` geometry.

        Do not change the planes of either until the frame is collected; `out` may be `frame`. Without
        `out` the enhanced frame is stored in the slot.

        Raises FrameError for another geometry or an unusable `out`; StateError when the lane is closed or
        all slots are in flight. A value above the bit depth raises FrameError here or in `collect`.
        """

    def collect(self) -> Enhanced:
        """Wait for the oldest frame in flight; the returned arrays are valid until the next `submit`.

        Raises StateError when no frame is in flight or the lane is closed.
        """

    def close(self) -> None:
        """Free all memory; frames in flight are discarded. Closing twice has no effect."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RingBuffer(Generic[Slot]):
    """The slots of a lane in order of use: frame N uses slot N modulo their number.

    capacity : frames that can be in flight, at most the number of slots
    submitted, collected : frames so far
    """

    def __init__(self, slots: Sequence[Slot], capacity: int) -> None:
        self.slots = slots
        self.submitted = self.collected = 0
        self._capacity = capacity

    @property
    def in_flight(self) -> int:
        """Frames submitted and not yet collected."""
        return self.submitted - self.collected if self.slots else 0

    def next(self) -> Slot:
        """Return the slot for the next frame. Raises StateError when closed or full."""
        self._check_open()
        if self.in_flight == self._capacity:
            raise StateError(f"all {self._capacity} slots are in flight; collect a frame first")
        return self.slots[self.submitted % len(self.slots)]

    def oldest(self) -> Slot:
        """Return the slot of the frame to collect next. Raises StateError when closed or empty."""
        self._check_open()
        if not self.in_flight:
            raise StateError("no frame is in flight; submit a frame before you collect one")
        return self.slots[self.collected % len(self.slots)]

    def previous(self, slot: Slot) -> Slot:
        """Return the slot of the frame submitted just before the one in `slot`."""
        return self.slots[self.slots.index(slot) - 1]

    def close(self) -> None:
        """Release the slots; every later call raises StateError."""
        self.slots = ()

    def _check_open(self) -> None:
        if not self.slots:
            raise StateError("the lane is closed; open another one")


def output_geometry(geometry: Geometry, options: Options) -> Geometry:
    """Return the geometry of enhanced frames. Raises OptionError when the options do not fit the geometry."""
    if options.output is Output.DISPLAY and geometry.layout.family is not Family.GRAY:
        raise OptionError(f"Output.DISPLAY needs gray frames, got {geometry}; use Output.SAME")
    _check_orientation(geometry, options.orientation)
    reoriented = geometry.reoriented(options.orientation)
    if options.region is not None:
        _check_region(reoriented, options.region, options)
    if options.output is Output.SAME:
        return reoriented
    return replace(reoriented, pixel_format=PixelFormat.GRAY8)


def check_frame(geometry: Geometry, frame: Frame, output: Geometry, out: Frame | None) -> None:
    """Raise FrameError unless a lane of `geometry` can process `frame` and write to `out`."""
    actual = _geometry_of(frame)
    if actual != geometry:
        raise FrameError(
            f"expected a frame of {geometry}, for which the lane was opened, got {actual}; open another lane"
        )
    if out is None:
        return
    actual = _geometry_of(out)
    if (actual.pixel_format, actual.width, actual.height) != (
        output.pixel_format,
        output.width,
        output.height,
    ):
        raise FrameError(f"expected out to be {output}, got {actual}; use Frame.empty(lane.output)")
    if not all(getattr(plane.flags, "writeable", True) for plane in out.planes):
        raise FrameError("expected a writable out, got a read-only array; pass a copy")


def _geometry_of(frame: Frame) -> Geometry:
    try:
        return frame.geometry
    except AttributeError:
        raise FrameError(
            f"expected a Frame, got {type(frame).__name__}; wrap it with Frame.from_numpy(array) or"
            " Frame.from_dlpack(array)"
        ) from None


def above_bit_depth(geometry: Geometry, value: int) -> FrameError:
    """Return the error for a frame whose highest value is `value`."""
    highest = (1 << geometry.layout.bits) - 1
    return FrameError(
        f"expected values up to {highest} in a frame of {geometry}, got {value}; use the right format or"
        " alignment, or Options(clamp=True)"
    )


def _check_orientation(geometry: Geometry, orientation: Orientation) -> None:
    if geometry.layout.chroma is not Chroma.PACKED or orientation in (Orientation.NONE, Orientation.FLIP_Y):
        return
    if orientation.swaps_sides or geometry.width % 2:
        raise OptionError(
            f"cannot apply {orientation} to {geometry}, where two pixels of a row share their chroma; convert"
            " the frames to nv12 or i420 first"
        )


def _check_region(reoriented: Geometry, region: Region, options: Options) -> None:
    if region.x + region.width > reoriented.width or region.y + region.height > reoriented.height:
        raise OptionError(
            f"expected a region inside the frame of {reoriented.width}x{reoriented.height}, got {region}"
        )
    if region.apply_to_whole_frame:
        return
    if reoriented.layout.family is Family.YUV and options.equalization.chroma_gain != 1.0:
        raise OptionError(
            f"chroma_gain must be 1 when only a region is mapped, got {options.equalization.chroma_gain:g}"
        )
