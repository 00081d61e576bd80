"""Plots the figures of a report as bars, one panel per subject; needs matplotlib (extra `plot`)."""

from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from lumaflow.errors import OptionError
from lumaflow_service.bench.figure import Figure
from lumaflow_service.bench.report import BenchReport

INCHES_PER_BAR = 0.3
WIDTH_INCHES = 9.0
LOG_SCALE_RATIO = 50  # the scale is logarithmic if the longest bar is longer than this times the shortest


def check_drawable() -> None:
    """Raise OptionError if matplotlib is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise OptionError(
            "--plot needs matplotlib; in the folder of lumaflow type: .venv/bin/pip install -e '.[plot]'"
        ) from error


def draw(report: BenchReport, path: Path) -> None:
    """Save the plot: one panel per subject, with the figures that have the unit of its first figure.

    Raises OptionError if matplotlib is not installed or the report has no figures.
    """
    check_drawable()
    from matplotlib.figure import Figure as Sheet

    measured = [figure for figure in report.figures if isinstance(figure, Figure)]
    if not measured:
        raise OptionError("expected figures to plot, got none; the report says why each was left out")
    panels = [_same_unit(list(figures)) for _, figures in groupby(measured, attrgetter("subject"))]
    heights = [len(figures) + 3 for figures in panels]
    sheet = Sheet(figsize=(WIDTH_INCHES, INCHES_PER_BAR * sum(heights)), layout="constrained")
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
        axis.plot([limit, limit], [row - 0.4, row + 0.4], color="#e45756")  # the reference
    if max(medians) > LOG_SCALE_RATIO * min(medians) > 0:
        axis.set_xscale("log")
    axis.invert_yaxis()
    axis.set_title(figures[0].subject, loc="left")
    axis.set_xlabel(unit)
