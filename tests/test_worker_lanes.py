"""The lanes of a worker and its errors."""

import numpy as np
import pytest

from lumaflow import DeviceError, DeviceMemoryError, Frame, Geometry, PixelFormat
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.errors import WorkerUnavailableError
from lumaflow_service.worker.lanes import Lanes
from lumaflow_service.worker.worker import public_error

GEOMETRY = Geometry(64, 48, PixelFormat.GRAY8)
OPTIONS = SourceOptions().model_dump(mode="json")


def test_a_lane_with_a_frame_in_flight_after_an_error_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes = Lanes("cpu", 4, 60.0)
    frame, out = Frame.empty(GEOMETRY), Frame.empty(GEOMETRY)
    first = lanes.open("gate", GEOMETRY, OPTIONS)
    first.enhance(0, frame, out)
    assert lanes.open("gate", GEOMETRY, OPTIONS) is first

    def fail() -> None:
        raise DeviceError("CUDA refused while waiting for a frame")

    monkeypatch.setattr(first.lane, "collect", fail)
    with pytest.raises(DeviceError):
        first.enhance(1, frame, out)
    second = lanes.open("gate", GEOMETRY, OPTIONS)
    assert second is not first
    second.enhance(2, frame, out)
    assert second.reply_fields["lut"] == "own"


def test_a_memory_error_names_the_limit_to_raise() -> None:
    assert isinstance(public_error(np.exceptions.AxisError("other")), np.exceptions.AxisError)
    assert isinstance(public_error(MemoryError("9 GiB")), WorkerUnavailableError)
    full = DeviceMemoryError("no room on the GPU; close other lanes")
    assert public_error(full) is full
