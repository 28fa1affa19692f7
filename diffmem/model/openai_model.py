"""A chat model of any OpenAI-compatible provider, through the openai SDK."""

import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from diffmem.errors import ModelRefused, ModelTimeout
from diffmem.limits import Deadline
from diffmem.model import habits
from diffmem.model.addresses import Addresses
from diffmem.model.client import LazyClient
from diffmem.model.failure import ExchangeFailed, Failure, retry_after
from diffmem.model.habits import Habits, Request
from diffmem.model.messages import Message, Reply, ToolChoice, ToolSpec
from diffmem.model.reading import error_message, read_reply

MAX_ANSWER_BYTES = 1024 * 1024
MAX_COMPLETION_TOKENS = 16_384

_MAX_REQUESTS = 12  # per answer: each refusal mends one habit
_MAX_RETRIES = 1
_BACKOFF_SECONDS = 0.5
_SHORTEST_ANSWER_SECONDS = 0.2  # waiting is of no use where less is left afterwards


class OpenAIModel:
    """`name` at `base_url` (OpenAI where None), asked with `api_key` (none for local servers).

    What worked is remembered by the instance, so one instance a process and model: the parameters that the provider
    takes, how it holds a schema, and whether the model makes tool calls or gives its commands in text. The memory is
    one immutable value, replaced after a request succeeded; threads may overwrite each other's, which costs a refusal.

    The SDK is imported and its client made at first use, or by `preload()`, once in each process.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        max_completion_tokens: int = MAX_COMPLETION_TOKENS,
        addresses: Addresses | None = None,
    ) -> None:
        self._name = name
        self._api_key = api_key
        self._max_completion_tokens = max_completion_tokens
        self._client = LazyClient(base_url, api_key, MAX_ANSWER_BYTES, addresses or Addresses())
        self._habits = habits.first_guess(name, self._client.base_url)
        self._lock = threading.Lock()
        self._calls_made, self._calls_missed = 0, 0

    def __repr__(self) -> str:
        return f"OpenAIModel({self._name!r}, {self._client.base_url!r})"

    @property
    def name(self) -> str:
        """The provider's name for the model."""
        return self._name

    def preload(self) -> None:
        """Start importing the SDK in a thread that ends with the import."""
        self._client.preload()

    def close(self) -> None:
        """Close idle connections; the model can be used again."""
        self._client.close()

    def prefer_text(self) -> None:
        """Give commands in text from now on, where tool calls failed more often than they worked."""
        with self._lock:
            self._calls_missed += 1
            if self._calls_missed > self._calls_made:
                self._habits = replace(self._habits, tools=False)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        schema: Mapping[str, Any] | None = None,
        deadline: Deadline,
        tool_choice: ToolChoice = "auto",
    ) -> Reply:
        """See `ChatModel.complete`. A refused parameter is left out; what may pass is tried once more in time."""
        request = Request(self._name, messages, tools, tool_choice, schema, self._max_completion_tokens)
        known = trial = self._habits
        retries = 0
        for _ in range(_MAX_REQUESTS):
            body = habits.payload(request, trial)
            try:
                reply = self._exchange(body, deadline)
            except ExchangeFailed as failed:
                changed = habits.mended(trial, failed.failure, body)
                if changed is None:
                    retries += 1
                    self._wait(failed.failure, retries, deadline)
                trial = changed or trial
            else:
                self._remember(reply, trial if trial is not known else None)
                return replace(reply, style=habits.style(request, trial))
        raise ModelRefused("the provider refuses every way of asking")

    def _remember(self, reply: Reply, changed: Habits | None) -> None:
        with self._lock:
            self._calls_made += bool(reply.tool_calls)
            self._habits = changed or self._habits

    def _wait(self, failure: Failure, retries: int, deadline: Deadline) -> None:
        """Wait before the next try, or raise the error where there shall be none."""
        seconds = _pause(failure)
        fits = seconds + _SHORTEST_ANSWER_SECONDS < deadline.remaining()
        if not failure.is_transient or retries > _MAX_RETRIES or not fits:
            raise failure.error()
        time.sleep(seconds)

    def _exchange(self, body: Mapping[str, Any], deadline: Deadline) -> Reply:
        client = self._client.get(deadline)
        import openai

        if deadline.expired:
            raise ModelTimeout("out of time before the provider was asked")
        try:
            response = client.chat.completions.with_raw_response.create(**body, timeout=deadline.remaining())
            data = response.http_response.content
        except openai.APITimeoutError as error:
            raise ModelTimeout("the provider did not answer in time") from error
        except openai.APIStatusError as error:
            raise ExchangeFailed(self._refusal(error)) from error
        except (openai.OpenAIError, ValueError) as error:
            raise ExchangeFailed(Failure(self._scrubbed(str(error.__cause__ or error)))) from error
        return read_reply(data)

    def _refusal(self, error: Any) -> Failure:
        body = error.body if error.body is not None else error.response.text
        return Failure(self._scrubbed(error_message(body)), error.status_code, retry_after(error.response.headers))

    def _scrubbed(self, message: str) -> str:
        return message.replace(self._api_key, "***")[:2000] if self._api_key else message[:2000]


def _pause(failure: Failure) -> float:
    """Seconds to wait before the same is asked again; none after a broken connection or answer."""
    if failure.retry_after is not None:
        return failure.retry_after
    return 0.0 if failure.status in (None, 200) else _BACKOFF_SECONDS * random.uniform(0.5, 1.0)
