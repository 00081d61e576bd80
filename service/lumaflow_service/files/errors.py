"""Errors of files. `cli` maps each to an exit status."""

from lumaflow.errors import LumaflowError


class UsageError(LumaflowError, ValueError):
    """Invalid arguments or an unsupported input file (exit status 2)."""


class BadFileError(LumaflowError, OSError):
    """A damaged input file, or an output file that cannot be written (exit status 1)."""
