"""What schemathesis has to be told of DiffMem's media types: their bodies are sent as they are."""

from typing import Any

import schemathesis


@schemathesis.serializer("application/x-git-bundle", "text/markdown")
def as_it_is(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """The body of a request."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
