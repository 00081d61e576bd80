"""The streams of a lane."""

from dataclasses import dataclass, field, fields
from typing import Any

import cupy


def _stream() -> Any:
    return cupy.cuda.Stream(non_blocking=True)


@dataclass(frozen=True, slots=True)
class Streams:
    """One stream for each row of the picture in the README; none of them waits for CuPy's default stream."""

    upload: Any = field(default_factory=_stream)
    histogram: Any = field(default_factory=_stream)
    enhance: Any = field(default_factory=_stream)
    hog: Any = field(default_factory=_stream)
    lbp: Any = field(default_factory=_stream)
    download: Any = field(default_factory=_stream)

    def synchronize(self) -> None:
        """Wait until all are idle."""
        for each in fields(self):
            getattr(self, each.name).synchronize()
