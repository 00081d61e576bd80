"""Writes descriptors of frames as npz files, or as JSON lines with one file per hour."""

import base64
import io
import json
from pathlib import Path
from typing import IO, Any

import numpy as np

from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.retention_folder import RetentionFolder
from lumaflow_service.config.model import DescriptorsConfig
from lumaflow_service.media.codec.npz import pack_npz

FILE_SECONDS = 3600


class DescriptorFiles:
    """An OutputSink. Each record holds the descriptors of a frame, its number and times, and its LUT kind."""

    note = ""

    def __init__(self, config: DescriptorsConfig, folder: Path, source: str) -> None:
        self._config = config
        self._source = source
        self._folder = RetentionFolder(config, folder)
        self._file: IO[str] | None = None
        self._file_started = 0.0
        self._next: float | None = None

    @property
    def free_bytes(self) -> int | None:
        """Free space of the disk."""
        return self._folder.free_bytes

    def set_audio_format(self, audio: AudioFormat | None) -> None:
        """Audio has no descriptors."""

    def write(self, frame: OutputFrame) -> bool:
        """Write the descriptors of a frame when they are due; a `no signal` picture has none."""
        if not frame.descriptors or (self._next is not None and frame.arrived < self._next):
            return False
        with np.load(io.BytesIO(frame.descriptors)) as npz:
            arrays = {name: npz[name] for name in npz.files}
        if self._config.format == "npz":
            self._write_npz(frame, arrays)
        else:
            self._write_line(frame, arrays)
        self._next = frame.arrived + self._config.every_seconds
        return True

    def _write_npz(self, frame: OutputFrame, arrays: dict[str, Any]) -> None:
        metadata = {name: np.asarray(value) for name, value in self._metadata(frame).items()}
        self._folder.write_file(frame.wall, ".npz", pack_npz(arrays | metadata))

    def _write_line(self, frame: OutputFrame, arrays: dict[str, Any]) -> None:
        if self._file is None or not 0 <= frame.wall - self._file_started < FILE_SECONDS:
            self.close()
            self._file = self._folder.new_path(frame.wall, ".jsonl").open("a", encoding="utf-8")
            self._file_started = frame.wall
        record = {**self._metadata(frame), **{name: array_json(array) for name, array in arrays.items()}}
        self._file.write(json.dumps(record, separators=(",", ":")) + "\n")
        self._file.flush()

    def _metadata(self, frame: OutputFrame) -> dict[str, Any]:
        return {
            "source": self._source,
            "sequence": frame.sequence,
            "pts": frame.pts,
            "time_base": str(frame.time_base),
            "wall": frame.wall,
            "lut_kind": frame.lut,
            "epoch": frame.epoch,
            "corrupt": frame.corrupt,
        }

    def write_audio(self, audio: AudioPacket) -> None:
        """Audio has no descriptors."""

    def close(self) -> None:
        """Close the file of JSON lines."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()


def array_json(array: Any) -> dict[str, Any]:
    """Return an array as JSON: dtype, shape, and its bytes (little-endian, C order) as base64."""
    little_endian = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    data = base64.b64encode(little_endian.tobytes()).decode()
    return {"dtype": little_endian.dtype.str, "shape": list(little_endian.shape), "base64": data}
