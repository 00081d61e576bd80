"""What became of a file."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class FileResult:
    """One finished file: its frames, their size, and what the user should know about it."""

    target: Path
    width: int
    height: int
    frames: int = 0
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Remember a note once."""
        if text not in self.notes:
            self.notes.append(text)
