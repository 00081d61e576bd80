"""The CUDA lane: uploads frame N and counts it, and meanwhile shows it through the mapping of frame N-1."""

from contextlib import suppress
from typing import Any

import cupy

from lumaflow.cuda import transfer
from lumaflow.cuda.autotune_cache import launch_config_for
from lumaflow.cuda.cuda_errors import translate_cuda_errors
from lumaflow.cuda.frame_plan import plan_frame
from lumaflow.cuda.launch_config import LaunchConfig
from lumaflow.cuda.result import accessible_from_gpu, build_result, shares_chroma
from lumaflow.cuda.ring import CudaSlot, InFlightFrame, Planes
from lumaflow.cuda.step import CudaStep
from lumaflow.cuda.streams import Streams, record_outside, wait_outside
from lumaflow.frame import Enhanced, Frame, LutKind
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane, RingBuffer, above_bit_depth, check_frame, check_implemented, output_geometry
from lumaflow.lut_history import LutSelector
from lumaflow.options import LaneConfig, Options
from lumaflow.stage import Stage

WHOLE_FRAME_BYTES = 3 << 20
"""Frames up to here are captured with their copies: at 720p a frame then takes 33 us instead of 44, for the
host is what limits. At 1080p both are alike; at 4K single copies keep the wire busier, by 1 to 2 % (H200)."""

ENQUEUING, WAITING = translate_cuda_errors("enqueuing a frame"), translate_cuda_errors("waiting for a frame")


