"""Descriptors of frames, every one or one every so often: npz files, or lines of JSON in a file an hour."""

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
    """Writes to one folder. Each record says which frame it is of, and how that was enhanced."""

    def __init__(self, how: DescriptorsConfig, folder: Path, name: str) -> None:
        self._how = how
        self._name = name
        self._shelf = RetentionFolder(how, folder)
        self._lines: IO[str] | None = None
        self._began = 0.0
        self._due: float | None = None

    @property
    def note(self) -> str:
        """Nothing is left out."""
        return ""

    @property
    def free_bytes(self) -> int | None:
        """What is free on its disk."""
        return self._shelf.free_bytes

    def begin(self, kind: AudioFormat | None) -> None:
        """Sound has no descriptors."""

    def write(self, show: OutputFrame) -> bool:
        """Keep the descriptors of this frame if it is time; the stand-in for a lost camera has none."""
        if not show.described or (self._due is not None and show.arrived < self._due):
            return False
        with np.load(io.BytesIO(show.described)) as arrays:
            wanted = {name: arrays[name] for name in arrays.files}
        if self._how.format == "npz":
            self._write_npz(show, wanted)
        else:
            self._write_line(show, wanted)
        self._due = show.arrived + self._how.every_seconds
        return True

    def _write_npz(self, show: OutputFrame, arrays: dict[str, Any]) -> None:
        path = self._shelf.new(show.wall, ".npz")
        part = path.with_name(f".{path.name}")
        about = {name: np.asarray(value) for name, value in self._about(show).items()}
        part.write_bytes(pack_npz(arrays | about))
        part.rename(path)

    def _write_line(self, show: OutputFrame, arrays: dict[str, Any]) -> None:
        if self._lines is None or not 0 <= show.wall - self._began < FILE_SECONDS:
            self.close()
            self._lines = self._shelf.new(show.wall, ".jsonl").open("a", encoding="utf-8")
            self._began = show.wall
        record = {**self._about(show), **{name: _encoded(array) for name, array in arrays.items()}}
        self._lines.write(json.dumps(record, separators=(",", ":")) + "\n")
        self._lines.flush()

    def _about(self, show: OutputFrame) -> dict[str, Any]:
        return {
            "source": self._name,
            "sequence": show.sequence,
            "pts": show.pts,
            "time_base": str(show.time_base),
            "wall": show.wall,
            "lut_kind": show.lut,
            "epoch": show.epoch,
            "corrupt": show.corrupt,
        }

    def hear(self, sound: AudioPacket) -> None:
        """Sound has no descriptors."""

    def close(self) -> None:
        """Close the file of lines."""
        if self._lines is not None:
            lines, self._lines = self._lines, None
            lines.close()


def _encoded(array: Any) -> dict[str, Any]:
    """An array for JSON: its bytes, the least significant first, in base64."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    data = base64.b64encode(little.tobytes()).decode()
    return {"dtype": little.dtype.str, "shape": list(little.shape), "base64": data}
