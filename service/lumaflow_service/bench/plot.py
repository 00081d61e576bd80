"""The figures of a report as bars, one panel a subject; needs matplotlib, of the extra `plot`."""

from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from lumaflow.errors import OptionError
from lumaflow_service.bench.figure import Figure
from lumaflow_service.bench.report import BenchReport

INCHES_A_BAR = 0.3
WIDTH_INCHES = 9.0
WIDE = 50  # times the shortest bar: where the longest is longer, the scale is logarithmic


def check_drawable() -> None:
    """Raise OptionError without matplotlib."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise OptionError(
            "--plot needs matplotlib; in the folder of lumaflow type: .venv/bin/pip install -e '.[plot]'"
        ) from error


def draw(report: BenchReport, path: Path) -> None:
    """Save a panel a subject, of the figures in the unit of its first one.

    Raises OptionError without matplotlib, or when nothing was measured.
    """
    check_drawable()
    from matplotlib.figure import Figure as Sheet

    measured = [figure for figure in report.figures if isinstance(figure, Figure)]
    if not measured:
        raise OptionError("nothing was measured, so there is nothing to plot: see why in the table")
    panels = [_same_unit(list(figures)) for _, figures in groupby(measured, attrgetter("subject"))]
    heights = [len(figures) + 3 for figures in panels]
    sheet = Sheet(figsize=(WIDTH_INCHES, INCHES_A_BAR * sum(heights)), layout="constrained")
    sheet.suptitle(report.title)
    axes = sheet.subplots(len(panels), 1, squeeze=False, height_ratios=heights)
    for axis, figures in zip(axes[:, 0], panels, strict=True):
        _draw_panel(axis, figures)
    sheet.savefig(path)


def _same_unit(figures: list[Figure]) -> list[Figure]:
    return [figure for figure in figures if figure.unit == figures[0].unit]


def _draw_panel(axis: Any, figures: list[Figure]) -> None:
    scale, unit = (1e6, "us") if figures[0].unit == "s" else (1.0, figures[0].unit)
    medians = [figure.median * scale for figure in figures]
    spreads = [
        [(f.median - (f.p10 if f.p10 is not None else f.median)) * scale for f in figures],
        [((f.p90 if f.p90 is not None else f.median) - f.median) * scale for f in figures],
    ]
    axis.barh([figure.name.strip() for figure in figures], medians, xerr=spreads, color="#4c78a8")
    limits = [(row, f.limit.value * scale) for row, f in enumerate(figures) if f.limit is not None]
    for row, limit in limits:
        axis.plot([limit, limit], [row - 0.4, row + 0.4], color="#e45756")  # what it is held against
    if max(medians) > WIDE * min(medians) > 0:
        axis.set_xscale("log")
    axis.invert_yaxis()
    axis.set_title(figures[0].subject, loc="left")
    axis.set_xlabel(unit)
