"""All outputs of one camera."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from service.ingest.config import Output
from service.ingest.feed import AnyPacket, Feed
from service.ingest.redact import Redactor
from service.sinks.show import Show


class Outputs:
    """Passes pictures and sound to every output; none waits for another."""

    def __init__(self, outlets: Sequence[Any]) -> None:
        self._outlets = list(outlets)

    def __bool__(self) -> bool:
        return bool(self._outlets)

    @property
    def dropped(self) -> dict[str, int]:
        return {}

    def show(self, show: Show) -> None: ...

    def hear(self, feed: Feed, packet: AnyPacket, offset: Fraction) -> None: ...

    def note(self, live: bool) -> None: ...

    def states(self) -> list[dict[str, Any]]:
        return []

    def close(self, seconds: float) -> None: ...


def open_outputs(outputs: list[Output], folder: Path, redactor: Redactor) -> Outputs:
    return Outputs([])
