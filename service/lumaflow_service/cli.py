"""The command line. Every command imports what it needs when it runs: `--help` is quick, and the API
process of `serve` never loads a decoder."""

import signal
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from lumaflow.errors import DeviceError, LumaflowError, OptionError
from lumaflow.options import ColorMode, Equalization, Mode, Options, Orientation
from lumaflow_service.camera.commands import config_app, probe

OK, FAILED, MISUSED, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Enhance live video: an HTTP service, and the same for files.",
)
app.add_typer(config_app, name="config")
app.command()(probe)


def main() -> NoReturn:
    """Run the command of sys.argv and leave with its exit status."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command: 0, 1 for a failure, 2 for a user's mistake, 130 after Ctrl-C; never a traceback."""
    try:
        return app(arguments or ["--help"], prog_name="lumaflow", standalone_mode=False) or OK
    except typer.TyperException as error:
        return _complain(error.format_message(), MISUSED)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except LumaflowError as error:
        return _complain(str(error), MISUSED if _is_misuse(error) else FAILED)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _complain(what, FAILED)


def _is_misuse(error: LumaflowError) -> bool:
    from lumaflow_service.errors import AddressError
    from lumaflow_service.files.errors import UsageError

    return isinstance(error, UsageError | OptionError | DeviceError | AddressError)


def _complain(message: str, status: int) -> int:
    if message:
        print(f"lumaflow: {message}", file=sys.stderr)
    return status


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"lumaflow {version('lumaflow')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="show the version")
    ] = False,
) -> None:
    """Enhance live video: an HTTP service, and the same for files."""


# serve --------------------------------------------------------------------------------------------


Config = Annotated[
    Path | None, typer.Option(metavar="FILE", help="YAML file of cameras; read again on SIGHUP")
]


@app.command()
def serve(
    config: Config = None,
    host: Annotated[
        str | None, typer.Option(help="address to listen on; beyond loopback only with a token  [127.0.0.1]")
    ] = None,
    port: Annotated[int | None, typer.Option(help="port to listen on; 0 takes a free one  [8000]")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or cuda:N  [auto]")] = None,
    demo: Annotated[bool | None, typer.Option("--demo", help="add a looping sample source")] = None,
) -> None:
    """Serve the API and the live page. What is not given comes from LUMAFLOW_* or the default."""
    from lumaflow_service.api.app import serve

    given = {"config": config, "host": host, "port": port, "device": device, "demo": demo}
    serve(_settings({name: value for name, value in given.items() if value is not None}))


@app.command()
def ingest(
    config: Annotated[Path, typer.Option(metavar="FILE", help="YAML file of cameras; read again on SIGHUP")],
    host: Annotated[str | None, typer.Option(help="address of /metrics and health  [127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="port of them; 0 takes a free one  [8000]")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or cuda:N  [auto]")] = None,
) -> None:
    """Run the cameras of FILE alone: no API and no page, only /livez, /readyz and /metrics."""
    from lumaflow_service.api.app import serve

    given = {"config": config, "host": host, "port": port, "device": device}
    serve(_settings({name: value for name, value in given.items() if value is not None}), headless=True)


def _settings(given: dict[str, Any]) -> Any:
    import os

    from pydantic import ValidationError

    from lumaflow_service.config.settings import Settings, explained, unknown

    for told in unknown(os.environ):
        _complain(told, OK)
    try:
        return Settings(**given)
    except ValidationError as error:
        raise OptionError(explained(error, given)) from error


# files --------------------------------------------------------------------------------------------


Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N")]
ModeOption = Annotated[Mode, typer.Option(help="how the mapping is made from the histogram")]
ClipLimit = Annotated[float, typer.Option(help="relative to a flat histogram; 0: no clipping")]
Tiles = Annotated[str, typer.Option(metavar="COLUMNSxROWS", help="grid of CLAHE")]
Color = Annotated[
    ColorMode,
    typer.Option(help="what the mapping acts on in RGB: the largest channel, or the luma; in YUV the luma"),
]
Turn = Annotated[
    Orientation | None,
    typer.Option(help="turn the stored pictures, in place of the turn that the file itself asks for"),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="overwrite what exists already")]
Input = Annotated[Path, typer.Argument(metavar="INPUT", show_default=False)]


