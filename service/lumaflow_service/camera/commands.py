"""Commands about cameras. Each imports what it needs when it runs, as in `lumaflow_service.cli`."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

config_app = typer.Typer(help="Check a configuration file, or print the JSON schema of one.")


@config_app.command()
def check(file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)]) -> None:
    """Say every mistake in FILE with its line; exit status 2 when there is one.

    Variables in URLs must be set, as they must when the service starts; files and devices must be there.
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
    """Say what a camera sends: codec, size, rate, range, key-frame interval, and whether it decodes.

    URL as in a configuration, or a path; ${NAME} comes from the environment, which keeps a password out
    of the list of processes.
    """
    from dataclasses import asdict

    from lumaflow_service.camera.probe import as_lines, probe

    finding = probe(url, seconds, transport)
    print(json.dumps(asdict(finding)) if as_json else "\n".join(as_lines(finding)))


@config_app.command()
def schema() -> None:
    """Print the JSON schema of a configuration file, for editors."""
    from lumaflow_service.config.model import schema

    print(json.dumps(schema(), indent=2))
