"""Commands for cameras. Each imports its modules when it runs, as in `lumaflow_service.cli`."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

config_app = typer.Typer(help="Validate a configuration file, or print its JSON schema.")


@config_app.command()
def check(file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)]) -> None:
    """Validate FILE and list every error with its line number.

    The exit status is 2 if there is an error. Variables in URLs must be set, and files and devices must
    exist.
    """
    from lumaflow_service.config.loader import load

    cameras = load(file, os.environ, complete=True).config.sources
    print(f"{file}: good, {len(cameras)} source{'s' if len(cameras) != 1 else ''}")


def probe(
    url: Annotated[str, typer.Argument(metavar="URL", show_default=False)],
    seconds: Annotated[float, typer.Option(min=0.1, max=600, help="how long to read")] = 5.0,
    transport: Annotated[str, typer.Option(help="of RTSP: tcp or udp")] = "tcp",
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Show the codec, size, rate, range and key-frame interval of a camera, and decode it.

    URL is a camera URL of the configuration, or a path. ${NAME} is read from the environment, which keeps a
    password out of the process list.
    """
    from dataclasses import asdict

    from lumaflow_service.camera.probe import as_lines, probe

    info = probe(url, seconds, transport)
    print(json.dumps(asdict(info)) if as_json else "\n".join(as_lines(info)))


@config_app.command()
def schema() -> None:
    """Print the JSON schema of a configuration file, for editors."""
    from lumaflow_service.config.model import schema

    print(json.dumps(schema(), indent=2))
