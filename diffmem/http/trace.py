"""A request's identity: the platform's trace where one was sent, else a new one."""

import re
import uuid
from collections.abc import Mapping

_CLOUD_TRACE = re.compile(r"([0-9a-f]{32})(?:/|$)", re.IGNORECASE)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def request_id(headers: Mapping[str, str]) -> str:
    """32 hex digits: of `X-Cloud-Trace-Context`, else of `traceparent` (W3C Trace Context), else random.

    `headers` have lower-case names.
    """
    for name, pattern in (("x-cloud-trace-context", _CLOUD_TRACE), ("traceparent", _TRACEPARENT)):
        found = pattern.match(headers.get(name, ""))
        if found:
            return found[1].lower()
    return uuid.uuid4().hex
