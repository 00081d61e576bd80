"""Snapshots, descriptors and the `no signal` frame."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from lumaflow.frame import Frame
from lumaflow_service.camera.outputs.descriptors import DescriptorFiles
from lumaflow_service.camera.outputs.signal_lost import no_signal_frame
from lumaflow_service.camera.outputs.snapshot import Snapshots
from lumaflow_service.config.model import (
    DescriptorsConfig,
    SnapshotConfig,
)
from output_frames import WALL, output_frame


def test_a_snapshot_is_written_at_each_interval(tmp_path: Path) -> None:
    sink = Snapshots(SnapshotConfig(path="s", every_seconds=1, keep_free_gb=0), tmp_path)
    assert sum(sink.write(output_frame(n)) for n in range(51)) == 3
    names = sorted(path.name for path in (tmp_path / "s").iterdir())
    assert names == ["20270115T080000000Z.jpg", "20270115T080001000Z.jpg", "20270115T080002000Z.jpg"]


def descriptors_npz() -> tuple[bytes, np.ndarray]:
    """Return an npz file as a worker makes it, and the array in it."""
    file, lbp = io.BytesIO(), np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
    np.savez(file, lbp=lbp)
    return file.getvalue(), lbp


def test_npz_descriptors_hold_the_metadata_of_their_frame(tmp_path: Path) -> None:
    data, lbp = descriptors_npz()
    sink = DescriptorFiles(DescriptorsConfig(path="d", keep_free_gb=0), tmp_path, "gate")
    assert [sink.write(output_frame(7, descriptors=data)), sink.write(output_frame(8))] == [True, False]
    (path,) = (tmp_path / "d").iterdir()
    with np.load(path) as found:
        assert np.array_equal(found["lbp"], lbp)
        metadata = {name: found[name].item() for name in ("sequence", "pts", "time_base", "lut_kind")}
    assert metadata == {"sequence": 7, "pts": 25_200, "time_base": "1/90000", "lut_kind": "previous"}


@pytest.mark.parametrize("format_", ["npz", "jsonl"])
def test_descriptors_are_written_at_each_interval(tmp_path: Path, format_: str) -> None:
    data, _ = descriptors_npz()
    config = DescriptorsConfig(path="d", format=format_, every_seconds=1, keep_free_gb=0)
    sink = DescriptorFiles(config, tmp_path, "gate")
    assert [n for n in range(51) if sink.write(output_frame(n, descriptors=data))] == [0, 25, 50]
    sink.close()


def test_jsonl_descriptors_are_flushed_line_by_line(tmp_path: Path) -> None:
    import base64

    data, lbp = descriptors_npz()
    sink = DescriptorFiles(DescriptorsConfig(path="d", format="jsonl", keep_free_gb=0), tmp_path, "gate")
    for n in range(3):
        sink.write(output_frame(n, descriptors=data))
    (path,) = (tmp_path / "d").iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["source"], line["sequence"]) for line in lines] == [("gate", 0), ("gate", 1), ("gate", 2)]
    packed = lines[0]["lbp"]
    again = np.frombuffer(base64.b64decode(packed["base64"]), packed["dtype"]).reshape(packed["shape"])
    assert np.array_equal(again, lbp)
    sink.close()


def test_the_no_signal_frame_is_dimmed_and_has_a_text() -> None:
    for shape in ((120, 320, 3), (120, 320), (16, 16, 3)):
        frame = no_signal_frame(Frame.from_numpy(np.full(shape, 100, np.uint8)), WALL).pixels
        assert frame.shape == shape
        assert np.median(frame) == 35
        assert frame.max() > 150 or shape[0] == 16
