"""The commands of `lumaflow bench`: read the options, measure, print the table, save the JSON."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import cv2
import typer
from rich.console import Console
from rich.markup import escape

from lumaflow.backend import choose_device
from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame
from lumaflow.geometry import MAX_SIDE_PX, Geometry
from lumaflow_service.bench.baselines import SIZES as PEER_SIZES
from lumaflow_service.bench.baselines import measure_peers
from lumaflow_service.bench.experiments import measure_seeds
from lumaflow_service.bench.experiments.timing import FULL_HD
from lumaflow_service.bench.figure import Entry
from lumaflow_service.bench.host import describe_host
from lumaflow_service.bench.kernels import SIZES, measure_kernels
from lumaflow_service.bench.mixed_load import LANES, measure_crowd, measure_flatness, measure_lots
from lumaflow_service.bench.pipeline import FORMATS, GEOMETRIES, measure_lane
from lumaflow_service.bench.plot import check_drawable, draw
from lumaflow_service.bench.quality.command import bench_quality
from lumaflow_service.bench.report import BenchReport
from lumaflow_service.bench.service import QUALITY, measure_service
from lumaflow_service.bench.test_images import Pixels, TestImage, frame_of, picture, read_picture
from lumaflow_service.bench.test_images import frames as made_frames
from lumaflow_service.bench.tune import kept_at, tune

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Measure this machine: medians, spreads, and the limit beside them.",
)

Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N")]
Json = Annotated[Path | None, typer.Option("--json", help="also save the figures to this file")]
Plot = Annotated[Path | None, typer.Option("--plot", help="also draw the figures into this PNG or SVG file")]
Sizes = Annotated[list[str] | None, typer.Option("--size", help="as 1920x1080; may be given again")]
Picture = Annotated[TestImage, typer.Option(help="what the made picture looks like")]
Photograph = Annotated[
    Path | None, typer.Option("--image", help="use this photograph", exists=True, dir_okay=False)
]

PICTURES = 4  # different ones sent in turn, so that nothing is constant between frames


@app.command("pipeline")
def bench_pipeline(
    device: Device = "auto",
    frames: Annotated[int | None, typer.Option(min=1, help="frames a run; else about .4 s of them")] = None,
    size: Annotated[str | None, typer.Option(help="one size, as 1920x1080; else 720p, 1080p and 4K")] = None,
    scene: Picture = TestImage.PHOTOGRAPH,
    image: Photograph = None,
    json: Json = None,
    plot: Plot = None,
) -> None:
    """CLAHE, HOG and LBP through the public API: sustained rate, latency, host time, stage times."""
    chosen = choose_device(device).device
    measured = (
        measure_lane(chosen, geometry, _pictures(scene, image, geometry), frames)
        for geometry in _geometries(size)
    )
    _report("lumaflow bench pipeline", (figure for lane in measured for figure in lane), json, plot)


@app.command("lanes")
def bench_lanes(
    device: Device = "auto",
    lanes: Annotated[int, typer.Option(min=1, max=256, help="at once")] = 64,
    seconds: Annotated[float, typer.Option(min=0.1, help="of each lot of sources")] = 10.0,
    frames: Annotated[int, typer.Option(min=30, help="frames whose cost and memory must not grow")] = 10_000,
    json: Json = None,
    plot: Plot = None,
) -> None:
    """Many sources at once, of equal and of unequal size and rate; what frames and lanes cost."""
    chosen = choose_device(device).device
    one, small = Geometry(1920, 1080, PixelFormat.GRAY8), Geometry(1280, 720, PixelFormat.GRAY8)
    numbers = [number for number in LANES if number <= lanes]
    figures = chain(
        measure_lots(chosen, lanes, seconds),
        measure_flatness(chosen, one, frames),
        measure_crowd(chosen, small, frames, numbers),
    )
    _report("lumaflow bench lanes", figures, json, plot)


@app.command("kernels")
def bench_kernels(device: Device = "cuda", size: Sizes = None, json: Json = None, plot: Plot = None) -> None:
    """GPU time of a step and of its kernels on a photograph, a dark, a constant and a random picture."""
    chosen = choose_device(device).device
    sizes = [_size(text) for text in size] if size else SIZES
    _report("lumaflow bench kernels", measure_kernels(chosen, sizes), json, plot)


@app.command("peers")
def bench_peers(device: Device = "auto", size: Sizes = None, json: Json = None, plot: Plot = None) -> None:
    """The same jobs through OpenCV, kornia-rs, CV-CUDA, NPP, CuPy, torchvision, Kornia and cuCIM."""
    chosen = choose_device(device).device
    sizes = [_size(text) for text in size] if size else PEER_SIZES
    _report("lumaflow bench peers", measure_peers(chosen, sizes), json, plot)


@app.command("seeds")
def bench_seeds(
    device: Device = "cuda", image: Photograph = None, json: Json = None, plot: Plot = None
) -> None:
    """The seeds' experiments: histogram, HOG and LBP, equalisation by launch shape, transposition."""
    shown = _pictures(TestImage.PHOTOGRAPH, image, FULL_HD) * PICTURES
    _report("lumaflow bench seeds", measure_seeds(choose_device(device).device, shown[:PICTURES]), json, plot)


