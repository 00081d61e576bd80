"""Builds the result of a finished slot; checks whether the GPU can access a buffer directly."""

from typing import Any

import cupy
import numpy as np

from lumaflow.cuda.memory import is_pinned
from lumaflow.cuda.slot import CudaSlot
from lumaflow.cuda.transfer import address_of, on_device
from lumaflow.frame import Enhanced, Frame, HeatMap, LutKind, ToneReport
from lumaflow.options import Options


def build_result(
    slot: CudaSlot,
    options: Options,
    sequence: int,
    lut: tuple[LutKind, int],
    clamped: int,
    tone: ToneReport | None,
) -> Enhanced:
    """The result of the frame in `slot`, with the enhanced planes in `out` if it was given.

    lut : kind and age of the LUT that was applied
    """
    in_flight = slot.in_flight
    assert in_flight is not None
    host = slot.host
    target = slot.output if in_flight.out is None else in_flight.out
    if not in_flight.writes_out and in_flight.out is not None:
        count = 1 if in_flight.shares_chroma else len(target.planes)
        for plane, source in list(zip(target.planes, slot.output.planes, strict=True))[:count]:
            plane[...] = cupy.asarray(source) if on_device(plane) else source
    return Enhanced(
        target.with_metadata_of(in_flight.frame),
        sequence,
        *lut,
        host["bins"],
        host["applied"],
        slot.stage_events.read() if in_flight.timed else {},
        HeatMap(host["deviation"], host["distance"]) if options.heatmap else None,
        host.get("hog"),
        host.get("lbp"),
        host.get("lbp_labels"),
        clamped,
        tone,
    )


def accessible_from_gpu(plane: Any) -> bool:
    """True if the GPU can copy a plane directly: device memory or pinned host memory."""
    return on_device(plane) or (isinstance(plane, np.ndarray) and is_pinned(plane))


def same_chroma(frame: Frame, out: Frame) -> bool:
    """True if both frames have their chroma in the same memory."""
    return all(
        address_of(plane) == address_of(target) and plane.strides == target.strides
        for plane, target in zip(frame.chroma, out.chroma, strict=True)
    )
