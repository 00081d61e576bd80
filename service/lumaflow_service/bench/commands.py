"""The commands of `lumaflow bench`: they measure, print a report, and optionally save JSON and a plot."""

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
from lumaflow_service.bench.baselines import SIZES as BASELINE_SIZES
from lumaflow_service.bench.baselines import measure_baselines
from lumaflow_service.bench.experiments import measure_experiments
from lumaflow_service.bench.experiments.timing import FULL_HD
from lumaflow_service.bench.figure import Entry
from lumaflow_service.bench.host import describe_host
from lumaflow_service.bench.images import ImageKind, Pixels, frame_of, generate_image, read_image
from lumaflow_service.bench.images import frames as generate_frames
from lumaflow_service.bench.kernels import SIZES, measure_kernels
from lumaflow_service.bench.lane_scaling import LANES, measure_lane_scaling, measure_memory_growth
from lumaflow_service.bench.mixed_load import measure_mixed_load
from lumaflow_service.bench.pipeline import FORMATS, GEOMETRIES, measure_lane
from lumaflow_service.bench.plot import check_drawable, draw
from lumaflow_service.bench.quality.command import bench_quality
from lumaflow_service.bench.report import BenchReport
from lumaflow_service.bench.service import QUALITY, measure_service
from lumaflow_service.bench.tune import cache_file, tune

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Measure this machine: medians with 10th and 90th percentile, relative to a reference.",
)

Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N")]
Json = Annotated[Path | None, typer.Option("--json", help="also save the figures to this JSON file")]
Plot = Annotated[Path | None, typer.Option("--plot", help="also plot the figures to this PNG or SVG file")]
Sizes = Annotated[
    list[str] | None, typer.Option("--size", help="WIDTHxHEIGHT, for example 1920x1080; repeat for several")
]
Scene = Annotated[ImageKind, typer.Option(help="kind of the generated image")]
ImageFile = Annotated[
    Path | None, typer.Option("--image", help="use this image file", exists=True, dir_okay=False)
]

IMAGES = 4  # used in turn, so that successive frames differ


@app.command("pipeline")
def bench_pipeline(
    device: Device = "auto",
    frames: Annotated[
        int | None, typer.Option(min=1, help="frames per run  [default: as many as take 0.4 s]")
    ] = None,
    size: Annotated[str | None, typer.Option(help="WIDTHxHEIGHT  [default: 720p, 1080p and 4K]")] = None,
    scene: Scene = ImageKind.PHOTOGRAPH,
    image: ImageFile = None,
    json: Json = None,
    plot: Plot = None,
) -> None:
    """Frame rate, latency, CPU time of the host and stage times of CLAHE, HOG and LBP."""
    chosen = choose_device(device).device
    measured = (
        measure_lane(chosen, geometry, _frames(scene, image, geometry), frames)
        for geometry in _geometries(size)
    )
    _report("lumaflow bench pipeline", (figure for lane in measured for figure in lane), json, plot)


@app.command("lanes")
def bench_lanes(
    device: Device = "auto",
    lanes: Annotated[int, typer.Option(min=1, max=256, help="number of lanes")] = 64,
    seconds: Annotated[float, typer.Option(min=0.1, help="seconds for each set of sources")] = 10.0,
    frames: Annotated[
        int, typer.Option(min=30, help="frames over which cost and memory must not grow")
    ] = 10_000,
    json: Json = None,
    plot: Plot = None,
) -> None:
    """Many sources at a time, of equal and of different size and rate; scaling with frames and lanes."""
    chosen = choose_device(device).device
    full_hd, hd = Geometry(1920, 1080, PixelFormat.GRAY8), Geometry(1280, 720, PixelFormat.GRAY8)
    numbers = [number for number in LANES if number <= lanes]
    figures = chain(
        measure_mixed_load(chosen, lanes, seconds),
        measure_memory_growth(chosen, full_hd, frames),
        measure_lane_scaling(chosen, hd, frames, numbers),
    )
    _report("lumaflow bench lanes", figures, json, plot)


@app.command("kernels")
def bench_kernels(device: Device = "cuda", size: Sizes = None, json: Json = None, plot: Plot = None) -> None:
    """GPU time of a step and of its kernels on a photograph, a dark, a constant and a random image."""
    chosen = choose_device(device).device
    sizes = [_size(text) for text in size] if size else SIZES
    _report("lumaflow bench kernels", measure_kernels(chosen, sizes), json, plot)


