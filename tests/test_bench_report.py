"""Reports of `lumaflow bench` fit narrow terminals and are never cut in files."""

from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner

from lumaflow_service.bench import app
from lumaflow_service.bench.figure import Figure, Limit, Skipped
from lumaflow_service.bench.report import BenchReport

REASON = "CuPy is not installed; on a machine with an NVIDIA GPU install the extra that fits the driver"
SUBJECT = "1920x1080 gray8 on cuda:0, descriptors on the device"
REPORT = BenchReport(
    "lumaflow bench pipeline",
    {"cpu": "AMD EPYC 9654 (16 of 96 cores)", "gpu": "NVIDIA H200", "opencv-python-headless": "4.14.0.94"},
    (
        Figure.of(
            SUBJECT, "sustained", "frames/s", [23000.0, 23564.0, 23600.0], Limit("PCIe", 26000.0, 0.95)
        ),
        Figure.of(SUBJECT, "host: submit and collect, frame done", "s", [12e-6, 13e-6, 19e-6]),
        Figure("4096x4096 CLAHE", "slowest", "s", 30e-6, limit=Limit("the goal, 30 us", 30e-6, 1.0)),
        Skipped("4096x4096 CLAHE", "all", REASON),
    ),
)
VALUES = ("23564 frames/s", "23113..23593", "13 us", "12.2..17.8", "30 us")


def printed(width: int, *, terminal: bool) -> list[str]:
    """The lines of the report."""
    file = StringIO()
    REPORT.print(Console(file=file, width=width, force_terminal=terminal, color_system=None))
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_no_value_or_word_is_cut_on_a_terminal(width: int) -> None:
    lines = printed(width, terminal=True)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert all(value in text for value in VALUES)
    assert "…" not in text
    words = text.split()
    for expected in (REASON, SUBJECT, "0.91 of PCIe, under 0.95", "opencv-python-headless 4.14.0.94"):
        assert set(expected.split()) <= {word.rstrip(";") for word in words} | set(words)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_lines_of_a_file_are_as_long_as_needed(width: int) -> None:
    lines = printed(width, terminal=False)
    assert lines == printed(200, terminal=False)
    (reason,) = (line for line in lines if REASON in line)
    assert reason.startswith("  all")
    (rate,) = (line for line in lines if "sustained" in line)
    assert rate.split() == [
        *("sustained", "23564", "frames/s", "23113..23593"),
        *("0.91", "of", "PCIe,", "under", "0.95"),
    ]


@pytest.mark.parametrize(("width", "lines_per_figure"), [(40, 3), (100, 1)])
def test_a_narrow_report_is_a_list_and_a_wide_one_a_table(width: int, lines_per_figure: int) -> None:
    lines = printed(width, terminal=True)
    start = next(number for number, line in enumerate(lines) if "sustained" in line)
    end = next(number for number, line in enumerate(lines) if "host: submit" in line)
    assert end - start == lines_per_figure


def test_columns_of_a_table_are_aligned() -> None:
    lines = printed(120, terminal=True)
    header = next(line for line in lines if "median" in line)
    rows = [line for line in lines if "frames/s" in line or "host: submit" in line or "slowest" in line]
    units = [next(unit for unit in ("frames/s", "13 us", "30 us") if unit in row) for row in rows]
    ends = {row.index(unit) + len(unit) for row, unit in zip(rows, units, strict=True)}
    assert ends == {header.index("median") + len("median")}


def test_the_old_names_of_commands_still_work_and_are_hidden() -> None:
    listing = CliRunner().invoke(app, ["--help"]).stdout
    for name, old in (("experiments", "seeds"), ("baselines", "peers")):
        assert f"  {name} " in listing
        assert f"  {old} " not in listing
        assert CliRunner().invoke(app, [old, "--help"]).exit_code == 0
