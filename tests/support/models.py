"""Models for tests: one that is ready to be asked, and what is asked of it."""

from collections.abc import Iterator
from contextlib import contextmanager

from diffmem.limits import Deadline
from diffmem.model import Addresses, Message, OpenAIModel, ToolSpec

RUN = ToolSpec("run", "Runs commands.", {"type": "object", "properties": {"command": {"type": "string"}}})
HELLO = (Message("system", "Be kind."), Message("user", "Hello."))


@contextmanager
def ready_model(base_url: str, name: str = "scripted", *, addresses: Addresses | None = None) -> Iterator[OpenAIModel]:
    """A model whose client is loaded: the import of the SDK is no part of what is timed. Closed at the end."""
    model = OpenAIModel(name, base_url, "key", addresses=addresses)
    model._client.get(Deadline(60.0))
    try:
        yield model
    finally:
        model.close()
