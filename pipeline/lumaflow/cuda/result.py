"""What a finished slot holds, as the host sees it; and where frames lie that come and go."""

from typing import Any

import cupy
import numpy as np

from lumaflow.cuda.memory import is_pinned
from lumaflow.cuda.ring import CudaSlot
from lumaflow.cuda.transfer import address_of, on_device
from lumaflow.frame import Enhanced, Frame, HeatMap, LutKind
from lumaflow.options import Options


def build_result(
    slot: CudaSlot, options: Options, sequence: int, mapping: tuple[LutKind, int], beyond: int
) -> Enhanced:
    """The answer to the frame in `slot`, its picture in the `out` that was given."""
    ticket = slot.ticket
    assert ticket is not None
    host = slot.host
    shown = slot.output if ticket.out is None else ticket.out
    if not ticket.direct and ticket.out is not None:
        count = 1 if ticket.in_place else len(shown.planes)
        for plane, own in list(zip(shown.planes, slot.output.planes, strict=True))[:count]:
            plane[...] = cupy.asarray(own) if on_device(plane) else own
    return Enhanced(
        shown.with_metadata_of(ticket.frame),
        sequence,
        *mapping,
        host["bins"],
        host["applied"],
        slot.clock.read() if ticket.timed else {},
        HeatMap(host["deviation"], host["distance"]) if options.heatmap else None,
        host.get("hog"),
        host.get("lbp"),
        host.get("lbp_labels"),
        beyond,
    )


def accessible_from_gpu(plane: Any) -> bool:
    """Whether the GPU can copy a plane from or to where it lies, by itself."""
    return on_device(plane) or (isinstance(plane, np.ndarray) and is_pinned(plane))


def shares_chroma(frame: Frame, out: Frame) -> bool:
    """Whether the chroma of both is the same memory."""
    return all(
        address_of(one) == address_of(other) and one.strides == other.strides
        for one, other in zip(frame.chroma, out.chroma, strict=True)
    )
