"""The progress bar on standard error."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from lumaflow_service.files.progress import ProgressBar, open_progress_bar


def test_every_call_advances_by_one_frame() -> None:
    progress = Progress(console=Console(file=io.StringIO()))
    on_frame = ProgressBar(progress).start("clip.mp4")
    on_frame(10)
    on_frame(10)
    (task,) = progress.tasks
    assert (task.description, task.completed, task.total) == ("clip.mp4", 2, 10)


def test_an_unknown_number_of_frames_has_no_total() -> None:
    progress = Progress(console=Console(file=io.StringIO()))
    ProgressBar(progress).start("clip.h264")(None)
    (task,) = progress.tasks
    assert (task.completed, task.total) == (1, None)


def test_the_next_file_replaces_the_bar_of_the_previous_one() -> None:
    progress = Progress(console=Console(file=io.StringIO()))
    bar = ProgressBar(progress)
    bar.start("a.mp4")
    bar.start("b.mp4")
    assert [task.description for task in progress.tasks] == ["b.mp4"]


def test_nothing_is_printed_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with open_progress_bar() as bar:
        bar.start("a.mp4")(1)
    assert capsys.readouterr() == ("", "")
