"""The result of one enhanced file."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class FileResult:
    """One enhanced file: number of frames, size in pixels, and warnings for the user."""

    target: Path
    width: int
    height: int
    frames: int = 0
    warnings: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        """Add a warning once."""
        if text not in self.warnings:
            self.warnings.append(text)
