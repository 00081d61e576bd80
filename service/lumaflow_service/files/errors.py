"""What can go wrong with files; `cli` maps each to an exit status."""

from lumaflow.errors import LumaflowError


class UsageError(LumaflowError, ValueError):
    """Something that cannot be done as asked, with a file that is no media say (exit status 2)."""


class BadFileError(LumaflowError, OSError):
    """A file that is damaged, or cannot be written after all (exit status 1)."""
