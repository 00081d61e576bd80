"""The goals of `auto`, `lowlight` and `dehaze`, and what a run measured for each."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lumaflow_service.bench.quality.model import Category
from lumaflow_service.bench.quality.scores import Scores

AUTO, LOWLIGHT, DEHAZE = "lumaflow auto", "lumaflow lowlight", "lumaflow dehaze"
CLAHE, EQUALIZE, INPUT = "lumaflow clahe", "lumaflow equalize", "input"
VISIBLE_MEAN = (80, 130)
GOOD_MEAN = 90
"""Mean level from which a picture counts as well exposed; darker ones are to be lifted."""
ROUNDING = 0.5
"""Levels by which the mean of a picture may fall through rounding and filters."""

Row = tuple[str, Category, str, Scores]
ByMethod = dict[str, Scores]
"""The scores of one input by method."""
Test = Callable[[ByMethod], bool | None]


@dataclass(frozen=True, slots=True)
class Goal:
    """A bar for each input of a category. `holds` returns None for an input without a score."""

    text: str
    category: Category
    holds: Test


@dataclass(frozen=True, slots=True)
class GoalResult:
    """How many of the inputs reach a goal."""

    text: str
    reached: int
    inputs: int


def at_least(score: str, method: str, bar: float, over: str | None = None) -> Test:
    """True where the score of a method is at least `bar`, or `bar` above that of method `over`."""

    def holds(scores: ByMethod) -> bool | None:
        own, other = _score(scores, method, score), 0.0 if over is None else _score(scores, over, score)
        return None if own is None or other is None else own >= other + bar

    return holds


def at_most(score: str, method: str, bar: float, times: str | None = None) -> Test:
    """True where the score of a method is at most `bar`, or `bar` times that of method `times`."""

    def holds(scores: ByMethod) -> bool | None:
        own, other = _score(scores, method, score), 1.0 if times is None else _score(scores, times, score)
        return None if own is None or other is None else own <= bar * other

    return holds


def best_of_all(score: str, method: str) -> Test:
    """True where no other library has a higher score than a method."""

    def holds(scores: ByMethod) -> bool | None:
        own = _score(scores, method, score)
        others = [_score(scores, one, score) for one in scores if not one.startswith(("lumaflow", INPUT))]
        return None if own is None or not others else all(one is None or own >= one for one in others)

    return holds


def well_exposed(test: Test) -> Test:
    """The test for inputs with a mean level of at least GOOD_MEAN; None for others."""

    def holds(scores: ByMethod) -> bool | None:
        return test(scores) if (_score(scores, INPUT, "mean") or 0) >= GOOD_MEAN else None

    return holds


def is_visible(scores: ByMethod) -> bool | None:
    """True where the mean level of `auto` is in VISIBLE_MEAN."""
    mean = _score(scores, AUTO, "mean")
    return None if mean is None else VISIBLE_MEAN[0] <= mean <= VISIBLE_MEAN[1]


def _score(scores: ByMethod, method: str, score: str) -> float | None:
    return scores.get(method, {}).get(score)


DARK, GOOD, CHARTS, CLIPS = Category.DARK, Category.WELL_EXPOSED, Category.CHARTS, Category.CLIPS
DARK_PAIRS, HAZY_PAIRS = Category.DARK_PAIRS, Category.HAZY_PAIRS
GOALS = (
    Goal("dark: mean of auto 80..130", DARK, is_visible),
    Goal("dark: auto not darker than the input", DARK, at_least("mean", AUTO, -ROUNDING, INPUT)),
    Goal("dark: noise of auto <= 1.5 x clahe", DARK, at_most("noise_gain", AUTO, 1.5, CLAHE)),
    Goal("dark pairs: lowlight >= 4 dB over equalize", DARK_PAIRS, at_least("psnr", LOWLIGHT, 4, EQUALIZE)),
    Goal(
        "dark pairs: lowlight >= .06 SSIM over equalize",
        DARK_PAIRS,
        at_least("ssim", LOWLIGHT, 0.06, EQUALIZE),
    ),
    Goal("dark pairs: PSNR of lowlight over every other library", DARK_PAIRS, best_of_all("psnr", LOWLIGHT)),
    Goal("dark pairs: SSIM of lowlight over every other library", DARK_PAIRS, best_of_all("ssim", LOWLIGHT)),
    Goal("well-exposed: PSNR of auto >= 32 dB", GOOD, well_exposed(at_least("psnr", AUTO, 32))),
    Goal("well-exposed: SSIM of auto >= .98", GOOD, well_exposed(at_least("ssim", AUTO, 0.98))),
    Goal("well-exposed: CIEDE2000 of auto <= 2", GOOD, well_exposed(at_most("ciede2000", AUTO, 2))),
    Goal("charts: hue of auto within 2 degrees", CHARTS, at_most("hue", AUTO, 2)),
    Goal("hazy pairs: dehaze >= 3 dB over the input", HAZY_PAIRS, at_least("psnr", DEHAZE, 3, INPUT)),
    Goal("hazy pairs: dehaze >= 3 dB over clahe", HAZY_PAIRS, at_least("psnr", DEHAZE, 3, CLAHE)),
    Goal("clips: flicker of auto <= 1.2 x the input", CLIPS, at_most("flicker_ratio", AUTO, 1.2)),
    Goal(
        "clips: flicker of auto <= 1/5 of OpenCV's CLAHE",
        CLIPS,
        at_most("flicker", AUTO, 0.2, "opencv clahe"),
    ),
)


def measure_goals(rows: Sequence[Row], goals: Sequence[Goal] = GOALS) -> Iterator[GoalResult]:
    """The result of each goal that has inputs."""
    by_input: dict[tuple[str, Category], ByMethod] = defaultdict(dict)
    for name, category, method, scores in rows:
        by_input[name, category][method] = scores
    for goal in goals:
        inputs = (scores for (_, category), scores in by_input.items() if category is goal.category)
        held = [result for result in map(goal.holds, inputs) if result is not None]
        if held:
            yield GoalResult(goal.text, sum(held), len(held))
