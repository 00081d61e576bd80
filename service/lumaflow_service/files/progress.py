"""A progress bar on standard error, only where a person sees it."""

from collections.abc import Iterator
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

from lumaflow_service.files.video import Step


class _Rate(ProgressColumn):
    """Frames a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0.0:.0f} frames/s")


class ProgressBar:
    """The bar of the file at hand."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def start(self, name: str) -> Step:
        """Begin a file; the returned call counts one frame of it."""
        for task in self._progress.task_ids:
            self._progress.remove_task(task)
        current = self._progress.add_task(name, total=None)

        def step(expected: int | None) -> None:
            self._progress.update(current, advance=1, total=expected)

        return step


@contextmanager
def open_meter() -> Iterator[ProgressBar]:
    """A bar that vanishes at the end; none when standard error is not a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield ProgressBar(progress)
