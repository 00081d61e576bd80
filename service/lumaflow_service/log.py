"""The log: one event a line on stderr, coloured on a terminal, otherwise JSON."""

import logging
import sys

import structlog
from structlog.typing import Processor


def configure(redact: Processor) -> None:
    """Configure the log of this process; `redact` removes secrets from every event."""
    is_terminal = sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if is_terminal else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper("iso", utc=True),
            structlog.processors.format_exc_info,
            redact,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
