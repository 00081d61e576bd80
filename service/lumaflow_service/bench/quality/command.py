"""The command `lumaflow bench quality`: read a folder, run all methods, print the tables, save the files."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from lumaflow.backend import choose_device
from lumaflow_service.bench.quality.contact_sheets import ContactSheets
from lumaflow_service.bench.quality.drawn import drawn_inputs
from lumaflow_service.bench.quality.evaluation import Evaluation, evaluate
from lumaflow_service.bench.quality.methods import lumaflow_methods
from lumaflow_service.bench.quality.model import BenchInput, Method
from lumaflow_service.bench.quality.report import QualityReport, collect

Folder = Annotated[
    Path | None,
    typer.Argument(
        help="folder of images and clips, optionally with SOURCES.tsv; without one: drawn scenes",
        exists=True,
        file_okay=False,
        show_default=False,
    ),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N")]
Json = Annotated[Path | None, typer.Option("--json", help="also save the scores to this JSON file")]
SheetsFolder = Annotated[
    Path | None, typer.Option("--sheets", help="also save contact sheets to this folder")
]
LimitOption = Annotated[
    int | None, typer.Option(min=1, help="maximum number of images, of clips and of pairs; default: all")
]


def bench_quality(
    folder: Folder = None,
    device: Device = "auto",
    json: Json = None,
    sheets: SheetsFolder = None,
    limit: LimitOption = None,
) -> None:
    """Image quality of every mode, next to OpenCV, FFmpeg, scikit-image and Kornia."""
    from lumaflow_service.bench.quality.peers import peer_methods  # needs PyAV, the other commands do not

    methods = [*lumaflow_methods(choose_device(device).device), *peer_methods()]
    try:
        report = run(folder, methods, sheets, limit)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    typer.echo(report.markdown())
    if json is not None:
        report.write(json)


def run(
    folder: Path | None, methods: Sequence[Method], sheets: Path | None = None, limit: int | None = None
) -> QualityReport:
    """Run all methods over the folder, or over drawn scenes. Raises ValueError without a readable input."""
    from lumaflow_service.bench.quality.inputs import read_folder

    writer = ContactSheets(sheets) if sheets is not None else None
    inputs = read_folder(folder, limit) if folder else drawn_inputs()
    report = collect(str(folder or "drawn scenes"), _evaluations(inputs, methods, writer), methods)
    if writer is not None:
        writer.close()
    return report


def _evaluations(
    inputs: Iterable[BenchInput], methods: Sequence[Method], sheets: ContactSheets | None
) -> Iterator[Evaluation]:
    with Console(stderr=True).status("measuring") as status:
        for bench_input in inputs:
            status.update(f"measuring {escape(bench_input.name)}")
            for evaluations in evaluate([bench_input], methods):
                if sheets is not None:
                    sheets.add(evaluations, bench_input.reference)
                yield from evaluations