@app.command("baselines")
@app.command("peers", hidden=True)
def bench_baselines(
    device: Device = "auto", size: Sizes = None, json: Json = None, plot: Plot = None
) -> None:
    """The same operations with OpenCV, kornia-rs, CV-CUDA, NPP, CuPy, torchvision, Kornia and cuCIM."""
    chosen = choose_device(device).device
    sizes = [_size(text) for text in size] if size else BASELINE_SIZES
    _report("lumaflow bench baselines", measure_baselines(chosen, sizes), json, plot)


@app.command("experiments")
@app.command("seeds", hidden=True)
def bench_experiments(
    device: Device = "cuda", image: ImageFile = None, json: Json = None, plot: Plot = None
) -> None:
    """Alternative kernels: global against shared-memory atomics, textures, float16, launch sizes, tiles."""
    images = (_frames(ImageKind.PHOTOGRAPH, image, FULL_HD) * IMAGES)[:IMAGES]
    figures = measure_experiments(choose_device(device).device, images)
    _report("lumaflow bench experiments", figures, json, plot)


@app.command("tune")
def bench_tune(
    device: Device = "cuda",
    seconds: Annotated[float, typer.Option(min=1, max=600, help="approximate length of the search")] = 30.0,
    json: Json = None,
    plot: Plot = None,
) -> None:
    """Search the fastest launch configuration for this GPU and save it; results do not change."""
    chosen = choose_device(device).device
    _report("lumaflow bench tune", tune(chosen, seconds), json, plot)
    typer.echo(f"saved to {cache_file(chosen)}; lanes opened from now on use it")


@app.command("service")
def bench_service(
    device: Device = "cpu",
    frames: Annotated[int, typer.Option(min=1, help="frames for each number of requests in flight")] = 300,
    width: Annotated[int, typer.Option(min=16, max=8192, help="pixels")] = 1920,
    height: Annotated[int, typer.Option(min=16, max=8192, help="pixels")] = 1080,
    scene: Scene = ImageKind.DARK,
    image: ImageFile = None,
    json: Json = None,
    plot: Plot = None,
) -> None:
    """JPEG frames over HTTP, relative to a plain loop of imdecode, lane, imencode on the same cores."""
    geometry = Geometry(width, height, PixelFormat.BGR24)
    images = [
        cv2.imencode(".jpg", _pixels(scene, image, geometry, seed), QUALITY)[1].tobytes()
        for seed in range(IMAGES)
    ]
    chosen = choose_device(device).device
    _report("lumaflow bench service", measure_service(chosen, geometry, images, frames), json, plot)


app.command("quality")(bench_quality)


def _geometries(size: str | None) -> Iterable[Geometry]:
    if size is None:
        return GEOMETRIES
    return [Geometry(*_size(size), pixel_format) for pixel_format in FORMATS]


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch("([0-9]{1,5})x([0-9]{1,5})", text)
    sides = tuple(map(int, match.groups())) if match else (0, 0)
    if not (min(sides) >= 1 and max(sides) <= MAX_SIDE_PX):
        raise typer.BadParameter(
            f"expected WIDTHxHEIGHT, each from 1 to {MAX_SIDE_PX}, got {text!r}; for example 1920x1080"
        )
    return sides[0], sides[1]


def _frames(scene: ImageKind, image: Path | None, geometry: Geometry) -> list[Frame]:
    if image is None:
        return generate_frames(scene, geometry, IMAGES)
    colored = geometry.pixel_format is PixelFormat.BGR24
    pixels = read_image(image, geometry if colored else replace(geometry, pixel_format=PixelFormat.GRAY8))
    return [frame_of(pixels, geometry)]


def _pixels(scene: ImageKind, image: Path | None, geometry: Geometry, seed: int = 0) -> Pixels:
    return read_image(image, geometry) if image else generate_image(scene, geometry, seed)


def _with_progress(figures: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the figures; show the name of the last one as a status line on standard error."""
    with Console(stderr=True).status("measuring; the first figures take a while") as status:
        for number, figure in enumerate(figures, 1):
            status.update(
                f"measuring; {number} figures, the last: {escape(f'{figure.subject}, {figure.name}')}"
            )
            yield figure


def _report(title: str, figures: Iterable[Entry], json: Path | None, plot: Path | None) -> None:
    if plot is not None:
        check_drawable()
    report = BenchReport(title, describe_host(), tuple(_with_progress(figures)))
    report.print(Console())
    if json is not None:
        report.write(json)
    if plot is not None:
        draw(report, plot)
