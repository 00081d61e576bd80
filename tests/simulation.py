"""Simulates streams, events and graphs of a GPU on the CPU, to test synchronization.

No work runs before the host waits for it. Then the work items that are ready run in a random order, so a
missing dependency between two streams leads to a wrong result with high probability. Operations that CUDA
rejects in a capture are rejected here. Kernels are those of `shim`.
"""

import ctypes
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cupy.cuda.runtime import CUDARuntimeError

from lumaflow import Geometry, Options
from lumaflow.cuda import lane, result, slot, step, streams, timing, transfer
from lumaflow.cuda.launch import Kernel
from lumaflow.cuda.launch_config import DEFAULT_LAUNCH_CONFIG
from lumaflow.cuda.memory import Spec, offsets
from shim import open_shim


@dataclass(eq=False)
class Work:
    """A work item that can run when its dependencies are done."""

    run: Callable[[], object]
    needs: list["Work"]
    done: bool = False


class Machine:
    """The pending work of all streams."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._pending: list[Work] = []
        self._objects: list[Any] = []

    def name(self, one: Any) -> int:
        """Register a stream or event. Returns its address."""
        self._objects.append(one)
        return len(self._objects)

    def at(self, address: Any) -> Any:
        """The stream or event with this address."""
        return self._objects[(address if isinstance(address, int) else address.value) - 1]

    def add(self, run: Callable[[], object], needs: list[Work]) -> Work:
        """Add pending work."""
        work = Work(run, list(needs))
        self._pending.append(work)
        return work

    def until(self, wanted: list[Work]) -> None:
        """Run pending work in a random order until all of `wanted` is done."""
        while not all(work.done for work in wanted):
            ready = [work for work in self._pending if all(need.done for need in work.needs)]
            assert ready, "deadlock: no pending work is ready"
            work = ready[self._rng.integers(len(ready))]
            work.run()
            work.done = True
            self._pending.remove(work)


@dataclass(eq=False)
class Node:
    """A node of a graph; each launch creates work from it. `waits` and `records` are external events."""

    run: Callable[[], object]
    needs: list["Node"]
    waits: "Event | None" = None
    records: "Event | None" = None


@dataclass(eq=False)
class Capture:
    """A stream capture: its nodes, and the streams that joined it."""

    nodes: list[Node] = field(default_factory=list)
    joined: dict["Stream", list[Work]] = field(default_factory=dict)
    ended: bool = False


def nothing() -> None:
    """The work of a node that only records or waits for an event."""


class Stream:
    """A stream: work items in order, or graph nodes in a capture."""

    def __init__(self, machine: Machine, non_blocking: bool = True) -> None:
        self._machine = machine
        self.ptr = machine.name(self)
        self.capture: Capture | None = None
        self.frontier: list[Any] = []

    def enqueue(
        self, run: Callable[[], object], waits: "Event | None" = None, records: "Event | None" = None
    ) -> None:
        """Enqueue work, or a node in a capture."""
        if self.capture is None:
            self.frontier = [self._machine.add(run, self.frontier)]
        else:
            node = Node(run, list(self.frontier), waits, records)
            self.capture.nodes.append(node)
            self.frontier = [node]

    def wait_event(self, event: "Event") -> None:
        """Let later work wait for the event."""
        if event.capture is None:
            assert self.capture is None, "a capture waits for what is not in it"
        elif self.capture is None:
            assert not event.capture.ended, "an event of a capture is waited for after it"
            event.capture.joined[self] = self.frontier
            self.capture, self.frontier = event.capture, []
        else:
            assert self.capture is event.capture, "a capture waits for another one"
        self.frontier = list(dict.fromkeys([*self.frontier, *event.recorded]))

    def begin_capture(self) -> None:
        """Start a capture on this stream."""
        assert self.capture is None
        self.capture = Capture()
        self.capture.joined[self] = self.frontier
        self.frontier = []

    def end_capture(self) -> "Graph":
        """End the capture. Returns the graph."""
        capture, reached, ends = self.capture, set(), list(self.frontier)
        assert capture is not None
        while ends:
            node = ends.pop()
            if node not in reached:
                reached.add(node)
                ends += node.needs
        assert reached == set(capture.nodes), "work of a capture was not joined"
        capture.ended = True
        for stream, frontier in capture.joined.items():
            stream.capture, stream.frontier = None, frontier
        return Graph(self._machine, capture.nodes)

    def is_capturing(self) -> bool:
        """True during a capture."""
        return self.capture is not None

    def synchronize(self) -> None:
        """Run all work of this stream."""
        assert self.capture is None
        self._machine.until(self.frontier)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None: ...


class Event:
    """An event: the work of a stream that precedes it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.ptr = machine.name(self)
        self.capture: Capture | None = None
        self.passed = False  # whether it was ever recorded
        self.recorded: list[Any] = []

    def record(self, stream: Stream) -> None:
        """Record the work enqueued on `stream` so far."""
        self.passed = True
        self.capture, self.recorded = stream.capture, list(stream.frontier)

    def synchronize(self) -> None:
        """Run all work that precedes the event."""
        assert self.capture is None, "the host cannot wait for an event of a capture"
        self._machine.until(self.recorded)


