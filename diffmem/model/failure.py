"""What a provider's failure says: a status, a message, how long to wait."""

import email.utils
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

from diffmem.errors import ModelError, ModelRefused

# 403 is moderation at some (https://openrouter.ai/docs/api/reference/errors-and-debugging); 200 holds no completion.
_REFUSALS = (200, 400, 403, 413, 422)
_QUOTA = ("insufficient_quota", "billing", "credit balance")


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed exchange. `status` is None where no response came; `retry_after` is in seconds."""

    message: str
    status: int | None = None
    retry_after: float | None = None

    @property
    def is_transient(self) -> bool:
        """Whether the same request may fare better: no response, an unusable one, 408, 409, 425, 429 or 5xx."""
        if self.status == 429:
            return not self._is_unpaid
        return self.status is None or self.status in (200, 408, 409, 425) or self.status >= 500

    def error(self) -> ModelError:
        """The error to raise for it."""
        what = "the provider failed" if self.status is None else f"the provider answered {self.status}"
        is_refusal = self.status in _REFUSALS and not self._is_unpaid
        return (ModelRefused if is_refusal else ModelError)(f"{what}: {self.message[:300]}")

    @property
    def _is_unpaid(self) -> bool:
        return any(word in self.message.lower() for word in _QUOTA)


class ExchangeFailed(Exception):
    """Carries a `Failure` from where a response is read to where it is decided what to do about it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that `Retry-After-Ms` or `Retry-After` (RFC 9110, section 10.2.3: seconds or a date) asks for."""
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        seconds = _number(headers.get(name))
        if seconds is not None:
            return max(0.0, seconds / per_second)
    date = email.utils.parsedate_tz(headers.get("retry-after", ""))
    if date is None:
        return None
    try:
        return max(0.0, email.utils.mktime_tz(date) - time.time())
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return None if math.isnan(number) else number