class CudaLane(Lane):
    """A lane on one GPU; `submit` only enqueues, `collect` waits for the oldest frame.

    A step is captured once a slot as CUDA graphs and replayed: one maps the frame, one describes it, while
    the picture already goes down. Copies stay outside them, since the host side of a frame may lie in any
    page-locked memory; so do the rare frames that are mapped by their own LUT or are corrupt. A small frame
    that lies in its slot, stays there and is not timed has a third graph with the copies in it: one launch.
    Enhanced pixels go straight to an `out` that is page-locked or lies on the device; any other is filled by
    `collect`. Planes on the device are read and written once what CuPy's current stream holds is done.

    Whether a value lies beyond the depth of a frame is known only when it is collected: then `collect`
    refuses it, and it takes its number and its mapping with it, as if it had not been submitted. Only where
    it came first are frames in flight behind it shown through its mapping, made of its clamped values.
    """

    def __init__(
        self,
        index: int,
        geometry: Geometry,
        options: Options,
        config: LaneConfig,
        shapes: LaunchConfig | None = None,
    ) -> None:
        self.device = f"cuda:{index}"
        check_implemented(self.device, options)
        self.geometry = geometry
        self.output = output_geometry(geometry, options)
        self.options, self.config = options, config
        self._stays = _chroma_stays(geometry, options)
        self._device = cupy.cuda.Device(index)
        null = cupy.cuda.Stream.null  # which clears and fills a lane's memory, whatever the caller's stream
        with translate_cuda_errors(f"opening a lane for {geometry}"), self._device, null:
            self._streams = Streams()
            launch_config = shapes or launch_config_for(index)
            self._step = CudaStep(geometry, options, config, self._streams, launch_config)
            # A step reads the slot of the frame before, so there are at least two.
            number, on_device = max(config.slots, 2), config.features_on_device
            slots = [CudaSlot(geometry, options, on_device) for _ in range(number)]
            self._ring = RingBuffer(slots, config.slots)
            # Whose mapping a frame is given, at its submission; and, with the refused ones left out, as told.
            self._planned, self._told = (LutSelector(options.equalization.mode) for _ in range(2))
            self._sequence = 0
            null.synchronize()  # the lane's streams do not wait for it
            if config.graph:
                self._step.capture(self._ring)
                if geometry.frame_bytes <= WHOLE_FRAME_BYTES and config.timing_every > 1:
                    for slot in self._ring.slots:
                        self._capture(slot, self._ring.before(slot))

    @property
    def in_flight(self) -> int:
        return self._ring.in_flight

    def next_input(self) -> Frame:
        return self._ring.next().input

    def submit(self, frame: Frame, out: Frame | None = None) -> None:
        ring = self._ring
        slot = ring.next()
        check_frame(self.geometry, frame, self.output, out)
        with ENQUEUING, self._device:
            slot.ticket = ticket = self._ticket(frame, out)
            try:
                self._enqueue(ring.before(slot), slot, ticket)
            except BaseException:
                with suppress(cupy.cuda.runtime.CUDARuntimeError):
                    self._synchronize()  # so that the slot is free again
                raise
        self._planned.advance(frame.corrupt)
        ring.submitted += 1

    def collect(self) -> Enhanced:
        slot = self._ring.oldest()
        with WAITING, self._device:
            slot.done.synchronize()
            self._ring.collected += 1
            return self._outcome(slot)

    def close(self) -> None:
        if not self._ring.slots:
            return
        try:
            with translate_cuda_errors("closing a lane"), self._device:
                self._synchronize()
        finally:
            self._ring.close()
            del self._step, self._streams

    def _capture(self, slot: CudaSlot, previous: CudaSlot) -> None:
        """Capture all that becomes of a frame that lies in `slot` and whose picture stays there.

        Such a graph has a stream of its own, so that one frame goes up and another comes down while a third
        is mapped. What orders them is that each waits for the mapping of the frame before: for the record of
        that event which was the last one when the graph is launched.
        """
        stream, enhance, hog = slot.stream, self._streams.enhance, self._streams.hog
        stream.begin_capture()
        slot.up.enqueue(stream)
        slot.uploaded.record(stream)
        enhance.wait_event(slot.uploaded)
        wait_outside(enhance, previous.mapped)
        self._step.map(slot, previous)
        record_outside(slot.mapped, enhance)
        slot.enhanced.record(enhance)
        stream.wait_event(slot.enhanced)
        slot.down.enqueue(stream)
        if self._step.describes:
            hog.wait_event(slot.enhanced)
            self._step.describe(slot)
            slot.described.record(hog)
            stream.wait_event(slot.described)
        if slot.down_described is not None:
            slot.down_described.enqueue(stream)
        slot.whole_graph = stream.end_capture()

    def _enqueue(self, previous: CudaSlot, slot: CudaSlot, ticket: InFlightFrame) -> None:
        settled = _settle(slot, ticket)
        if settled and slot.whole_graph is not None and ticket.plain:
            slot.whole_graph.launch(slot.stream)
            slot.done.record(slot.stream)
            return
        self._upload(slot, ticket, settled)
        self._map(previous, slot, ticket)
        if self._step.describes:
            self._describe(slot, ticket)
        self._download(slot, ticket)

    def _upload(self, slot: CudaSlot, ticket: InFlightFrame, settled: bool) -> None:
        upload, planes = self._streams.upload, ticket.frame.planes
        if not settled:
            _wait_for_owners(upload, planes)
        with slot.clock.around(Stage.UPLOAD, upload, ticket.timed):
            if settled:
                (slot.up_luma if ticket.in_place else slot.up).enqueue(upload)
            else:
                count = 1 if ticket.in_place else len(planes)
                transfer.copy_planes(upload, planes[:count], slot.incoming[:count])
        slot.uploaded.record(upload)

    def _map(self, previous: CudaSlot, slot: CudaSlot, ticket: InFlightFrame) -> None:
        enhance = self._streams.enhance
        enhance.wait_event(slot.uploaded)
        enhance.wait_event(previous.mapped)
        if self.config.graph and ticket.steady:
            slot.map_graphs[ticket.timed].launch(enhance)
        else:
            self._step.map(slot, previous, ticket.own, ticket.carried, ticket.timed)
        slot.mapped.record(enhance)
        slot.enhanced.record(enhance)

    def _describe(self, slot: CudaSlot, ticket: InFlightFrame) -> None:
        hog = self._streams.hog
        hog.wait_event(slot.enhanced)
        if self.config.graph:
            slot.describe_graphs[ticket.timed].launch(hog)
        else:
            self._step.describe(slot, ticket.timed)
        slot.described.record(hog)

    def _download(self, slot: CudaSlot, ticket: InFlightFrame) -> None:
        """The picture goes down while it is described."""
        download, clock, timed = self._streams.download, slot.clock, ticket.timed
        download.wait_event(slot.enhanced)
        with clock.around(Stage.DOWNLOAD, download, timed):
            if ticket.direct and ticket.out is not None:
                _wait_for_owners(download, ticket.out.planes)
                count = 1 if ticket.in_place else len(slot.planes)
                transfer.copy_planes(download, slot.planes[:count], ticket.out.planes[:count])
                slot.down_rest.enqueue(download)
            else:
                (slot.down_picture if ticket.in_place else slot.down).enqueue(download)
        if self._step.describes:
            download.wait_event(slot.described)
        if slot.down_described is not None:
            with clock.around(Stage.DOWNLOAD, download, timed, part=1):
                slot.down_described.enqueue(download)
        slot.done.record(download)

    def _ticket(self, frame: Frame, out: Frame | None) -> InFlightFrame:
        kind, age = self._planned.next
        timed = self._ring.submitted % self.config.timing_every == 0
        direct = out is not None and all(map(accessible_from_gpu, out.planes))
        in_place = out is not None and self._stays and shares_chroma(frame, out)
        return InFlightFrame(frame, out, direct, in_place, kind, age, timed)

    def _outcome(self, slot: CudaSlot) -> Enhanced:
        """What a finished slot holds. Raises FrameError for a frame that is refused."""
        ticket = slot.ticket
        assert ticket is not None
        beyond, highest = map(int, slot.host.get("beyond", (0, 0)))
        if beyond and not self.options.clamp:
            if not self.in_flight:
                self._planned.copy_from(self._told)
            raise above_bit_depth(self.geometry, highest)
        kind, age = self._told.advance(ticket.frame.corrupt)
        if kind is LutKind.OWN and not ticket.own:
            kind, age = ticket.lut_kind, ticket.lut_age  # it was behind a refused first frame
        self._sequence += 1
        return build_result(slot, self.options, self._sequence - 1, (kind, age), beyond)

    def _synchronize(self) -> None:
        """Wait for all work on the streams of the lane."""
        self._streams.synchronize()
        for slot in self._ring.slots:
            slot.stream.synchronize()