@app.command()
def enhance(
    source: Input,
    target: Annotated[Path, typer.Argument(metavar="OUTPUT", show_default=False)],
    mode: ModeOption = Mode.CLAHE,
    clip_limit: ClipLimit = 2.0,
    tiles: Tiles = "8x8",
    color: Color = ColorMode.VALUE,
    device: Device = "auto",
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz", help="also write HOG, LBP and histograms: 5.6 MB a frame of 1920x1080"
        ),
    ] = None,
    side_by_side: Annotated[bool, typer.Option("--side-by-side", help="raw left, enhanced right")] = False,
    orientation: Turn = None,
    force: Force = False,
) -> int:
    """Enhance a video, an image, or a folder of both.

    OUTPUT's suffix picks the container: .mp4 .m4v .mov .mkv (H.264) or .webm (VP9); .jpg, .png or .tif for
    an image; a folder for a folder, where a file that fails stops no other but makes the exit status 1.
    Images may be JPEG, PNG, TIFF, WebP, GIF, BMP, PNM, AVIF or JPEG 2000; PNG and TIFF keep 16 bits and
    alpha, all three the ICC profile. An animated GIF or PNG becomes a video under a video's name, else its
    first picture is enhanced.
    A video keeps its depth up to 10 bits (WebM: 8) and its chroma, of which nothing is changed.
    Times, rotation, colour tags, audio and subtitles are kept (Matroska and WebM round times to 1 ms).
    A damaged or cut-off video gives the frames that decode, with a warning. An existing OUTPUT is kept
    unless --force is given; OUTPUT appears only when it is complete.
    """
    from lumaflow_service.files.commands import enhance

    equalization = Equalization(mode, clip_limit, _grid(tiles), color)
    options = Options(equalization=equalization)
    return enhance(
        source,
        target,
        _job(device, options, features is not None, orientation, side_by_side, force),
        features,
    )


@app.command()
def features(
    source: Input,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE.npz", show_default=False)],
    mode: ModeOption = Mode.CLAHE,
    clip_limit: ClipLimit = 2.0,
    tiles: Tiles = "8x8",
    color: Color = ColorMode.VALUE,
    device: Device = "auto",
    orientation: Turn = None,
    force: Force = False,
) -> int:
    """Write HOG, LBP and histograms of every frame of a video or an image to one npz.

    numpy.load reads it, one array at a time: hog/000000, lbp/000000 ... for each frame, and bins, pts,
    time_base, sizes for all of them. Descriptors are of the enhanced luma, histograms of the raw one.
    A frame of 1920x1080 takes 5.6 MB.
    """
    from lumaflow_service.files.commands import describe

    equalization = Equalization(mode, clip_limit, _grid(tiles), color)
    options = Options(equalization=equalization)
    return describe(source, output, _job(device, options, True, orientation, False, force))


def _grid(text: str) -> tuple[int, int]:
    columns, _, rows = text.partition("x")
    if not (columns.isdecimal() and rows.isdecimal()):
        raise OptionError(f"--tiles {text} came; give COLUMNSxROWS, as 8x8")
    return int(columns), int(rows)


def _job(
    device: str,
    options: Options,
    with_npz: bool,
    orientation: Orientation | None,
    side_by_side: bool,
    force: bool,
) -> Any:
    """The job in words of `lumaflow_service.files`; from here on SIGTERM cleans up like Ctrl-C."""
    from lumaflow.backend import choose_device
    from lumaflow_service.files.features import with_features
    from lumaflow_service.files.run_lane import LaneJob

    signal.signal(signal.SIGTERM, _terminate)
    options = with_features(options) if with_npz else options
    return LaneJob(choose_device(device).device, options, side_by_side, force, orientation)


def _terminate(number: int, frame: object) -> NoReturn:
    raise SystemExit(TERMINATED)


# about this machine -------------------------------------------------------------------------------


@app.command()
def doctor(
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Say what is here: processor, GPUs, driver, codecs, and which device `auto` picks and why."""
    from lumaflow_service.doctor import as_json, as_text, examine

    print((as_json if json else as_text)(examine()))


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def bench(context: typer.Context) -> int:
    """Measure this machine: figures with their spread, beside its limits in the same run."""
    from lumaflow_service.bench import app as bench_app

    return bench_app(context.args, prog_name="lumaflow bench", standalone_mode=False) or OK
