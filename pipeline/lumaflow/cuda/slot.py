"""A slot of a CUDA lane: buffers, events and graphs of one frame in flight."""

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from numpy.lib.stride_tricks import as_strided

from lumaflow.cuda.arrays import Spec, initial_luts, result_arrays
from lumaflow.cuda.frame_plan import FramePlan, plan_frame
from lumaflow.cuda.memory import ALIGN_PITCH_BYTES, DeviceBlock, PinnedBlock
from lumaflow.cuda.timing import StageEvents
from lumaflow.cuda.transfer import block_copy
from lumaflow.formats import Color
from lumaflow.frame import Frame, LutKind
from lumaflow.geometry import Geometry
from lumaflow.options import Options
from lumaflow.tables import hog_shape

FEATURE_ARRAYS = ("hog", "lbp", "lbp_labels")
"""Results that stay on the device with `LaneConfig.features_on_device`."""

LUT_ARRAYS = ("luts", "display_luts")
"""LUTs computed from a frame, which the next frame uses."""

DEVICE_ONLY = (*LUT_ARRAYS, "luma")
"""Arrays that are never downloaded."""

Planes = tuple[Any, ...]


@dataclass(slots=True)
class InFlightFrame:
    """The state on the host of a frame in flight.

    writes_out : the GPU writes directly to `out`
    shares_chroma : `out` has the same chroma memory as the frame, and chroma does not change
    timed : stage times are measured
    """

    frame: Frame
    out: Frame | None
    writes_out: bool
    shares_chroma: bool
    lut_kind: LutKind
    lut_age: int
    timed: bool

    @property
    def uses_own_lut(self) -> bool:
        """True if the frame is enhanced with its own LUT, so apply waits for the histogram."""
        return self.lut_kind is LutKind.OWN

    @property
    def keeps_lut(self) -> bool:
        """True if the next frame uses the same LUT again, because this frame is corrupt."""
        return self.frame.corrupt and self.lut_kind is LutKind.PREVIOUS

    @property
    def is_regular(self) -> bool:
        """True for the usual case, for which the step is captured as a graph."""
        return not (self.uses_own_lut or self.keeps_lut)

    @property
    def fits_frame_graph(self) -> bool:
        """True if the graph that includes the copies can be used, once the frame is in its slot."""
        return self.is_regular and self.out is None and not self.timed


