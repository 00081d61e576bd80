"""The CUDA lane: uploads frame N and counts it, and meanwhile shows it through the mapping of frame N-1."""

from dataclasses import replace
from types import TracebackType
from typing import Self

import cupy
import numpy as np
from numpy.typing import NDArray

from pipeline.cuda import transfer
from pipeline.cuda.faults import translated
from pipeline.cuda.memory import is_pinned
from pipeline.cuda.ring import Ring, Slot, Ticket
from pipeline.cuda.step import Step
from pipeline.cuda.streams import Streams
from pipeline.errors import DeviceError, StateError
from pipeline.formats import PixelFormat
from pipeline.frame import Enhanced, Frame, Geometry, HeatMap
from pipeline.lane import check_frame, output_geometry
from pipeline.options import Mode, Options, Orientation, Output
from pipeline.stage import Stage
from pipeline.succession import Succession


class CudaLane:
    """A lane on one GPU; `submit` only enqueues, `collect` waits for the oldest frame.

    A step is captured once a slot as a CUDA graph and replayed. Copies stay outside the graph, since the
    host side of a frame may lie in any page-locked memory; so do the rare frames that are mapped by their own
    LUT or are corrupt. Enhanced pixels go straight to a page-locked `out`; any other is filled by `collect`.
    """

    def __init__(self, index: int, geometry: Geometry, options: Options) -> None:
        self.device = f"cuda:{index}"
        self.geometry = geometry
        self.output = output_geometry(geometry, options)
        self.options = options
        _check_supported(geometry, options)
        self._device = cupy.cuda.Device(index)
        with translated(f"opening a lane for {geometry}"), self._device:
            self._streams = Streams()
            self._step = Step(geometry, options, self._streams)
            self._ring: Ring | None = Ring(geometry, options)
            self._succession = Succession(options.equalization.mode)
            cupy.cuda.Stream.null.synchronize()  # the lane's streams do not wait for what cleared its memory
            if options.graph:
                self._step.capture(self._ring)

    @property
    def in_flight(self) -> int:
        """Frames submitted and not yet collected, at most `options.slots`."""
        return self._ring.submitted - self._ring.collected if self._ring else 0

    def next_input(self) -> Frame:
        """A frame in the page-locked input of the slot that the next `submit` takes."""
        return Frame(self._open_ring().next().input, self.geometry.pixel_format)

    def submit(self, frame: Frame, out: Frame | None = None) -> None:
        """Enqueue one frame; nothing is waited for. Raises FrameError, StateError, DeviceError."""
        ring = self._open_ring()
        if self.in_flight == self.options.slots:
            raise StateError(f"all {self.options.slots} slots are in flight; collect a frame first")
        check_frame(self.geometry, frame, self.output, out)
        with translated("enqueuing a frame"):
            self._device.use()
            slot = ring.next()
            slot.ticket = self._ticket(ring, frame, None if out is None else out.pixels)
            self._upload(slot, slot.ticket)
            self._compute(ring, slot, slot.ticket)
            self._download(slot, slot.ticket)
        ring.submitted += 1

    def collect(self) -> Enhanced:
        """Wait for the oldest frame in flight; its arrays are valid until the next `submit`."""
        ring = self._open_ring()
        if not self.in_flight:
            raise StateError("nothing is in flight; submit a frame before you collect one")
        slot = ring.oldest()
        with translated("waiting for a frame"):
            self._device.use()
            slot.done.synchronize()
            enhanced = _outcome(slot, self.options)
        ring.collected += 1
        return enhanced

    def close(self) -> None:
        """Give all memory back; frames in flight are lost. Closing twice is harmless."""
        if self._ring is None:
            return
        with translated("closing a lane"), self._device:
            self._streams.synchronize()
            self._ring = None
            del self._step, self._streams

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _upload(self, slot: Slot, ticket: Ticket) -> None:
        pixels = ticket.frame.pixels
        if pixels is not slot.input and not is_pinned(pixels):
            np.copyto(slot.input, pixels)
            pixels = slot.input
        with slot.clock.around(Stage.UPLOAD, self._streams.upload, ticket.timed):
            transfer.upload(self._streams.upload, pixels, slot.raw)
        slot.uploaded.record(self._streams.upload)

    def _compute(self, ring: Ring, slot: Slot, ticket: Ticket) -> None:
        enhance = self._streams.enhance
        enhance.wait_event(slot.uploaded)
        if self.options.graph and not (ticket.own or ticket.carried):
            slot.graphs[ticket.timed].launch(enhance)
        else:
            self._step.run(slot, ring.before(slot), ticket.own, ticket.carried, ticket.timed)
        slot.enhanced.record(enhance)

    def _download(self, slot: Slot, ticket: Ticket) -> None:
        download = self._streams.download
        download.wait_event(slot.enhanced)
        with slot.clock.around(Stage.DOWNLOAD, download, ticket.timed):
            if ticket.direct_out is not None:
                transfer.download(download, slot.arrays["enhanced"], ticket.direct_out)
                transfer.download_block(download, slot.device_outcome, slot.host_outcome, "applied")
            else:
                transfer.download_block(download, slot.device_outcome, slot.host_outcome, "enhanced")
        slot.done.record(download)

    def _ticket(self, ring: Ring, frame: Frame, out: NDArray[np.uint8] | None) -> Ticket:
        kind, age = self._succession.advance(frame.corrupt)
        timed = ring.submitted % self.options.timing_every == 0
        direct_out = out if out is not None and is_pinned(out) else None
        return Ticket(frame, out, direct_out, ring.submitted, kind, age, timed)

    def _open_ring(self) -> Ring:
        if self._ring is None:
            raise StateError("the lane is closed; open another one")
        return self._ring


def _check_supported(geometry: Geometry, options: Options) -> None:
    plain = replace(options, output=Output.SAME, orientation=Orientation.NONE, region=None)
    known = geometry.pixel_format in (PixelFormat.GRAY8, PixelFormat.BGR24) and not geometry.limited
    if not known or plain != options or options.equalization.mode is Mode.STRETCH:
        raise DeviceError(f"{geometry} with {options} does not run on CUDA yet; open the lane on cpu")


def _outcome(slot: Slot, options: Options) -> Enhanced:
    """What a finished slot holds, as the host sees it."""
    ticket = slot.ticket
    assert ticket is not None
    host = slot.host | {name: slot.arrays[name] for name in slot.kept.arrays}
    pixels = host["enhanced"] if ticket.out is None else ticket.out
    if ticket.out is not None and ticket.direct_out is None:
        np.copyto(ticket.out, host["enhanced"])
    frame = ticket.frame
    return Enhanced(
        frame.shown(Frame(pixels, frame.pixel_format)),
        ticket.sequence,
        ticket.lut_kind,
        ticket.lut_age,
        host["bins"],
        host["applied"],
        slot.clock.read() if ticket.timed else {},
        HeatMap(host["deviation"], host["distance"]) if options.heatmap else None,
        host.get("hog"),
        host.get("lbp"),
        host.get("lbp_labels"),
    )
