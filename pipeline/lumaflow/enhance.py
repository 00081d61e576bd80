"""`enhance_frames`: frames in, results out, with lanes opened and closed as needed."""

from collections.abc import Generator, Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np

from lumaflow.backend import DEFAULT_CONFIG, DEFAULT_OPTIONS, check_options, choose_device, open_lane
from lumaflow.frame import Enhanced, Frame
from lumaflow.lane import Lane
from lumaflow.options import LaneConfig, Options


def enhance_frames(
    frames: Iterable[Frame | Any],
    options: Options = DEFAULT_OPTIONS,
    *,
    device: str = "auto",
    config: LaneConfig = DEFAULT_CONFIG,
) -> Generator[Enhanced, None, None]:
    """Yield the result of every frame, in order.

    The first frame sets the geometry. When the geometry changes, the results of the frames in flight are
    yielded first; then another lane is opened, whose first frame uses its own LUT (spec 5).

    frames : each a Frame, or an array as for `Frame.from_numpy` and `Frame.from_dlpack`. Up to
        `config.slots + 1` frames are taken before the first result is yielded: do not change a frame before
        its result is yielded
    device : as for `choose_device`

    Each result is valid until the next one is requested; copy arrays to keep them longer. The lane is closed
    when `frames` ends, on an error, or by `close()` on the returned generator.

    Raises DeviceError, OptionError and FrameError, as `open_lane` and the methods of `Lane`; after an error
    the generator is finished.
    """
    check_options(options, config)
    return _enhance(map(_as_frame, frames), options, choose_device(device).device, config)


def _enhance(
    frames: Iterable[Frame], options: Options, device: str, config: LaneConfig
) -> Generator[Enhanced, None, None]:
    for geometry, group in groupby(frames, key=lambda frame: frame.geometry):
        with open_lane(device, geometry, options, config) as lane:
            yield from _run(lane, group)


def _run(lane: Lane, frames: Iterable[Frame]) -> Iterator[Enhanced]:
    for frame in frames:
        if lane.in_flight == lane.config.slots:
            yield lane.collect()
        lane.submit(frame)
    while lane.in_flight:
        yield lane.collect()


def _as_frame(frame: Any) -> Frame:
    if isinstance(frame, Frame):
        return frame
    return Frame.from_numpy(frame) if isinstance(frame, np.ndarray) else Frame.from_dlpack(frame)
