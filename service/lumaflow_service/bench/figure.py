"""One measured number, and what it is held against."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np


@dataclass(frozen=True, slots=True)
class Limit:
    """What the same machine could do at best, in the figure's unit, and the ratio wanted: at least so much of
    a rate, at most so much of a time.
    """

    name: str
    value: float
    goal: float | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """The median of repeated runs with its spread; a lone number has none.

    subject : what was measured, e.g. "1920x1080 gray8"
    unit : "s", "times", "%", "bytes" or anything per second; seconds are shown as ms or us, bytes as MiB
    """

    subject: str
    name: str
    unit: str
    median: float
    p10: float | None = None
    p90: float | None = None
    limit: Limit | None = None

    @classmethod
    def of(
        cls, subject: str, name: str, unit: str, samples: Sequence[float], limit: Limit | None = None
    ) -> Self:
        """The figure of `samples`. Raises ValueError when there are none."""
        if not samples:
            raise ValueError(f"no samples came for {subject} {name}; measure at least once")
        p10, median, p90 = (float(value) for value in np.percentile(samples, (10, 50, 90)))
        return cls(subject, name, unit, median, p10, p90, limit)

    @property
    def ratio(self) -> float | None:
        """The median over its limit."""
        return self.median / self.limit.value if self.limit else None

    @property
    def met(self) -> bool | None:
        """Whether the ratio reaches the goal, where there is one."""
        if self.limit is None or self.limit.goal is None:
            return None
        wanted = self.limit.goal * self.limit.value
        return self.median <= wanted if self.less_is_better else self.median >= wanted

    @property
    def less_is_better(self) -> bool:
        """Whether this is a cost, not a rate."""
        return self.unit != "%" and not self.unit.endswith("/s")

    def as_json(self) -> dict[str, Any]:
        """All of it with plain names, in base units."""
        limit = self.limit
        return {
            "subject": self.subject,
            "name": self.name,
            "unit": self.unit,
            "median": self.median,
            "p10": self.p10,
            "p90": self.p90,
            "limit": None
            if limit is None
            else {"name": limit.name, "value": limit.value, "goal": limit.goal},
            "ratio": self.ratio,
            "met": self.met,
        }


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not measured here, and why."""

    subject: str
    name: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        """All of it with plain names."""
        return {"subject": self.subject, "name": self.name, "missing": self.reason}


Entry = Figure | Skipped
"""One line of a report."""
