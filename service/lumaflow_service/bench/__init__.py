"""`lumaflow bench`: figures with their spread, beside the limit of the same machine in the same run."""

from lumaflow_service.bench.commands import app

__all__ = ["app"]
