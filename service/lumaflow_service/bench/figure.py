"""One measured number and its reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np


@dataclass(frozen=True, slots=True)
class Limit:
    """The reference of a figure, in the same unit.

    goal : the ratio to reach: the minimum for a rate, the maximum for a time; None for no goal
    """

    name: str
    value: float
    goal: float | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """The median of repeated runs with the 10th and 90th percentile, or a single number without them.

    subject : what is measured, e.g. "1920x1080 gray8"
    unit : "s", "times", "%", "bytes" or a rate ending in "/s"; reports show seconds as ms or us, bytes as MiB
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
        """The figure of `samples`. Raises ValueError if there are none."""
        if not samples:
            raise ValueError(f"expected at least one sample for {subject} {name}, got none; measure again")
        p10, median, p90 = (float(value) for value in np.percentile(samples, (10, 50, 90)))
        return cls(subject, name, unit, median, p10, p90, limit)

    @property
    def ratio(self) -> float | None:
        """The median divided by the limit; None without a limit."""
        return self.median / self.limit.value if self.limit else None

    @property
    def goal_reached(self) -> bool | None:
        """True if the ratio reaches the goal; None without a goal."""
        if self.limit is None or self.limit.goal is None:
            return None
        bound = self.limit.goal * self.limit.value
        return self.median <= bound if self.less_is_better else self.median >= bound

    @property
    def less_is_better(self) -> bool:
        """True for a cost, False for a rate or a percentage."""
        return self.unit != "%" and not self.unit.endswith("/s")

    def as_json(self) -> dict[str, Any]:
        """The figure as JSON values, in base units."""
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
            "met": self.goal_reached,
        }


@dataclass(frozen=True, slots=True)
class Skipped:
    """A measurement that is not possible here, and the reason."""

    subject: str
    name: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        """The entry as JSON values."""
        return {"subject": self.subject, "name": self.name, "missing": self.reason}


Entry = Figure | Skipped
"""One line of a report."""