@app.command("tune")
def bench_tune(
    device: Device = "cuda",
    seconds: Annotated[float, typer.Option(min=1, max=600, help="to search for, about")] = 30.0,
    json: Json = None,
    plot: Plot = None,
) -> None:
    """Search for the launch shapes that suit this GPU and keep them: its lanes use them, results stay."""
    chosen = choose_device(device).device
    _report("lumaflow bench tune", tune(chosen, seconds), json, plot)
    typer.echo(f"kept in {kept_at(chosen)}; lanes that are opened from now on use it")


@app.command("service")
def bench_service(
    device: Device = "cpu",
    frames: Annotated[int, typer.Option(min=1, help="frames of each kind")] = 300,
    width: Annotated[int, typer.Option(min=16, max=8192, help="pixels")] = 1920,
    height: Annotated[int, typer.Option(min=16, max=8192, help="pixels")] = 1080,
    scene: Picture = TestImage.DARK,
    image: Photograph = None,
    json: Json = None,
    plot: Plot = None,
) -> None:
    """JPEG frames over HTTP beside the bare loop imdecode, lane, imencode on the same cores."""
    geometry = Geometry(width, height, PixelFormat.BGR24)
    images = [
        cv2.imencode(".jpg", _pixels(scene, image, geometry, seed), QUALITY)[1].tobytes()
        for seed in range(PICTURES)
    ]
    chosen = choose_device(device).device
    _report("lumaflow bench service", measure_service(chosen, geometry, images, frames), json, plot)


app.command("quality")(bench_quality)


def _geometries(size: str | None) -> Iterable[Geometry]:
    if size is None:
        return GEOMETRIES
    return [Geometry(*_size(size), pixel_format) for pixel_format in FORMATS]


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch("([0-9]{1,5})x([0-9]{1,5})", text)
    sides = tuple(map(int, found.groups())) if found else (0, 0)
    if not (min(sides) >= 1 and max(sides) <= MAX_SIDE_PX):
        raise typer.BadParameter(
            f"{text!r} came; give WIDTHxHEIGHT, each from 1 to {MAX_SIDE_PX}, for example 1920x1080"
        )
    return sides[0], sides[1]


def _pictures(scene: TestImage, image: Path | None, geometry: Geometry) -> list[Frame]:
    if image is None:
        return made_frames(scene, geometry, PICTURES)
    colored = geometry.pixel_format is PixelFormat.BGR24
    read = read_picture(image, geometry if colored else replace(geometry, pixel_format=PixelFormat.GRAY8))
    return [frame_of(read, geometry)]


def _pixels(scene: TestImage, image: Path | None, geometry: Geometry, seed: int = 0) -> Pixels:
    return read_picture(image, geometry) if image else picture(scene, geometry, seed)


def _told(figures: Iterable[Entry]) -> Iterator[Entry]:
    """The same figures, each named on a line of standard error that vanishes, where a person sees it."""
    with Console(stderr=True).status("measuring; the first figures take a while") as status:
        for number, figure in enumerate(figures, 1):
            status.update(
                f"measuring; {number} figures, the last: {escape(f'{figure.subject}, {figure.name}')}"
            )
            yield figure


def _report(title: str, figures: Iterable[Entry], json: Path | None, plot: Path | None) -> None:
    if plot is not None:
        check_drawable()
    report = BenchReport(title, describe_host(), tuple(_told(figures)))
    report.print(Console())
    if json is not None:
        report.write(json)
    if plot is not None:
        draw(report, plot)
