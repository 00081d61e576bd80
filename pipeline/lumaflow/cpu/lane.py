"""The CPU lane: the default without a GPU, and the reference for the results of every device."""

from lumaflow.array_device import on_device
from lumaflow.cpu.cores import limit_thread_spin
from lumaflow.cpu.slot import CpuSlot
from lumaflow.cpu.step import CpuStep
from lumaflow.errors import FrameError
from lumaflow.frame import Enhanced, Frame
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane, RingBuffer, check_frame, output_geometry
from lumaflow.options import LaneConfig, Options


class CpuLane(Lane):
    """A lane on the CPU: `submit` processes the frame at once on all cores, `collect` never waits.

    Opening a lane allocates all memory and compiles kernels that this machine has not compiled before
    (seconds, once). Call all CPU lanes of a process from one thread: without OpenMP or TBB, Numba cannot
    start its threads from two. Do not fork a process after it has used a CPU lane.
    """

    device = "cpu"

    def __init__(self, geometry: Geometry, options: Options, config: LaneConfig) -> None:
        limit_thread_spin()
        self.geometry = geometry
        self.output = output_geometry(geometry, options)
        self.options, self.config = options, config
        slots = [CpuSlot(geometry, self.output, options) for _ in range(config.slots)]
        self._ring = RingBuffer(slots, config.slots)
        self._step = CpuStep(geometry, self.output, options)
        self._warm_up()

    @property
    def in_flight(self) -> int:
        return self._ring.in_flight

    def next_input(self) -> Frame:
        return self._ring.next().input

    def submit(self, frame: Frame, out: Frame | None = None) -> None:
        slot = self._ring.next()
        check_frame(self.geometry, frame, self.output, out)
        _check_in_host_memory(frame, out)
        slot.result = self._step.run(slot, frame, self._ring.submitted, out)
        self._ring.submitted += 1

    def collect(self) -> Enhanced:
        slot = self._ring.oldest()
        self._ring.collected += 1
        return slot.take_result()

    def close(self) -> None:
        self._ring.close()
        if hasattr(self, "_step"):
            del self._step

    def _warm_up(self) -> None:
        """Process a black frame in every slot, to compile the kernels and touch the memory."""
        for slot in self._ring.slots:
            for plane in slot.input.planes:
                plane[:] = 0
            self._step.warm_up(slot, slot.input)


def _check_in_host_memory(frame: Frame, out: Frame | None) -> None:
    planes = frame.planes if out is None else (*frame.planes, *out.planes)
    if any(on_device(plane) for plane in planes):
        raise FrameError("expected a frame in host memory, got one on a GPU; open the lane on that GPU")
