"""OpenTelemetry spans: one for a request, and one in it for each phase.

Whoever configures an exporter (`opentelemetry-instrument functions-framework ...`, or code that runs before the first
request) imports OpenTelemetry's API and gives it a provider. Where nobody has, nothing is imported here either, and a
request costs a look into `sys.modules`. Phases become spans when the request ends, with the times that they had.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from diffmem import __version__
from diffmem.api.call import Phase

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_API = "opentelemetry.trace"


class RequestSpan:
    """The span of a request that is being answered."""

    def __init__(self, tracer: "Tracer", span: "Span") -> None:
        self._tracer = tracer
        self._span = span

    def describe(
        self, name: str, attributes: Mapping[str, str | int], phases: Sequence[Phase], *, has_failed: bool
    ) -> None:
        """Say what the request was, and add a span for each of its phases."""
        from opentelemetry.trace import StatusCode

        self._span.update_name(name)
        self._span.set_attributes(dict(attributes))
        if has_failed:
            self._span.set_status(StatusCode.ERROR)
        epoch = time.time_ns() - time.monotonic_ns()
        for phase in phases:
            began, ended = (epoch + round(at * 1e9) for at in (phase.began, phase.ended))
            self._tracer.start_span(phase.name, start_time=began).end(ended)


@contextmanager
def request_span(headers: Mapping[str, str]) -> Iterator[RequestSpan | None]:
    """The current span in the block, in the caller's trace; None where nobody has configured an exporter.

    `headers` have lower-case names.
    """
    tracer = _tracer()
    if tracer is None:
        yield None
        return
    from opentelemetry import propagate, trace

    inside = trace.get_current_span().get_span_context().is_valid  # of what instruments the framework itself
    context = None if inside else propagate.extract(headers)
    kind = trace.SpanKind.INTERNAL if inside else trace.SpanKind.SERVER
    with tracer.start_as_current_span("request", context, kind) as span:
        yield RequestSpan(tracer, span)


def _tracer() -> "Tracer | None":
    if _API not in sys.modules:
        return None
    from opentelemetry import trace

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    return trace.get_tracer("diffmem", __version__)
