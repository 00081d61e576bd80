"""What can go wrong with files; `cli` maps each to an exit status."""

from pipeline.errors import LumaflowError


class UsageError(LumaflowError, ValueError):
    """Something was asked for that cannot be done as asked (exit status 2)."""


class BadFileError(LumaflowError, OSError):
    """A file that cannot be read as what it claims to be, or cannot be written (exit status 1)."""
