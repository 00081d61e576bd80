"""A progress bar on standard error, only in a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

FrameCallback = Callable[[int | None], None]
"""Called after every frame with the expected number of frames, None when the file does not tell it."""


class _FrameRate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0.0:.0f} {task.fields['unit']}/s")


class ProgressBar:
    """The progress of one file at a time, or of many files."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def start(self, name: str, unit: str = "frames") -> FrameCallback:
        """Begin a task; the returned function counts one `unit` of it."""
        for task in self._progress.task_ids:
            self._progress.remove_task(task)
        current = self._progress.add_task(name, total=None, unit=unit)

        def advance(expected: int | None) -> None:
            self._progress.update(current, advance=1, total=expected)

        return advance


@contextmanager
def open_progress_bar() -> Iterator[ProgressBar]:
    """A bar that disappears at the end; invisible when standard error is not a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _FrameRate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield ProgressBar(progress)
