"""Mean scores by category and method, and the goals reached, as Markdown and as JSON."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lumaflow_service.bench.quality.evaluation import Evaluation
from lumaflow_service.bench.quality.goals import measure_goals
from lumaflow_service.bench.quality.model import Category, Method
from lumaflow_service.bench.quality.scores import Scores

COLUMNS = {
    "psnr": ("PSNR Y, dB", 2),
    "ssim": ("SSIM", 3),
    "ciede2000": ("CIEDE2000", 2),
    "loe": ("LOE", 0),
    "ambe": ("AMBE", 1),
    "hue": ("hue, deg", 1),
    "noise_gain": ("noise x", 2),
    "halo": ("halo", 1),
    "flicker": ("flicker", 2),
    "flicker_ratio": ("flicker x", 2),
    "mean": ("mean", 0),
}
"""Heading and decimals of each score, in the order of the columns."""
MAX_PSNR_DB = 100.0
"""The PSNR of identical images in means."""


@dataclass(frozen=True, slots=True)
class QualityReport:
    """All scores of a run, and the methods that could not run, with the reason."""

    folder: str
    rows: tuple[tuple[str, Category, str, Scores], ...]
    skipped: Mapping[str, str]

    def means(self) -> dict[Category, dict[str, Scores]]:
        """Mean scores by category and method; an input without a score does not count in its mean."""
        sums: dict[Category, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(dict))
        for _, category, method, scores in self.rows:
            for name, value in scores.items():
                if value is not None:
                    sums[category][method].setdefault(name, []).append(
                        min(value, MAX_PSNR_DB) if name == "psnr" else value
                    )
        return {
            category: {
                method: {name: math.fsum(values) / len(values) for name, values in scores.items()}
                for method, scores in sums[category].items()
            }
            for category in Category
            if category in sums
        }

    def markdown(self) -> str:
        """One table per category."""
        parts = [
            f"# Quality of {self.folder}\n",
            *(f"{name}: skipped: {reason}\n" for name, reason in self.skipped.items()),
        ]
        for category, by_method in self.means().items():
            count = len({name for name, its_category, _, _ in self.rows if its_category is category})
            parts += [f"\n## {category} ({count})\n", *_table(by_method)]
        parts += ["\n## Goals\n", *self._goals()]
        return "\n".join(parts) + "\n"

    def _goals(self) -> list[str]:
        lines = [_table_row(["goal", "reached by"]), _table_row(["---", "---:"])]
        results = measure_goals(self.rows)
        return lines + [_table_row([one.text, f"{one.reached} of {one.inputs}"]) for one in results]

    def write(self, path: Path) -> None:
        """Save as JSON: the goals and means, then the scores of each input. An infinite PSNR is null."""
        rows = [
            {"input": name, "category": category, "method": method, **_finite_scores(scores)}
            for name, category, method, scores in self.rows
        ]
        content = {
            "folder": self.folder,
            "skipped": dict(self.skipped),
            "goals": [asdict(result) for result in measure_goals(self.rows)],
            "means": self.means(),
            "rows": rows,
        }
        path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def collect(folder: str, evaluations: Iterable[Evaluation], methods: Sequence[Method]) -> QualityReport:
    """The report of a run; the images of the evaluations are not kept."""
    rows = tuple((one.input_name, one.category, one.method, one.scores) for one in evaluations)
    return QualityReport(folder, rows, {method.name: method.skipped for method in methods if method.skipped})


def _table(by_method: Mapping[str, Scores]) -> list[str]:
    columns = [name for name in COLUMNS if any(name in scores for scores in by_method.values())]
    heading = ["method", *(COLUMNS[name][0] for name in columns)]
    lines = [_table_row(heading), _table_row(["---", *("---:" for _ in columns)])]
    for method, scores in by_method.items():
        lines.append(_table_row([method, *(_format(scores.get(name), COLUMNS[name][1]) for name in columns)]))
    return lines


def _table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _format(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _finite_scores(scores: Scores) -> Scores:
    return {
        name: None if value is None or math.isinf(value) else round(value, 5)
        for name, value in scores.items()
    }