class Graph:
    """A graph that can be launched repeatedly."""

    def __init__(self, machine: Machine, nodes: list[Node]) -> None:
        self._machine, self._nodes = machine, nodes

    def launch(self, stream: Stream) -> None:
        """Enqueue all nodes; external events have the state of the time of the launch."""
        works: dict[Node, Work] = {}
        for node in self._nodes:
            needs = [works[need] for need in node.needs] or stream.frontier
            outside = [] if node.waits is None else node.waits.recorded
            works[node] = self._machine.add(node.run, [*needs, *outside])
            if node.records is not None:
                node.records.passed = True
                node.records.capture, node.records.recorded = None, [works[node]]
        stream.frontier = list(works.values())


class Block:
    """Replaces `DeviceBlock` and `PinnedBlock`, in host memory."""

    def __init__(self, spec: Spec) -> None:
        self.offsets, self.size_bytes = offsets(spec)
        memory = np.zeros(self.size_bytes + 256, np.uint8)
        memory = memory[-memory.ctypes.data % 256 :][: self.size_bytes]
        self.address = memory.ctypes.data
        self.arrays = {
            name: np.ndarray(shape, dtype, memory, self.offsets[name])
            for name, (shape, dtype) in spec.items()
        }


class Runtime:
    """Replaces the copy functions of the CUDA runtime."""

    memcpyDefault = memcpyDeviceToDevice = 0

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def memcpyAsync(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        """Enqueue a copy of bytes."""
        self._machine.at(stream).enqueue(lambda: ctypes.memmove(target, source, size))

    def memcpy2DAsync(
        self, target: int, pitch: int, source: int, source_pitch: int, width: int, height: int, *rest: int
    ) -> None:
        """Enqueue a copy of rows of bytes."""

        def rows() -> None:
            for row in range(height):
                ctypes.memmove(target + row * pitch, source + row * source_pitch, width)

        self._machine.at(rest[-1]).enqueue(rows)


class EnqueuedKernel:
    """A kernel that is enqueued on a simulated stream."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Any = None) -> None:
        stream.enqueue(lambda: self._kernel(grid, block, args, shared_mem=shared_mem))


class Driver:
    """Replaces the driver functions for external events."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def cuEventRecordWithFlags(self, event: ctypes.c_void_p, stream: ctypes.c_void_p, flags: object) -> int:
        """Add a node that records an event."""
        self._machine.at(stream).enqueue(nothing, records=self._machine.at(event))
        return 0

    def cuStreamWaitEvent(self, stream: ctypes.c_void_p, event: ctypes.c_void_p, flags: object) -> int:
        """Add a node that waits for an event."""
        self._machine.at(stream).enqueue(nothing, waits=self._machine.at(event))
        return 0


def elapsed(start: Event, end: Event) -> float:
    """Returns 1 ms, if both events are complete."""
    for event in (start, end):
        assert event.capture is None
        assert event.passed
        assert all(work.done for work in event.recorded), "a time was read too early"
    return 1.0


class NoArray:
    """Replaces the type of GPU arrays; there are no instances."""


def simulate(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    rng: np.random.Generator,
    geometry: Geometry,
    options: Options,
) -> Machine:
    """Make `CudaLane` run on the simulated GPU; shared objects of the kernels go to `folder`."""
    machine = Machine(rng)
    shim = open_shim(folder, geometry, options)
    kernels = {name: EnqueuedKernel(shim[name]) for name in shim}
    null = Stream(machine)
    new_stream = partial(Stream, machine)
    new_stream.null = null  # type: ignore[attr-defined]
    cuda = SimpleNamespace(
        Event=lambda **_: Event(machine),
        Stream=new_stream,
        Device=lambda index: nullcontext(),
        get_current_stream=lambda: null,
        get_elapsed_time=elapsed,
        runtime=SimpleNamespace(CUDARuntimeError=CUDARuntimeError),
    )
    for module in (lane, slot, step, streams, timing, transfer, result):
        monkeypatch.setattr(module, "cupy", SimpleNamespace(cuda=cuda, asarray=np.asarray, ndarray=NoArray))
    for module in (slot, step):
        monkeypatch.setattr(module, "DeviceBlock", Block)
    monkeypatch.setattr(slot, "PinnedBlock", Block)
    monkeypatch.setattr(step, "compile_kernels", lambda sources: kernels)
    monkeypatch.setattr(step, "_upload_tables", dict)
    monkeypatch.setattr(streams, "_driver", partial(Driver, machine))
    monkeypatch.setattr(transfer, "runtime", Runtime(machine))
    monkeypatch.setattr(result, "is_pinned", lambda pixels: False)
    monkeypatch.setattr(lane, "launch_config_for", lambda index: DEFAULT_LAUNCH_CONFIG)
    return machine
