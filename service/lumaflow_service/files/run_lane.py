"""Frames of a file through lanes, each paired with its result."""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

from lumaflow import enhance_frames
from lumaflow.frame import Enhanced, Frame
from lumaflow.options import Options, Orientation
from lumaflow_service.files.encoding import Encoding


@dataclass(frozen=True, slots=True)
class LaneJob:
    """The options of `lumaflow enhance` and `lumaflow features`.

    device : "cpu" or "cuda:N"
    orientation : overrides the orientation tag of the file; None applies the tag
    encoding : of an output video
    """

    device: str = "cpu"
    options: Options = field(default_factory=Options)
    side_by_side: bool = False
    force: bool = False
    orientation: Orientation | None = None
    encoding: Encoding = field(default_factory=Encoding)

    @property
    def with_chroma(self) -> bool:
        """Whether the mode changes colours: then video passes the lane with its chroma."""
        return self.options.equalization.mode.adaptive


def run_lane(frames: Iterable[Frame], job: LaneJob) -> Iterator[tuple[Frame, Enhanced]]:
    """Yield every frame with its result, in order; a result is valid until the next one is requested."""
    in_flight: deque[Frame] = deque()

    def submitted() -> Iterator[Frame]:
        for frame in frames:
            in_flight.append(frame)
            yield frame

    with closing(enhance_frames(submitted(), job.options, device=job.device)) as results:
        for result in results:
            yield in_flight.popleft(), result
