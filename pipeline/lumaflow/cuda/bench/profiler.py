"""GPU time of a lane's step and of every kernel in it, by replaying captured graphs between two events.

Hundreds of launches stand in one graph, so neither the host nor a launch's latency shows in the figure. It is
the lane's own step that is timed: its kernels are watched while it runs once for each slot, then enqueued
again as they were.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from typing import Any, cast

import cupy
import numpy as np
from cupy.cuda import runtime

from lumaflow.cuda.cuda_errors import translate_cuda_errors
from lumaflow.cuda.lane import CudaLane
from lumaflow.cuda.launch import Kernel
from lumaflow.cuda.launch_config import LaunchConfig
from lumaflow.cuda.memory import DeviceBlock
from lumaflow.frame import Enhanced, Frame
from lumaflow.geometry import Geometry
from lumaflow.options import LaneConfig, Options

STEPS = 64
"""Steps in one graph; about 8 us of its own that a graph takes to start then add .1 us to each."""
REPLAYS = 20
WARM_UP_REPLAYS = 5
COPY_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class KernelTimes:
    """Seconds on the GPU, one sample a replay.

    kernels : of each kernel all its launches in one step; some run side by side, so they can add up to more
    moved_bytes : of a frame and of all that is made from it, each counted once
    """

    step: list[float]
    kernels: dict[str, list[float]]
    moved_bytes: int


class RecordingKernel:
    """A kernel that also notes its launches: `launches` has what enqueues each of them once more."""

    def __init__(self, kernel: Kernel) -> None:
        self.unwatched = kernel
        self.launches: list[Callable[..., None]] = []

    def __call__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: tuple[Any, ...],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch as the kernel does."""
        again = partial(self.unwatched, grid, block, args, shared_mem=shared_mem)
        self.launches.append(again)
        again(stream=stream)


def time_step(index: int, geometry: Geometry, options: Options, pictures: Sequence[Frame]) -> KernelTimes:
    """Time the step of a lane on GPU `index`; `pictures` (two or more) take turns, each in its own slot.

    Raises DeviceError where the lane cannot be opened.
    """
    with _filled(index, geometry, options, pictures) as (lane, enhanced):
        return _times(lane, geometry.frame_bytes + _bytes_of(enhanced))


def time_launch_config(
    index: int, geometry: Geometry, options: Options, pictures: Sequence[Frame], shapes: LaunchConfig
) -> list[float]:
    """Seconds of the step of a lane whose launches are planned with `shapes`; as for `time_step`."""
    with _filled(index, geometry, options, pictures, shapes) as (lane, _):
        return _step_seconds(lane)


@contextmanager
def _filled(
    index: int,
    geometry: Geometry,
    options: Options,
    pictures: Sequence[Frame],
    shapes: LaunchConfig | None = None,
) -> Iterator[tuple[CudaLane, Enhanced]]:
    """A lane with a picture in every slot, and what came of the last one."""
    config = LaneConfig(slots=len(pictures), graph=False)
    with (
        CudaLane(index, geometry, options, config, shapes) as lane,
        translate_cuda_errors("replaying a step"),
    ):
        for picture in pictures:
            lane.submit(picture)
            enhanced = lane.collect()
        yield lane, enhanced


def _bytes_of(enhanced: Enhanced) -> int:
    made = (enhanced.bins, enhanced.lut, enhanced.hog, enhanced.lbp, enhanced.lbp_labels)
    return sum(array.nbytes for array in (*enhanced.frame.planes, *made) if array is not None)


def _times(lane: CudaLane, moved_bytes: int) -> KernelTimes:
    step, ring, stream = lane._step, lane._ring, lane._streams.enhance
    kernels = cast(dict[str, Kernel], step._kernels)
    watched = {name: RecordingKernel(kernel) for name, kernel in kernels.items()}
    kernels.update(watched)
    for slot in ring.slots:
        step.map(slot, ring.before(slot))
        lane._streams.synchronize()
        if step.describes:
            step.describe(slot)
    lane._streams.synchronize()
    kernels.update({name: kernel.unwatched for name, kernel in watched.items()})
    times = KernelTimes([], {}, moved_bytes)
    launched = {name: kernel.launches for name, kernel in watched.items() if kernel.launches}
    for name, launches in launched.items():
        each = len(launches) // len(ring.slots)
        with captured(stream) as graph:
            for launch in islice(cycle(launches), STEPS * each):
                launch(stream=stream)
        times.kernels[name] = replay(graph, stream, STEPS)
    times.step.extend(_step_seconds(lane))
    return times


def _step_seconds(lane: CudaLane) -> list[float]:
    """A frame is described while the next one is mapped, as in the lane."""
    step, ring, streams = lane._step, lane._ring, lane._streams
    enhance, hog = streams.enhance, streams.hog
    with captured(enhance) as graph:
        for number, slot in enumerate(islice(cycle(ring.slots), STEPS)):
            if step.describes and number >= len(ring.slots):
                enhance.wait_event(slot.described)  # what the host sees to in the lane
            step.map(slot, ring.before(slot))
            if step.describes:
                slot.enhanced.record(enhance)
                hog.wait_event(slot.enhanced)
                step.describe(slot)
                slot.described.record(hog)
        if step.describes:
            enhance.wait_event(slot.described)
    return replay(graph, enhance, STEPS)


class Graph:
    """What was captured on a stream; it has one once the capture has ended."""

    def __init__(self) -> None:
        self.captured: Any = None


@contextmanager
def captured(stream: Any) -> Iterator[Graph]:
    """Capture what the enclosed lines enqueue on `stream`, and on streams that join it."""
    graph = Graph()
    stream.begin_capture()
    try:
        yield graph
    finally:
        graph.captured = stream.end_capture()


def replay(graph: Graph, stream: Any, steps: int, repeats: int = REPLAYS) -> list[float]:
    """Seconds of each of the `steps` in `graph`, once for every replay."""
    for _ in range(min(WARM_UP_REPLAYS, repeats)):
        graph.captured.launch(stream)
    return timed(lambda: graph.captured.launch(stream), stream, steps, repeats)


def timed(enqueue: Callable[[], object], stream: Any, steps: int = 1, repeats: int = REPLAYS) -> list[float]:
    """GPU seconds of what `enqueue` puts on `stream`, divided by `steps`, once for every repeat."""
    began, ended = cupy.cuda.Event(), cupy.cuda.Event()
    samples = []
    for _ in range(repeats):
        began.record(stream)
        enqueue()
        ended.record(stream)
        ended.synchronize()
        samples.append(cupy.cuda.get_elapsed_time(began, ended) * 1e-3 / steps)
    return samples


def copy_bandwidth(index: int) -> float:
    """Bytes a second that a large copy on the device reads and writes together. Raises DeviceError."""
    with translate_cuda_errors("measuring a copy"), cupy.cuda.Device(index):
        blocks = [DeviceBlock({"all": ((COPY_BYTES,), np.uint8)}) for _ in range(2)]
        stream = cupy.cuda.Stream(non_blocking=True)

        def copy() -> None:
            source, target = (block.address for block in blocks)
            runtime.memcpyAsync(target, source, COPY_BYTES, runtime.memcpyDeviceToDevice, stream.ptr)

        timed(copy, stream, repeats=WARM_UP_REPLAYS)
        return 2 * COPY_BYTES / float(np.median(timed(copy, stream)))
