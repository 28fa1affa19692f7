"""The openai client of this process, made at first use.

`import openai` takes about 0.6 s of CPU, more than a short request has. A thread imports it, and whoever needs it waits
for that thread under a deadline; the thread ends with the import. A client is never used in a process that it was not
made in: sockets and threads do not survive a fork.

The SDK itself reads OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS, and the standard library the variables
of proxies; key and URL come from the caller alone.
"""

import os
import threading
from typing import TYPE_CHECKING

from diffmem.errors import ModelError, ModelTimeout
from diffmem.limits import Deadline
from diffmem.model.addresses import Addresses

if TYPE_CHECKING:
    import openai

OPENAI_URL = "https://api.openai.com/v1"

_NO_KEY = "none"  # local servers want no key, and the SDK wants one


class LazyClient:
    """One provider's client; `max_answer_bytes` bounds a response body."""

    def __init__(self, base_url: str | None, api_key: str | None, max_answer_bytes: int, addresses: Addresses) -> None:
        self.base_url = base_url or OPENAI_URL
        self._api_key = api_key or _NO_KEY
        self._max_answer_bytes = max_answer_bytes
        self._addresses = addresses
        self._lock = threading.Lock()
        self._making: _Making | None = None

    def preload(self) -> None:
        """Start making the client, unless it is made or being made in this process."""
        self._made_here()

    def get(self, deadline: Deadline) -> "openai.OpenAI":
        """The client.

        Raises:
            ModelTimeout: it is not ready before the deadline.
            ModelError: it cannot be made.
        """
        return self._made_here().result(deadline)

    def close(self) -> None:
        """Close the idle connections of a client made in this process; the next use makes another client."""
        with self._lock:
            making, self._making = self._making, None
        if making is not None and making.pid == os.getpid():
            making.close()

    def _made_here(self) -> "_Making":
        with self._lock:
            if self._making is None or self._making.pid != os.getpid() or self._making.error is not None:
                self._making = _Making(self.base_url, self._api_key, self._max_answer_bytes, self._addresses)
            return self._making


class _Making:
    """A client that a thread is making."""

    def __init__(self, base_url: str, api_key: str, max_answer_bytes: int, addresses: Addresses) -> None:
        self.pid = os.getpid()
        self.error: Exception | None = None
        self._client: openai.OpenAI | None = None
        arguments = (base_url, api_key, max_answer_bytes, addresses)
        self._thread = threading.Thread(target=self._make, args=arguments, name="openai-import", daemon=True)
        self._thread.start()

    def result(self, deadline: Deadline) -> "openai.OpenAI":
        self._thread.join(deadline.remaining())
        if self._client is not None:
            return self._client
        if self.error is not None:
            raise ModelError(f"no client for the provider: {self.error}") from self.error
        raise ModelTimeout("out of time while the provider's client was loading")

    def close(self) -> None:
        self._thread.join()
        if self._client is not None:
            self._client.close()

    def _make(self, base_url: str, api_key: str, max_answer_bytes: int, addresses: Addresses) -> None:
        try:
            self._client = make_client(base_url, api_key, max_answer_bytes, addresses)
        except Exception as error:  # noqa: BLE001 - it is raised again, in the thread that waits
            self.error = error


def make_client(base_url: str, api_key: str, max_answer_bytes: int, addresses: Addresses) -> "openai.OpenAI":
    """An SDK client that retries nothing, follows nothing, and whose time-outs bound the whole exchange."""
    import httpx2
    import openai

    from diffmem.model.transport import DeadlineTransport

    transport = DeadlineTransport(base_url, addresses, max_answer_bytes)
    http_client = httpx2.Client(transport=transport, follow_redirects=False, trust_env=False)
    client = openai.OpenAI(
        api_key=api_key,
        base_url=base_url,
        max_retries=0,
        http_client=http_client,
        default_headers={"Accept-Encoding": "identity"},
    )
    _ = client.chat.completions  # the SDK imports this part at first use
    return client
