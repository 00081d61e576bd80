"""The log: one line an event on stderr, in colour for a person, as JSON for a collector."""

import logging
import sys

import structlog
from structlog.typing import Processor


def configure(redact: Processor) -> None:
    """Set the log up for the whole process; `redact` strikes secrets out of every event."""
    to_person = sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if to_person else structlog.processors.JSONRenderer()
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
