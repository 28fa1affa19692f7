"""Google's OIDC tokens, as Pub/Sub push sends them: signature, audience, issuer and e-mail; certificates are cached.

https://docs.cloud.google.com/pubsub/docs/authenticate-push-subscriptions

google.auth (120 ms) is imported at the first check.

*Covered*: keys that rotate (an unknown key id asks for the certificates again, at most once a minute, whoever sends
it); the deadline. *Not covered*: an endpoint of certificates that trickles the head of its answer.
"""

import http.client
import re
import threading
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic_core import from_json

from diffmem.errors import StorageUnavailable, Unauthenticated
from diffmem.hooks.signatures import Received, bearer_token, is_same
from diffmem.hooks.times import TOLERANCE
from diffmem.limits import Deadline

GOOGLE_CERTIFICATES = "https://www.googleapis.com/oauth2/v1/certs"
GOOGLE_ISSUERS = ("https://accounts.google.com", "accounts.google.com")

_MAX_BYTES = 1024 * 1024
_FETCH_SECONDS = 5.0
_BETWEEN_FETCHES = timedelta(minutes=1)
_LONGEST = timedelta(days=1)
_MAX_AGE = re.compile(r"max-age=(\d{1,9})")


class Certificates:
    """The certificates of an issuer by key id, kept for as long as its answer allows; thread-safe."""

    def __init__(self, url: str = GOOGLE_CERTIFICATES) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._found: Mapping[str, str] = {}
        self._fetched_at: datetime | None = None
        self._until: datetime | None = None

    def of(self, key_id: str, now: datetime, deadline: Deadline) -> str | None:
        """The certificate of `key_id`, in PEM; None where the issuer has none such.

        Raises:
            StorageUnavailable: the certificates cannot be had now; the sender may try again.
        """
        if not self._lock.acquire(timeout=min(deadline.remaining(), _FETCH_SECONDS)):
            raise StorageUnavailable("the issuer's certificates are still being fetched")
        try:
            if self._is_due(key_id, now):
                self._fetch(now, deadline)
            return self._found.get(key_id)
        finally:
            self._lock.release()

    def _is_due(self, key_id: str, now: datetime) -> bool:
        if self._fetched_at is None or self._until is None or now >= self._until:
            return True
        return key_id not in self._found and now - self._fetched_at >= _BETWEEN_FETCHES

    def _fetch(self, now: datetime, deadline: Deadline) -> None:
        deadline = deadline.within(_FETCH_SECONDS)
        try:
            with urllib.request.urlopen(self._url, timeout=max(0.001, deadline.remaining())) as answer:
                found = from_json(_read(answer, deadline))
                kept_for = _MAX_AGE.search(answer.headers.get("Cache-Control") or "")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise StorageUnavailable("the issuer's certificates cannot be fetched") from error
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            raise StorageUnavailable("the issuer's certificates are not what they should be")
        self._found, self._fetched_at = found, now
        age = timedelta(seconds=int(kept_for[1])) if kept_for else _LONGEST
        self._until = now + max(_BETWEEN_FETCHES, min(age, _LONGEST))


@dataclass(frozen=True, slots=True)
class OidcCheck:
    """What a token must say: for whom it is, who issued it, and on whose behalf."""

    audience: str
    email: str
    issuers: tuple[str, ...]
    certificates: Certificates

    def __call__(self, received: Received, deadline: Deadline) -> None:
        """Check the bearer token of `received`; the times in it are compared with the machine's clock.

        Raises:
            Unauthenticated: no token, or one that is not good; the message says why, without the token.
            StorageUnavailable: it cannot be checked now.
        """
        token = bearer_token(received)
        certificate = self.certificates.of(_key_id(token), received.now, deadline)
        if certificate is None:
            raise Unauthenticated("the token is signed with a key that its issuer does not have")
        claims = _claims(token, certificate, self.audience)
        if claims.get("iss") not in self.issuers:
            raise Unauthenticated("the token is not of the expected issuer")
        if not (claims.get("email_verified") is True and is_same(str(claims.get("email")), self.email)):
            raise Unauthenticated("the token is not on behalf of the expected e-mail")


def _read(answer: http.client.HTTPResponse, deadline: Deadline) -> bytes:
    data = b""
    while piece := answer.read1(_MAX_BYTES):
        data += piece
        if deadline.expired or len(data) > _MAX_BYTES:
            raise TimeoutError("too slow, or too long")
    return data


def _jwt() -> Any:
    from google.auth import jwt

    return jwt


def _key_id(token: str) -> str:
    try:
        header = _jwt().decode_header(token)
    except (ValueError, TypeError, RecursionError) as error:
        raise Unauthenticated("the token is not a JWT") from error
    if header.get("alg") != "RS256" or not isinstance(header.get("kid"), str):
        raise Unauthenticated("the token is not signed with RS256 and a key id")
    return str(header["kid"])


def _claims(token: str, certificate: str, audience: str) -> Mapping[str, Any]:
    skew = int(TOLERANCE.total_seconds())
    try:
        claims: Mapping[str, Any] = _jwt().decode(token, certificate, audience=audience, clock_skew_in_seconds=skew)
    except (ValueError, TypeError, RecursionError) as error:
        raise Unauthenticated("the token's signature, times or audience are not good") from error
    return claims
