"""Spans of OpenTelemetry: with its SDK, in a process of its own since a provider is set once; and without any."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from diffmem.http import trace
from diffmem.http.spans import request_span

ROOT = Path(__file__).parent.parent.parent
TRACE = "105445aa7843bc8bf206b12000100000"
_PROGRAM = """
import json, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pathlib import Path
from tests.support.app import function

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
session = {"messages": [{"role": "user", "content": "canary"}], "mode": "archive"}
headers = {"traceparent": "00-105445aa7843bc8bf206b12000100000-00000000000000ff-01"}
with function(Path(sys.argv[1])) as app:
    app.post("/v1/users/canary/sessions", session, headers=headers)
    app.post("/v1/users/canary/context", {"query": "canary"}, headers=headers)
    app.get("/v1/users/nobody")
spans = exporter.get_finished_spans()
print(json.dumps([{
    "name": span.name, "kind": span.kind.name, "trace": f"{span.context.trace_id:032x}",
    "id": span.context.span_id, "parent": span.parent and span.parent.span_id,
    "began": span.start_time, "ended": span.end_time, "attributes": dict(span.attributes),
} for span in spans]))
"""

Spans = list[dict[str, Any]]


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> Spans:
    folder = tmp_path_factory.mktemp("spans")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: Spans = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_request_is_a_span_in_its_callers_trace_with_a_span_for_each_phase(spans: Spans) -> None:
    (request,) = [span for span in spans if span["name"] == "POST /v1/users/{user}/context"]
    assert (request["kind"], request["trace"], request["parent"]) == ("SERVER", TRACE, 0xFF)
    phases = [span for span in spans if span["parent"] == request["id"]]
    assert [span["name"] for span in phases] == ["hydrate", "plan", "resolve", "remember"]
    for span in phases:
        assert request["began"] - 1_000_000 <= span["began"] <= span["ended"] <= request["ended"] + 1_000_000
    attributes = request["attributes"]
    assert attributes["http.route"] == "/v1/users/{user}/context"
    assert attributes["http.response.status_code"] == 200
    assert attributes["stop_reason"] == "no_model"


def test_spans_hold_no_content(spans: Spans) -> None:
    assert len(spans) == 3 + 4 + 1
    assert "canary" not in json.dumps(spans)


def test_where_nobody_exports_there_is_no_span() -> None:
    with request_span({}) as span:
        assert span is None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"x-cloud-trace-context": f"{TRACE}/255;o=1"}, trace.Trace(TRACE, "00000000000000ff", True)),
        ({"x-cloud-trace-context": f"{TRACE.upper()}/0"}, trace.Trace(TRACE)),
        ({"x-cloud-trace-context": TRACE}, trace.Trace(TRACE)),
        ({"x-cloud-trace-context": f"{TRACE}/99999999999999999999"}, trace.Trace(TRACE)),
        ({"traceparent": f"00-{TRACE}-00000000000000ff-00"}, trace.Trace(TRACE, "00000000000000ff")),
        ({"traceparent": f"00-{TRACE}-00000000000000ff-01"}, trace.Trace(TRACE, "00000000000000ff", True)),
    ],
)
def test_the_trace_is_the_platforms(headers: dict[str, str], expected: trace.Trace) -> None:
    assert trace.of(headers) == expected


@pytest.mark.parametrize("value", ["", "x", f"{TRACE}x", f"{TRACE}/1;o=1; drop", f"00-{TRACE}", "0" * 31])
def test_what_is_no_trace_is_never_taken_for_one(value: str) -> None:
    found = trace.of({"x-cloud-trace-context": value, "traceparent": value})
    assert len(found.id) == 32
    assert found.id not in value or not value
