"""GPU time of the step of a lane and of its kernels, measured by replaying CUDA graphs between two events.

A graph contains hundreds of launches, so neither the host nor the launch latency affects the result. The
kernel launches of the lane's own step are recorded once per slot, then captured again kernel by kernel.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from typing import Any

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
"""Steps per graph; the start of a graph takes about 8 us, which adds 0.1 us to each step."""
REPLAYS = 20
WARM_UP_REPLAYS = 5
COPY_BYTES = 1 << 30

Launch = Callable[..., None]
"""Enqueues a recorded kernel launch; the stream is the keyword argument `stream`."""


@dataclass(frozen=True, slots=True)
class KernelTimes:
    """GPU seconds, one sample per replay.

    step : of a whole step
    kernels : by name, all launches of a kernel in one step. Some kernels run concurrently, so the sum can
        exceed the time of the step
    moved_bytes : size of the frame and of all its results
    """

    step: list[float]
    kernels: dict[str, list[float]]
    moved_bytes: int


class RecordingKernel:
    """A kernel that records its launches; each entry of `launches` enqueues the same launch again."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.launches: list[Launch] = []

    def __call__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: tuple[Any, ...],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Record the launch and enqueue it."""
        launch = partial(self.kernel, grid, block, args, shared_mem=shared_mem)
        self.launches.append(launch)
        launch(stream=stream)


def time_step(index: int, geometry: Geometry, options: Options, images: Sequence[Frame]) -> KernelTimes:
    """Time the step of a lane on GPU `index`; `images`, two or more, are used in turn, one per slot.

    Raises DeviceError if the lane cannot be opened.
    """
    with _lane_with_images(index, geometry, options, images) as (lane, enhanced):
        return _times(lane, geometry.frame_bytes + _bytes_of(enhanced))


def time_launch_config(
    index: int, geometry: Geometry, options: Options, images: Sequence[Frame], launch_config: LaunchConfig
) -> list[float]:
    """Seconds of the step of a lane with this launch configuration; see `time_step`."""
    with _lane_with_images(index, geometry, options, images, launch_config) as (lane, _):
        return _step_seconds(lane)


@contextmanager
def _lane_with_images(
    index: int,
    geometry: Geometry,
    options: Options,
    images: Sequence[Frame],
    launch_config: LaunchConfig | None = None,
) -> Iterator[tuple[CudaLane, Enhanced]]:
    """Open a lane with an image in each slot; yields the lane and the result of the last image."""
    config = LaneConfig(slots=len(images), graph=False)
    with (
        CudaLane(index, geometry, options, config, launch_config) as lane,
        translate_cuda_errors("replaying a step"),
    ):
        for image in images:
            lane.submit(image)
            enhanced = lane.collect()
        yield lane, enhanced


def _bytes_of(enhanced: Enhanced) -> int:
    results = (enhanced.bins, enhanced.lut, enhanced.hog, enhanced.lbp, enhanced.lbp_labels)
    return sum(array.nbytes for array in (*enhanced.frame.planes, *results) if array is not None)


def _times(lane: CudaLane, moved_bytes: int) -> KernelTimes:
    stream, slots = lane.streams.enhance, lane.ring.slots
    times = KernelTimes([], {}, moved_bytes)
    for name, launches in _record_launches(lane).items():
        per_step = len(launches) // len(slots)
        with captured(stream) as graph:
            for launch in islice(cycle(launches), STEPS * per_step):
                launch(stream=stream)
        times.kernels[name] = replay(graph, stream, STEPS)
    times.step.extend(_step_seconds(lane))
    return times


def _record_launches(lane: CudaLane) -> dict[str, list[Launch]]:
    """Run the step once for each slot. Returns the launches of each kernel that ran, by name."""
    step, ring = lane.step, lane.ring
    recorders = {name: RecordingKernel(kernel) for name, kernel in step.kernels.items()}
    step.kernels.update(recorders)
    for slot in ring.slots:
        step.enhance(slot, ring.previous(slot))
        lane.streams.synchronize()
        if step.has_features:
            step.compute_features(slot)
    lane.streams.synchronize()
    step.kernels.update({name: recorder.kernel for name, recorder in recorders.items()})
    return {name: recorder.launches for name, recorder in recorders.items() if recorder.launches}


def _step_seconds(lane: CudaLane) -> list[float]:
    """Seconds per step; HOG and LBP of a frame overlap with the next frame, as in the lane."""
    step, ring, enhance, hog = lane.step, lane.ring, lane.streams.enhance, lane.streams.hog
    with captured(enhance) as graph:
        for number, slot in enumerate(islice(cycle(ring.slots), STEPS)):
            if step.has_features and number >= len(ring.slots):
                enhance.wait_event(slot.features_ready)  # in the lane, `collect` waits for the slot
            step.enhance(slot, ring.previous(slot))
            if step.has_features:
                slot.enhanced.record(enhance)
                hog.wait_event(slot.enhanced)
                step.compute_features(slot)
                slot.features_ready.record(hog)
        if step.has_features:
            enhance.wait_event(slot.features_ready)
    return replay(graph, enhance, STEPS)


class Graph:
    """A captured CUDA graph; `captured` is set when the capture ends."""

    def __init__(self) -> None:
        self.captured: Any = None


@contextmanager
def captured(stream: Any) -> Iterator[Graph]:
    """Capture the work that the block enqueues on `stream` and on streams that join it."""
    graph = Graph()
    stream.begin_capture()
    try:
        yield graph
    finally:
        graph.captured = stream.end_capture()


def replay(graph: Graph, stream: Any, steps: int, repeats: int = REPLAYS) -> list[float]:
    """Seconds per step of a graph of `steps` steps, one sample per replay."""
    for _ in range(min(WARM_UP_REPLAYS, repeats)):
        graph.captured.launch(stream)
    return timed(lambda: graph.captured.launch(stream), stream, steps, repeats)


def timed(enqueue: Callable[[], object], stream: Any, steps: int = 1, repeats: int = REPLAYS) -> list[float]:
    """GPU seconds of the work that `enqueue` puts on `stream`, divided by `steps`; one sample per repeat."""
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    samples = []
    for _ in range(repeats):
        start.record(stream)
        enqueue()
        end.record(stream)
        end.synchronize()
        samples.append(cupy.cuda.get_elapsed_time(start, end) * 1e-3 / steps)
    return samples


def copy_bandwidth(index: int) -> float:
    """Bytes per second of a large copy on the device, reads plus writes. Raises DeviceError."""
    with translate_cuda_errors("measuring a copy"), cupy.cuda.Device(index):
        blocks = [DeviceBlock({"all": ((COPY_BYTES,), np.uint8)}) for _ in range(2)]
        stream = cupy.cuda.Stream(non_blocking=True)

        def copy() -> None:
            source, target = (block.address for block in blocks)
            runtime.memcpyAsync(target, source, COPY_BYTES, runtime.memcpyDeviceToDevice, stream.ptr)

        timed(copy, stream, repeats=WARM_UP_REPLAYS)
        return 2 * COPY_BYTES / float(np.median(timed(copy, stream)))
