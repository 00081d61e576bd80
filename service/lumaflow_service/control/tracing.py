"""OpenTelemetry tracing: one span a frame, sent to a collector. Needs the extra `otel`; off by default."""

import time
from importlib.metadata import version
from typing import TYPE_CHECKING

from lumaflow.errors import OptionError
from lumaflow_service.ipc.messages import Reply

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

EXPORT_SECONDS = 2
"""Timeout of the collector. Spans that it does not accept in time are dropped; frames do not wait."""


class Tracing:
    """Creates the spans of frames; the provider exports them in a background thread."""

    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("lumaflow", version("lumaflow"))
        self._propagator = TraceContextTextMapPropagator()
        self._error_status = trace.StatusCode.ERROR

    def frame_enhanced(self, source: str, reply: Reply, age_seconds: float, parent: str = "") -> None:
        """Record a span from a frame's arrival until now; `parent` is the client's traceparent, or empty."""
        end = time.time_ns()
        attributes: dict[str, str | int | float] = {
            "lumaflow.source": source,
            "lumaflow.device": reply.device,
            "lumaflow.lut": reply.lut,
            "lumaflow.sequence": reply.sequence,
            "lumaflow.frame_seconds": reply.frame_seconds,
        }
        if reply.tone:
            attributes |= {
                "lumaflow.tone": reply.tone.mode,
                "lumaflow.tone_strength": reply.tone.strength,
            }
        attributes |= {f"lumaflow.{stage}_seconds": seconds for stage, seconds in reply.stage_seconds.items()}
        context = self._propagator.extract({"traceparent": parent})
        start = end - round(age_seconds * 1e9)
        self._tracer.start_span("frame", context, attributes=attributes, start_time=start).end(end)

    def frame_failed(self, source: str, error: Exception) -> None:
        """Record a span of zero length, with the error, for a frame that was not enhanced."""
        attributes = {"lumaflow.source": source, "error.type": type(error).__name__}
        span = self._tracer.start_span("frame", attributes=attributes)
        span.set_status(self._error_status, str(error))
        span.end()

    def close(self) -> None:
        """Export the remaining spans."""
        self._provider.shutdown()


def open_tracing(collector: str) -> Tracing | None:
    """Tracing to an OTLP/HTTP URL; None when it is empty. Raises OptionError when the extra is missing."""
    if not collector:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise OptionError(
            "LUMAFLOW_OTLP is set, but the extra for traces is not installed; in the folder of lumaflow type:"
            " .venv/bin/pip install -e '.[otel]'"
        ) from error
    provider = TracerProvider(
        resource=Resource({"service.name": "lumaflow", "service.version": version("lumaflow")}),
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(collector, timeout=EXPORT_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Tracing(provider)
