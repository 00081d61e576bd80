"""Snapshots, descriptors and the `no signal` frame."""

import base64
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from lumaflow.frame import Frame
from lumaflow_service.camera.outputs.descriptors import DescriptorFiles, array_json
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


def test_a_snapshot_appears_only_when_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    visible: list[list[str]] = []
    write_bytes = Path.write_bytes

    def write_half(path: Path, data: bytes) -> int:
        """List what a viewer of the folder finds after half of the file, then write the whole."""
        write_bytes(path, data[: len(data) // 2])
        visible.append([name for name in os.listdir(path.parent) if not name.startswith(".")])
        return write_bytes(path, data)

    monkeypatch.setattr(Path, "write_bytes", write_half)
    sink = Snapshots(SnapshotConfig(path="s", every_seconds=1, keep_free_gb=0), tmp_path)
    sink.write(output_frame(0))
    assert visible == [[]]
    assert os.listdir(tmp_path / "s") == ["20270115T080000000Z.jpg"]


def test_a_snapshot_that_cannot_be_written_leaves_no_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, data: bytes) -> int:
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    sink = Snapshots(SnapshotConfig(path="s", every_seconds=1, keep_free_gb=0), tmp_path)
    with pytest.raises(OSError, match="No space left"):
        sink.write(output_frame(0))
    assert [name for name in os.listdir(tmp_path / "s") if name.endswith(".jpg") and name[0] != "."] == []


def test_a_failed_snapshot_is_tried_again_with_the_next_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = Snapshots(SnapshotConfig(path="s", every_seconds=60, keep_free_gb=0), tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            sink.write(output_frame(0))
    assert sink.write(output_frame(1))
    assert not sink.write(output_frame(2))


def line_files(folder: Path, seconds: list[float]) -> dict[str, list[int]]:
    """The frame numbers in each file of JSON lines, for frames at these times."""
    data, _ = descriptors_npz()
    sink = DescriptorFiles(DescriptorsConfig(path="d", format="jsonl", keep_free_gb=0), folder, "gate")
    for n, second in enumerate(seconds):
        sink.write(output_frame(n, wall=WALL + second, descriptors=data))
    sink.close()
    return {
        path.name: [json.loads(line)["sequence"] for line in path.read_text().splitlines()]
        for path in sorted((folder / "d").iterdir())
    }


def test_descriptor_lines_begin_a_new_file_every_hour(tmp_path: Path) -> None:
    assert line_files(tmp_path, [0, 3599.9, 3600, 7199, 7200, 20_000]) == {
        "20270115T080000000Z.jsonl": [0, 1],
        "20270115T090000000Z.jsonl": [2, 3],
        "20270115T100000000Z.jsonl": [4],
        "20270115T133320000Z.jsonl": [5],
    }


def test_descriptor_lines_begin_a_new_file_when_the_clock_goes_back(tmp_path: Path) -> None:
    assert line_files(tmp_path, [0, 60, -60]) == {
        "20270115T075900000Z.jsonl": [2],
        "20270115T080000000Z.jsonl": [0, 1],
    }


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<u2", ">u2", "|u1"])
def test_arrays_in_json_are_little_endian_and_in_row_order(dtype: str) -> None:
    array = np.arange(6, dtype=dtype).reshape(2, 3)
    found = array_json(np.asfortranarray(array))
    assert found["dtype"] == dtype.replace(">", "<")
    assert found["shape"] == [2, 3]
    data = np.frombuffer(base64.b64decode(found["base64"]), found["dtype"])
    assert data.tolist() == list(range(6))
