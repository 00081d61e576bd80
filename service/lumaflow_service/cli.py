"""The command line. Each command imports its modules when it runs, so that `--help` is fast and the API
process of `serve` loads no decoder."""

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from lumaflow.errors import DeviceError, LumaflowError, OptionError
from lumaflow.options import ColorMode, Equalization, Mode, Options, Orientation
from lumaflow_service.camera.commands import config_app, probe
from lumaflow_service.config.presets import DEFAULTS, Preset, merge_options

OK, FAILED, USAGE_ERROR, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

app = typer.Typer(
    rich_markup_mode=None,
    help="Enhance live video over HTTP, and video and image files.",
)


def main() -> NoReturn:
    """Run the command in sys.argv and exit with its status."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command and return its exit status: 0, 1 (failure), 2 (usage error), 130 (Ctrl-C).

    Errors are printed in one line, without a traceback.
    """
    try:
        return app(arguments or ["--help"], prog_name="lumaflow", standalone_mode=False) or OK
    except typer.TyperException as error:
        return _print_error(error.format_message(), USAGE_ERROR)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except LumaflowError as error:
        return _print_error(str(error), USAGE_ERROR if _is_usage_error(error) else FAILED)
    except OSError as error:
        text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _print_error(text, FAILED)


def _is_usage_error(error: LumaflowError) -> bool:
    from lumaflow_service.errors import AddressError
    from lumaflow_service.files.errors import UsageError

    return isinstance(error, UsageError | OptionError | DeviceError | AddressError)


def _print_error(message: str, status: int) -> int:
    if message:
        print(f"lumaflow: {message}", file=sys.stderr)
    return status


def _show_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        print(f"lumaflow {version('lumaflow')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="show the version")
    ] = False,
) -> None:
    """Enhance live video over HTTP, and video and image files."""


# serve --------------------------------------------------------------------------------------------


Config = Annotated[Path | None, typer.Option(metavar="FILE", help="YAML file of cameras; reloaded on SIGHUP")]

DefaultPreset = Annotated[
    Preset | None, typer.Option(help="preset of all sources that set no mode and no preset")
]


