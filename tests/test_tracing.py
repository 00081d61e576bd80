"""Tracing: one span for each frame when a collector is configured, otherwise nothing."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from conftest import RunningService, finish
from lumaflow.errors import OptionError
from lumaflow.frame import Tone, ToneReport
from lumaflow_service.control.tracing import Tracing, open_tracing
from lumaflow_service.errors import BusyError
from lumaflow_service.ipc.messages import Reply

REPLY = Reply(
    1, device="cpu", lut="previous", sequence=7, stage_seconds={"apply": 0.004}, frame_seconds=0.006
)
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    """Spans that were ended."""
    return InMemorySpanExporter()


@pytest.fixture
def tracing(spans: InMemorySpanExporter) -> Iterator[Tracing]:
    """Tracing whose spans are kept here."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    tracing = Tracing(provider)
    yield tracing
    tracing.close()


def test_a_frame_is_one_span_as_long_as_its_age(tracing: Tracing, spans: InMemorySpanExporter) -> None:
    tracing.frame_enhanced("gate", REPLY, 0.05)
    (span,) = spans.get_finished_spans()
    assert span.name == "frame"
    assert span.end_time - span.start_time == 50_000_000
    assert span.parent is None
    assert dict(span.attributes) == {
        "lumaflow.source": "gate",
        "lumaflow.device": "cpu",
        "lumaflow.lut": "previous",
        "lumaflow.sequence": 7,
        "lumaflow.frame_seconds": 0.006,
        "lumaflow.apply_seconds": 0.004,
    }


def test_a_span_has_the_tone_of_an_adaptive_mode(tracing: Tracing, spans: InMemorySpanExporter) -> None:
    tone = ToneReport(Tone.LOWLIGHT, 0.93, 8.1, 2.3, 0.0, 255.0, 0.0, False, True, "dark")
    tracing.frame_enhanced("gate", replace(REPLY, tone=tone), 0.05)
    attributes = spans.get_finished_spans()[0].attributes
    assert (attributes["lumaflow.tone"], attributes["lumaflow.tone_strength"]) == ("lowlight", 0.93)


def test_a_span_joins_the_trace_of_the_client(tracing: Tracing, spans: InMemorySpanExporter) -> None:
    tracing.frame_enhanced("gate", REPLY, 0.05, f"00-{TRACE}-00f067aa0ba902b7-01")
    tracing.frame_enhanced("gate", REPLY, 0.05, "garbage")
    child, alone = spans.get_finished_spans()
    assert f"{child.context.trace_id:032x}" == TRACE
    assert child.parent.span_id == 0x00F067AA0BA902B7
    assert alone.parent is None


def test_a_failed_frame_is_a_span_with_an_error(tracing: Tracing, spans: InMemorySpanExporter) -> None:
    tracing.frame_failed("gate", BusyError("wait"))
    (span,) = spans.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "wait"
    assert span.attributes["error.type"] == "BusyError"


def test_without_a_collector_there_is_no_tracing_and_no_sdk() -> None:
    assert open_tracing("") is None
    code = "import sys, lumaflow_service.api.app; print('opentelemetry.sdk' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


def test_a_collector_without_the_extra_is_an_option_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(OptionError, match=r"pip install -e '\.\[otel\]'"):
        open_tracing("http://127.0.0.1:1/v1/traces")


@pytest.fixture
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """A collector on loopback: its address, and what it got."""
    got: list[ExportTraceServiceRequest] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", got
        server.shutdown()
        thread.join()


def test_a_real_collector_gets_a_span_for_every_frame_of_a_real_service(
    open_service: Callable[..., RunningService],
    collector: tuple[str, list[ExportTraceServiceRequest]],
) -> None:
    address, got = collector
    running = open_service(otlp=address)
    running.wait_ready()
    path = "/v1/sources/gate/frames?format=gray8&width=32&height=32"
    headers = {"Content-Type": "application/octet-stream", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
    for _ in range(3):
        assert running.client.post(path, content=bytes(1024), headers=headers).status_code == 200
    assert running.client.post(path, content=b"short", headers=headers).status_code == 400
    finish(running.process)  # a graceful end sends what is left
    scopes = [scope for one in got for resource in one.resource_spans for scope in resource.scope_spans]
    spans = [span for scope in scopes for span in scope.spans]
    assert len(spans) == 4
    assert [span.trace_id.hex() for span in spans].count(TRACE) == 3
    assert [span.status.code for span in spans].count(2) == 1
