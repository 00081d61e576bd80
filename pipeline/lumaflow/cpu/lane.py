"""The CPU lane: the default without a GPU, and the definition of correct."""

from collections import deque
from types import TracebackType
from typing import Self

from lumaflow.array_device import on_device
from lumaflow.cpu.slot import CpuSlot
from lumaflow.cpu.step import CpuStep
from lumaflow.errors import FrameError, StateError
from lumaflow.frame import Enhanced, Frame
from lumaflow.geometry import Geometry
from lumaflow.lane import check_frame, output_geometry
from lumaflow.options import Options


class CpuLane:
    """A lane on the processor; `submit` computes at once, on all cores, and `collect` never waits.

    Opening it takes all memory and compiles what has not been compiled on this machine before (seconds,
    once). One thread calls the CPU lanes of a process: where Numba finds neither OpenMP nor TBB, its
    threads must not be started from two. A process that has run a lane must not fork.
    """

    device = "cpu"

    def __init__(self, geometry: Geometry, options: Options) -> None:
        self.geometry = geometry
        self.output = output_geometry(geometry, options)
        self.options = options
        self._slots = [CpuSlot(geometry, self.output, options) for _ in range(options.slots)]
        self._done: deque[Enhanced] = deque()
        self._sequence = 0
        self._step: CpuStep | None = CpuStep(geometry, self.output, options)
        self._warm_up(self._step)

    @property
    def in_flight(self) -> int:
        """Frames submitted and not yet collected, at most `options.slots`."""
        return len(self._done)

    def next_input(self) -> Frame:
        """A frame in the input buffers of the slot that the next `submit` takes."""
        self._open_step()
        return self._next_slot().input

    def submit(self, frame: Frame, out: Frame | None = None) -> None:
        """Enhance one frame, into `out` if given. Raises FrameError, StateError."""
        step = self._open_step()
        slot = self._next_slot()
        check_frame(self.geometry, frame, self.output, out)
        _check_memory(frame, out)
        self._done.append(step.run(slot, frame, self._sequence, out))
        self._sequence += 1

    def collect(self) -> Enhanced:
        """The oldest frame not yet collected; its arrays are valid until the next `submit`."""
        self._open_step()
        if not self._done:
            raise StateError("nothing is in flight; submit a frame before you collect one")
        return self._done.popleft()

    def close(self) -> None:
        """Give all memory back; frames in flight are lost. Closing twice is harmless."""
        self._step = None
        self._slots.clear()
        self._done.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _warm_up(self, step: CpuStep) -> None:
        """Compile with a black frame, and so touch the memory of every slot."""
        for slot in self._slots:
            for plane in slot.input.planes:
                plane[:] = 0
            step.warm_up(slot, slot.input)

    def _open_step(self) -> CpuStep:
        if self._step is None:
            raise StateError("the lane is closed; open another one")
        return self._step

    def _next_slot(self) -> CpuSlot:
        if self.in_flight == self.options.slots:
            raise StateError(f"all {self.options.slots} slots are in flight; collect a frame first")
        return self._slots[self._sequence % self.options.slots]


def _check_memory(frame: Frame, out: Frame | None) -> None:
    planes = frame.planes if out is None else (*frame.planes, *out.planes)
    if any(on_device(plane) for plane in planes):
        raise FrameError("a frame on a GPU came to a lane on the processor; open the lane on its device")