@app.command()
def serve(
    config: Config = None,
    host: Annotated[
        str | None,
        typer.Option(help="address to listen on; other than loopback only with a token  [127.0.0.1]"),
    ] = None,
    port: Annotated[int | None, typer.Option(help="port to listen on; 0 selects a free one  [8000]")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or cuda:N  [auto]")] = None,
    preset: DefaultPreset = None,
    demo: Annotated[bool | None, typer.Option("--demo", help="add a looping demo source")] = None,
) -> None:
    """Serve the API and the live page. LUMAFLOW_* variables set what the command line does not."""
    from lumaflow_service.api.app import serve

    arguments = {
        "config": config,
        "host": host,
        "port": port,
        "device": device,
        "preset": preset,
        "demo": demo,
    }
    serve(_settings({name: value for name, value in arguments.items() if value is not None}))


@app.command()
def ingest(
    config: Annotated[Path, typer.Option(metavar="FILE", help="YAML file of cameras; reloaded on SIGHUP")],
    host: Annotated[
        str | None, typer.Option(help="address of /metrics and health checks  [127.0.0.1]")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="port of /metrics and health checks; 0 selects a free one  [8000]")
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or cuda:N  [auto]")] = None,
    preset: DefaultPreset = None,
) -> None:
    """Run the cameras of FILE without API and page; only /livez, /readyz and /metrics are served."""
    from lumaflow_service.api.app import serve

    arguments = {"config": config, "host": host, "port": port, "device": device, "preset": preset}
    serve(_settings({name: value for name, value in arguments.items() if value is not None}), headless=True)


def _settings(arguments: dict[str, Any]) -> Any:
    import os

    from pydantic import ValidationError

    from lumaflow_service.config.settings import Settings, format_settings_error, misspelled_variables

    for warning in misspelled_variables(os.environ):
        _print_error(warning, OK)
    try:
        return Settings(**arguments)
    except ValidationError as error:
        raise OptionError(format_settings_error(error, arguments)) from error


# files --------------------------------------------------------------------------------------------


Input = Annotated[Path, typer.Argument(metavar="INPUT", show_default=False)]


@dataclass(frozen=True, slots=True)
class LaneArguments:
    """The options that `enhance` and `features` share."""

    preset: Annotated[
        Preset | None, typer.Option(help="values for a kind of scene; other options override them")
    ] = None
    mode: Annotated[Mode | None, typer.Option(help=f"how levels are mapped  [{DEFAULTS['mode']}]")] = None
    clip_limit: Annotated[
        float | None, typer.Option(help="relative to a flat histogram; 0: no clipping  [2.0]")
    ] = None
    tiles: Annotated[str, typer.Option(metavar="COLUMNSxROWS", help="grid of CLAHE")] = "8x8"
    color: Annotated[
        ColorMode,
        typer.Option(help="input of the LUT for RGB: the largest channel, or the luma; for YUV the luma"),
    ] = ColorMode.VALUE
    strength: Annotated[
        float | None, typer.Option(help="0 to 1, of the modes auto, lowlight and dehaze  [1.0]")
    ] = None
    target: Annotated[
        float | None,
        typer.Option(help="mean level of the darker half in the modes auto and lowlight  [chosen per frame]"),
    ] = None
    denoise: Annotated[
        bool | None,
        typer.Option("--denoise/--no-denoise", help="filter noise in the modes auto and lowlight  [denoise]"),
    ] = None
    smoothing: Annotated[
        float | None, typer.Option(help="weight of a frame in the LUT of the other modes; 1: off  [1.0]")
    ] = None
    gate: Annotated[
        bool | None,
        typer.Option("--gate/--no-gate", help="change good frames less, in the other modes  [no-gate]"),
    ] = None
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N")] = "auto"
    orientation: Annotated[Orientation | None, typer.Option(help="override the file's rotation tag")] = None
    force: Annotated[bool, typer.Option("--force", "-f", help="overwrite existing files")] = False

    def job(self, with_npz: bool, side_by_side: bool = False, **encoding: Any) -> Any:
        """The LaneJob of `lumaflow_service.files`. From here on SIGTERM cleans up like Ctrl-C."""
        from lumaflow.backend import choose_device
        from lumaflow_service.files.encoding import Encoding
        from lumaflow_service.files.features import with_features
        from lumaflow_service.files.run_lane import LaneJob

        signal.signal(signal.SIGTERM, _terminate)
        options = Options(equalization=self._equalization())
        options = with_features(options) if with_npz else options
        device = choose_device(self.device).device
        return LaneJob(device, options, side_by_side, self.force, self.orientation, Encoding(**encoding))

    def _equalization(self) -> Equalization:
        names = ("preset", *DEFAULTS)
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        values = merge_options(DEFAULTS, given)
        del values["preset"]
        return Equalization(tiles=_parse_tiles(self.tiles), color=self.color, **values)


def lane_command(command: Callable[..., int]) -> Callable[..., int]:
    """Replace the parameter `lane` of a command by the options of LaneArguments."""
    shared = signature(LaneArguments).parameters
    own = {name: one for name, one in signature(command).parameters.items() if name != "lane"}

    def run_command(**arguments: Any) -> int:
        lane = LaneArguments(**{name: arguments.pop(name) for name in shared})
        return command(**arguments, lane=lane)

    parameters = {**own, **shared}
    vars(run_command)["__signature__"] = Signature(
        [one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters.values()]
    )
    run_command.__annotations__ = {name: one.annotation for name, one in parameters.items()}
    run_command.__name__, run_command.__doc__ = command.__name__, command.__doc__
    return run_command


@app.command()
@lane_command
def enhance(
    source: Input,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", show_default=False)],
    lane: LaneArguments,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz", help="also write HOG, LBP and histograms: 5.6 MB for a 1920x1080 frame"
        ),
    ] = None,
    side_by_side: Annotated[bool, typer.Option("--side-by-side", help="raw left, enhanced right")] = False,
    encoder: Annotated[
        str | None,
        typer.Option(help="of a video: libx264, libx265, libsvtav1, libvpx-vp9, h264_nvenc ...  [by suffix]"),
    ] = None,
    quality: Annotated[
        int, typer.Option(min=1, max=51, help="of a video, on the scale of x264's CRF: lower is better")
    ] = 18,
    encoder_preset: Annotated[
        str | None, typer.Option(help="of the encoder, for example veryfast  [fast, or about its speed]")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="files of a folder at a time")] = 1,
) -> int:
    """Enhance a video, an image, or a folder of both.

    The suffix of OUTPUT selects the container: .mp4 .m4v .mov .mkv (H.264) or .webm (VP9); .jpg, .png or
    .tif for an image. For a folder OUTPUT is a folder; if a file fails, the others are still processed and
    the exit status is 1. Images may be JPEG, PNG, TIFF, WebP, GIF, BMP, PNM, AVIF or JPEG 2000. PNG and TIFF
    keep 16 bits and alpha; JPEG, PNG and TIFF keep the ICC profile. An animated GIF or PNG becomes a video
    if OUTPUT has the suffix of a video; otherwise its first frame is enhanced.
    A video keeps its bit depth up to 10 bits (WebM: 8) and its chroma samples. Timestamps, rotation, colour
    tags, audio and subtitles are kept (Matroska and WebM round timestamps to 1 ms).
    From a damaged or truncated video the decodable frames are written, with a warning. An existing OUTPUT is
    kept unless --force is given; OUTPUT appears only when it is complete.
    """
    from lumaflow_service.files.commands import enhance

    job = lane.job(
        features is not None, side_by_side, encoder=encoder, quality=quality, preset=encoder_preset
    )
    return enhance(source, output, job, features, jobs)


@app.command()
@lane_command
def features(
    source: Input,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE.npz", show_default=False)],
    lane: LaneArguments,
) -> int:
    """Write HOG, LBP and histograms of every frame of a video or an image to one npz.

    numpy.load reads it, one array at a time: hog/000000, lbp/000000 ... for each frame, and bins, pts,
    time_base, sizes for all of them. Descriptors are computed from the enhanced luma, histograms from the
    raw luma. A frame of 1920x1080 takes 5.6 MB.
    """
    from lumaflow_service.files.commands import extract_features

    return extract_features(source, output, lane.job(with_npz=True))


def _parse_tiles(text: str) -> tuple[int, int]:
    columns, _, rows = text.partition("x")
    if not (columns.isdecimal() and rows.isdecimal()):
        raise OptionError(f"expected --tiles COLUMNSxROWS, got {text}; give for example 8x8")
    return int(columns), int(rows)


def _terminate(number: int, frame: object) -> NoReturn:
    raise SystemExit(TERMINATED)


# cameras and this machine -------------------------------------------------------------------------


app.command()(probe)
app.add_typer(config_app, name="config")


@app.command()
def doctor(
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Show GPUs, drivers, codecs, and the device `auto` selects."""
    from lumaflow_service.doctor import as_json, as_text, collect_facts

    print((as_json if json else as_text)(collect_facts()))


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def bench(context: typer.Context) -> int:
    """Measure this machine: results with their spread, next to its limits in the same run."""
    from lumaflow_service.bench import app as bench_app

    return bench_app(context.args, prog_name="lumaflow bench", standalone_mode=False) or OK
