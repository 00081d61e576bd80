"""The one Protocol that every device meets, and what every lane checks."""

from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import FrameError
from pipeline.frame import Enhanced, Frame, Geometry, check_pixels
from pipeline.options import Options


class Lane(Protocol):
    """One source on one device, its mapping included: frames in by `submit`, results out by `collect`.

    `out[N] = M[N-1](frame[N])`: a frame is shown through the mapping of the last good frame before it;
    the first one through its own (spec 5). All memory is taken when the lane is opened.
    A lane is not thread-safe; different lanes are independent.
    """

    device: str
    geometry: Geometry
    options: Options

    @property
    def in_flight(self) -> int:
        """Frames submitted and not yet collected, at most `options.slots`."""

    def next_input(self) -> NDArray[np.uint8]:
        """The input buffer of the slot that the next `submit` takes: `geometry.shape` uint8.

        A frame born there (decode into it, then submit `Frame(buffer, ...)`) is not copied on the host.
        """

    def submit(self, frame: Frame, out: NDArray[np.uint8] | None = None) -> None:
        """Start one frame; `out`, of the frame's shape, receives the enhanced pixels.

        `frame.pixels` and `out` must stay untouched until the frame is collected. Without `out` the pixels
        lie in the slot. Raises FrameError (another geometry, a bad `out`), StateError (closed, ring full).
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


def check_frame(geometry: Geometry, frame: Frame, out: NDArray[np.uint8] | None) -> None:
    """Raise FrameError unless a lane of `geometry` can take `frame` and write to `out`."""
    if frame.geometry != geometry:
        raise FrameError(
            f"a frame of {frame.geometry} came; this lane was opened for {geometry}, "
            "open another one for the new geometry"
        )
    if out is None:
        return
    check_pixels(out, geometry.pixel_format)
    if out.shape != geometry.shape:
        raise FrameError(f"an out {out.shape} came; this lane writes {geometry.shape}")
    if not out.flags.writeable:
        raise FrameError("a read-only out came; pass an array that can be written")