def _chroma_stays(geometry: Geometry, options: Options) -> bool:
    """Whether the planes beside the luma come out as they went in."""
    scope = plan_frame(geometry, options)
    return not (scope.turns or scope.gains) and len(geometry.plane_shapes) > 1


def _wait_for_owners(stream: Any, planes: Planes) -> None:
    """Let `stream` wait for what the caller has enqueued on the devices where planes lie."""
    for plane in filter(transfer.on_device, planes):
        with plane.device:
            stream.wait_event(cupy.cuda.get_current_stream().record())


def _settle(slot: CudaSlot, ticket: InFlightFrame) -> bool:
    """Whether the frame lies in the slot's input: born there, or moved, for the GPU cannot read it itself."""
    frame, born = ticket.frame, slot.input
    if frame.pixels is born.pixels and frame.chroma is born.chroma:
        return True
    if all(map(accessible_from_gpu, frame.planes)):
        return False
    _move(frame.planes, born.planes, ticket.in_place)
    return True


def _move(planes: Planes, targets: Planes, luma_alone: bool) -> None:
    """Copy planes to where the GPU can read them."""
    for plane, target in list(zip(planes, targets, strict=True))[: 1 if luma_alone else None]:
        if plane is not target:
            target[...] = cupy.asnumpy(plane) if transfer.on_device(plane) else plane
