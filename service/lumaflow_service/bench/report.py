"""The figures of one benchmark, for a person as a table and for a machine as JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lumaflow_service.bench.figure import Entry, Figure, Skipped

BYTES_A_MIB = 1 << 20
SMALL = 0.1  # ratios below it are shown with two digits, however small


@dataclass(frozen=True, slots=True)
class BenchReport:
    """`title` says what was done, `host` on what (see `lumaflow_service.bench.host`)."""

    title: str
    host: Mapping[str, str]
    figures: tuple[Entry, ...]

    def print(self, console: Console) -> None:
        """The header, then one table with a section a subject."""
        console.print(f"[bold]{self.title}[/bold]")
        console.print(" · ".join(f"{name} {value}" for name, value in self.host.items()), style="dim")
        console.print(self.table())

    def table(self) -> Table:
        """One line a figure."""
        table = Table(box=SIMPLE_HEAD)
        table.add_column("what", no_wrap=True)
        table.add_column("median", justify="right", no_wrap=True)
        table.add_column("p10..p90", justify="right", no_wrap=True)
        table.add_column("against")
        for subject, figures in groupby(self.figures, attrgetter("subject")):
            table.add_section()
            table.add_row(f"[bold]{escape(subject)}[/bold]")
            for figure in figures:
                table.add_row(*_row(figure))
        return table

    def write(self, path: Path) -> None:
        """Save as JSON: title, host, figures."""
        figures = [figure.as_json() for figure in self.figures]
        text = json.dumps({"title": self.title, "host": dict(self.host), "figures": figures}, indent=2)
        path.write_text(text + "\n", encoding="utf-8")


def _row(figure: Entry) -> tuple[str, str, str, str]:
    name = f"  {escape(figure.name)}"
    if isinstance(figure, Skipped):
        return name, "", "", f"left out: {escape(figure.reason)}"
    scale, unit = _scale(figure)
    median = f"{_digits(figure.median * scale)} {unit}"
    spread = ""
    if figure.p10 is not None and figure.p90 is not None:
        spread = f"{_digits(figure.p10 * scale)}..{_digits(figure.p90 * scale)}"
    return name, median, spread, _against(figure)


def _against(figure: Figure) -> str:
    if figure.limit is None or figure.ratio is None:
        return ""
    ratio = f"{figure.ratio:.2f}" if not 0 < figure.ratio < SMALL else f"{figure.ratio:.2g}"
    words = f"{ratio} of {figure.limit.name}"
    missed = "over" if figure.less_is_better else "under"
    return f"[red]{words}, {missed} {figure.limit.goal:g}[/red]" if figure.met is False else words


def _scale(figure: Figure) -> tuple[float, str]:
    if figure.unit == "bytes":
        return 1 / BYTES_A_MIB, "MiB"
    if figure.unit != "s":
        return 1.0, figure.unit
    return (1e6, "us") if figure.median < 1e-3 else (1e3, "ms")


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
