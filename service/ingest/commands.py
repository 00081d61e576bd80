"""Commands about cameras. Each imports what it needs when it runs, as in `service.cli`."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

config_app = typer.Typer(help="Check a configuration file, or print the JSON schema of one.")


@config_app.command()
def check(file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)]) -> None:
    """Say every mistake in FILE with its line; exit status 2 when there is one.

    Variables in URLs must be set, as they must when the service starts.
    """
    from service.ingest.loading import load

    cameras = load(file, os.environ).config.sources
    print(f"{file}: good, {len(cameras)} source{'s' if len(cameras) != 1 else ''}")


@config_app.command()
def schema() -> None:
    """Print the JSON schema of a configuration file, for editors."""
    from service.ingest.config import schema

    print(json.dumps(schema(), indent=2))