class CudaSlot:
    """Buffers, events and graphs of one frame in flight.

    device_input : uploaded planes on the device; `input` is a frame over the same planes in pinned host
        memory
    raw : on the device, the oriented first plane, which is counted and mapped
    chroma : on the device, the other planes of the enhanced frame. They are stored between the first input
        plane and the enhanced plane, so the whole input and the whole output are one copy each, and unchanged
        chroma is not copied on the device
    arrays : on the device, by name. `enhanced`, `bins`, `applied` (the LUT used) and the features are
        downloaded to `host` together with the chroma; `luts`, computed from this frame, is read by the next
        frame

    Events: `uploaded`, `input_ready` (oriented), `lut_ready`, `enhanced`, `step_done` (enhanced and LUT
    ready), `luma_ready` (input of HOG and LBP), `lbp_ready`, `features_ready`, `done` (downloaded);
    `histogram_ready` in an adaptive mode and with smoothing, there also `mapping_ready`, here `cut_ready`.
    """

    def __init__(self, geometry: Geometry, options: Options, features_on_device: bool) -> None:
        plan = plan_frame(geometry, options)
        results = result_arrays(geometry, options)
        device_only = {name: results.pop(name) for name in DEVICE_ONLY if name in results}
        if features_on_device:
            device_only |= {name: results.pop(name) for name in FEATURE_ARRAYS if name in results}
        first, *chroma = _plane_specs(plan.oriented, "raw")
        output = dict([*chroma, ("enhanced", pitched(plan.output.shape, plan.output.dtype.type))])
        output |= {"applied": device_only["luts"], **results}
        inputs = dict(_plane_specs(geometry, "raw"))

        self._device_block = DeviceBlock(dict([first]) | output)
        self._device_input_block = DeviceBlock(inputs) if plan.is_reoriented else self._device_block
        self._host_input_block, self._host_output_block = PinnedBlock(inputs), PinnedBlock(output)
        self._device_only_block = DeviceBlock(device_only)

        self.device_input = _planes_of(self._device_input_block.arrays, geometry)
        self.input = _frame(_planes_of(self._host_input_block.arrays, geometry), geometry)
        self._name_arrays(plan, options, features_on_device)
        for name, lut in initial_luts(geometry, options).items():
            self.arrays[name][...] = cupy.asarray(lut)

        self._plan_copies(output)
        self.uploaded, self.input_ready, self.lut_ready, self.step_done, self.enhanced = _events(5)
        self.luma_ready, self.lbp_ready, self.features_ready, self.done = _events(4)
        self.histogram_ready, self.mapping_ready, self.cut_ready = _events(3)
        self.stage_events = StageEvents()
        # Graphs of the two halves of the step, by `timed`; and of the whole frame with its copies.
        self.enhance_graphs: dict[bool, Any] = {}
        self.features_graphs: dict[bool, Any] = {}
        self.frame_graph: Any = None
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.in_flight: InFlightFrame | None = None

    def _plan_copies(self, output: Spec) -> None:
        upload = self._host_input_block, self._device_input_block
        download = self._device_block, self._host_output_block
        self.upload = block_copy(*upload)
        self.upload_luma = block_copy(*upload, end="chroma") if len(self.device_input) > 1 else self.upload
        first_feature = next((name for name in FEATURE_ARRAYS if name in output), None)
        self.download, self.download_without_chroma, self.download_without_pixels = (
            block_copy(*download, first, first_feature)
            for first in (next(iter(output)), "enhanced", "applied")
        )
        self.download_features = block_copy(*download, first_feature) if first_feature else None

    def _name_arrays(self, plan: FramePlan, options: Options, features_on_device: bool) -> None:
        oriented, output = plan.oriented, plan.output
        oriented_planes = _planes_of(self._device_block.arrays, oriented)
        # A vertical flip of the first plane is a view with a negative pitch.
        self.raw = self.device_input[0][::-1] if plan.reverses_rows else oriented_planes[0]
        self.chroma = oriented_planes[1:]
        self.arrays = {**self._device_block.arrays, **self._device_only_block.arrays}
        self.arrays["enhanced"] = rows_of(self.arrays["enhanced"], output.shape)
        self.host: dict[str, Any] = dict(self._host_output_block.arrays)
        self.host["enhanced"] = rows_of(self.host["enhanced"], output.shape)
        self.output = _frame(
            (self.host["enhanced"], *_planes_of(self._host_output_block.arrays, oriented, first=1)), output
        )
        if options.hog is not None:
            self.host.setdefault("hog", np.empty(hog_shape(output, options.hog.layout), np.float32))
        if features_on_device:
            on_device = self._device_only_block.arrays
            self.host |= {name: self.arrays[name] for name in FEATURE_ARRAYS if name in on_device}

    @property
    def planes(self) -> Planes:
        """The enhanced planes on the device."""
        return (self.arrays["enhanced"], *self.chroma)


def _events(number: int) -> list[Any]:
    return [cupy.cuda.Event(disable_timing=True) for _ in range(number)]


def pitched(shape: tuple[int, ...], dtype: type[np.generic]) -> tuple[tuple[int, int], type[np.generic]]:
    """Shape (rows, samples per row) and dtype of a plane whose rows are aligned for vector loads."""
    row_bytes = int(np.prod(shape[1:])) * np.dtype(dtype).itemsize
    pitch = -(-row_bytes // ALIGN_PITCH_BYTES) * ALIGN_PITCH_BYTES
    return (shape[0], pitch // np.dtype(dtype).itemsize), dtype


def rows_of(memory: Any, shape: tuple[int, ...]) -> Any:
    """A view of this shape on pitched memory (NumPy or CuPy)."""
    view = as_strided if isinstance(memory, np.ndarray) else cupy.lib.stride_tricks.as_strided
    pitch, size = memory.strides
    pixel = (size,) if len(shape) == 2 else (shape[2] * size, size)
    return view(memory, shape, (pitch, *pixel))


def _plane_specs(geometry: Geometry, first: str) -> list[tuple[str, Any]]:
    names = (first, "chroma", "chroma_2")
    specs = [pitched(shape, geometry.dtype.type) for shape in geometry.plane_shapes]
    return list(zip(names, specs, strict=False))


def _planes_of(arrays: dict[str, Any], geometry: Geometry, first: int = 0) -> Planes:
    """The planes of a frame, from index `first` on, in a block with the arrays of `_plane_specs`."""
    names = [name for name, _ in _plane_specs(geometry, "raw")]
    return tuple(
        rows_of(arrays[name], shape)
        for name, shape in list(zip(names, geometry.plane_shapes, strict=True))[first:]
    )


def _frame(planes: Planes, geometry: Geometry) -> Frame:
    return Frame(
        planes[0],
        geometry.pixel_format,
        chroma=planes[1:],
        color=Color(geometry.range),
        alignment=geometry.alignment,
        width=geometry.width,
    )
