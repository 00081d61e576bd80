"""The figures of one benchmark: as text for a terminal or a file, and as JSON."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from lumaflow_service.bench.figure import Entry, Figure, Skipped

BYTES_PER_MIB = 1 << 20
SMALL_RATIO = 0.1  # smaller ratios are shown with two significant digits
MIN_NOTE_WIDTH = 24  # a table with a narrower last column is hard to read
HEADER = ("what", "median", "p10..p90", "against")


@dataclass(frozen=True, slots=True)
class BenchReport:
    """`title` is the command, `host` describes the machine (see `lumaflow_service.bench.host`)."""

    title: str
    host: Mapping[str, str]
    figures: tuple[Entry, ...]

    def print(self, console: Console) -> None:
        """Print the report: as wide as needed to a file or pipe, within the width of a terminal."""
        for line in self.lines(console.width if console.is_terminal else None):
            console.print(line, soft_wrap=True, highlight=False)

    def lines(self, width: int | None) -> Iterator[Text]:
        """Yield the lines of the report. Figures are never cut; other text wraps at words.

        width : columns, or None for lines of any length. A table that is wider becomes a list
        """
        yield Text(self.title, "bold")
        host = "; ".join(f"{name} {value}" for name, value in self.host.items())
        yield from (Text(line, "dim") for line in _wrapped(host, width))
        rows = [_row(figure) for figure in self.figures]
        cells = zip(HEADER, *(row.cells for row in rows), strict=True)
        widths = tuple(max(map(len, column)) for column in cells)
        fits = width is None or sum(widths[:3]) + 8 + min(MIN_NOTE_WIDTH, widths[3]) <= width
        if fits:
            yield Text("")
            yield from _table_lines(_Row(*HEADER), widths, width)
            yield Text("-" * min(sum(widths) + 8, width or 1 << 16))
        for subject, group in groupby(zip(self.figures, rows, strict=True), lambda pair: pair[0].subject):
            yield Text("")
            yield from (Text(line, "bold") for line in _wrapped(subject, width))
            for _, row in group:
                yield from _table_lines(row, widths, width) if fits else _list_lines(row, width)

    def write(self, path: Path) -> None:
        """Save as JSON: title, host, figures."""
        figures = [figure.as_json() for figure in self.figures]
        text = json.dumps({"title": self.title, "host": dict(self.host), "figures": figures}, indent=2)
        path.write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Row:
    """The cells of one figure; `missed` if it does not reach its goal."""

    name: str
    median: str
    spread: str
    note: str
    missed: bool = False

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return self.name, self.median, self.spread, self.note


def _table_lines(row: _Row, widths: tuple[int, ...], width: int | None) -> Iterator[Text]:
    start = f"  {row.name:<{widths[0]}}  {row.median:>{widths[1]}}  {row.spread:>{widths[2]}}  "
    for note in _wrapped(row.note, None if width is None else width - len(start)):
        yield Text.assemble(start, (note, "red" if row.missed else "")) if note else Text(start.rstrip())
        start = " " * len(start)


def _list_lines(row: _Row, width: int | None) -> Iterator[Text]:
    spread = f"({row.spread})" if row.spread else ""
    figure = " ".join(filter(None, (row.median, spread))).replace(" ", "\xa0")  # one word: never broken
    yield from (Text(line) for line in _wrapped(row.name, width, "  "))
    for line in _wrapped(", ".join(filter(None, (figure, row.note))), width, "    "):
        yield Text(line.replace("\xa0", " "), "red" if row.missed else "")


def _wrapped(text: str, width: int | None, indent: str = "") -> list[str]:
    if width is None:
        return [indent + text]
    options = {"initial_indent": indent, "subsequent_indent": indent}
    return wrap(text, width, **options, break_long_words=False, break_on_hyphens=False) or [""]  # type: ignore[arg-type]


def _row(figure: Entry) -> _Row:
    if isinstance(figure, Skipped):
        return _Row(figure.name, "", "", f"left out: {figure.reason}")
    scale, unit = _scale(figure)
    median = f"{_digits(figure.median * scale)} {unit}".rstrip()
    spread = ""
    if figure.p10 is not None and figure.p90 is not None:
        spread = f"{_digits(figure.p10 * scale)}..{_digits(figure.p90 * scale)}"
    return _Row(figure.name, median, spread, _comparison(figure), figure.goal_reached is False)


def _comparison(figure: Figure) -> str:
    if figure.limit is None or figure.ratio is None:
        return ""
    ratio = f"{figure.ratio:.2f}" if not 0 < figure.ratio < SMALL_RATIO else f"{figure.ratio:.2g}"
    comparison = f"{ratio} of {figure.limit.name}"
    missed = "over" if figure.less_is_better else "under"
    return f"{comparison}, {missed} {figure.limit.goal:g}" if figure.goal_reached is False else comparison


def _scale(figure: Figure) -> tuple[float, str]:
    if figure.unit == "bytes":
        return 1 / BYTES_PER_MIB, "MiB"
    if figure.unit != "s":
        return 1.0, figure.unit
    return (1e6, "us") if figure.median < 1e-3 else (1e3, "ms")


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
