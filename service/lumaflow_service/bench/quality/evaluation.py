"""Runs every method over every input and measures the results."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lumaflow_service.bench.quality.model import BenchInput, BgrImage, Category, Method
from lumaflow_service.bench.quality.scores import Scores, measure, measure_clip

INPUT = Method("input", list)
"""Returns the frames unchanged: the first row of every table."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The scores of one method on one input; `image` is its middle frame, for the contact sheets."""

    input_name: str
    category: Category
    method: str
    scores: Scores
    image: BgrImage


def evaluate(inputs: Iterable[BenchInput], methods: Sequence[Method]) -> Iterator[list[Evaluation]]:
    """For each input the evaluations of the input itself and of all methods that can run.

    Raises ValueError when a method returns frames of another size or another number of frames.
    """
    usable = [INPUT, *(method for method in methods if method.enhance is not None)]
    for bench_input in inputs:
        yield [_evaluate(bench_input, method) for method in usable]


def _evaluate(bench_input: BenchInput, method: Method) -> Evaluation:
    after = method.enhance(bench_input.frames) if method.enhance else []
    shapes = [frame.shape for frame in after]
    if shapes != [frame.shape for frame in bench_input.frames]:
        raise ValueError(
            f"expected frames of the size of the input, got {shapes[:3]}; correct the method {method.name}"
        )
    scores, image = _measure(bench_input, after), after[len(after) // 2]
    return Evaluation(bench_input.name, bench_input.category, method.name, scores, image)


def _measure(bench_input: BenchInput, after: Sequence[BgrImage]) -> Scores:
    if bench_input.category is Category.CLIPS:
        return measure_clip(bench_input.frames, after)
    return measure(bench_input.frames[0], after[0], bench_input.reference)
