"""A span for every frame, to an OpenTelemetry collector: for the extra `otel`, and only when asked for."""

import time
from importlib.metadata import version
from typing import TYPE_CHECKING

from lumaflow.errors import OptionError
from lumaflow_service.ipc.messages import Reply

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

EXPORT_SECONDS = 2
"""How long a collector may take to answer; spans it does not take are lost, never a frame."""


class Tracing:
    """Turns what became of a frame into a span; the provider sends them from a thread of its own."""

    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("lumaflow", version("lumaflow"))
        self._parents = TraceContextTextMapPropagator()
        self._failed = trace.StatusCode.ERROR

    def enhanced(self, source: str, reply: Reply, age_seconds: float, parent: str = "") -> None:
        """A span from a frame's arrival until now, inside the client's trace when it sent a traceparent."""
        end = time.time_ns()
        attributes: dict[str, str | int | float] = {
            "lumaflow.source": source,
            "lumaflow.device": reply.device,
            "lumaflow.lut": reply.lut,
            "lumaflow.sequence": reply.sequence,
            "lumaflow.frame_seconds": reply.frame_seconds,
        }
        attributes |= {f"lumaflow.{stage}_seconds": took for stage, took in reply.stage_seconds.items()}
        context = self._parents.extract({"traceparent": parent})
        start = end - round(age_seconds * 1e9)
        self._tracer.start_span("frame", context, attributes=attributes, start_time=start).end(end)

    def lost(self, source: str, error: Exception) -> None:
        """A span, of no length, for a frame that was not enhanced."""
        attributes = {"lumaflow.source": source, "error.type": type(error).__name__}
        span = self._tracer.start_span("frame", attributes=attributes)
        span.set_status(self._failed, str(error))
        span.end()

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


def open_tracing(collector: str) -> Tracing | None:
    """Tracing to an OTLP/HTTP address; None without one. Raises OptionError when the extra is missing."""
    if not collector:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise OptionError(
            "LUMAFLOW_OTLP asks for traces, which need an extra; in the folder of lumaflow type:"
            " .venv/bin/pip install -e '.[otel]'"
        ) from error
    provider = TracerProvider(
        resource=Resource({"service.name": "lumaflow", "service.version": version("lumaflow")}),
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(collector, timeout=EXPORT_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Tracing(provider)
