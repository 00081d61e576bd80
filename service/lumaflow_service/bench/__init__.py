"""`lumaflow bench`: figures with their spread, and the limit of the same machine from the same run."""

from lumaflow_service.bench.commands import app

__all__ = ["app"]
