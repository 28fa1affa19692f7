"""Who may call: `none` (loopback only), `key` (keys with a user pattern and a scope) or `iam` (the platform checks).

*Covered*: keys are compared in constant time, every configured key on every request; a key reaches only the users its
pattern names; `none` answers nobody but this machine, and no web page that a browser on it was led to (Host must name
loopback, so DNS rebinding ends here; bodies must be JSON, so cross-site forms do). *Not covered*: who the person behind
a key is; `iam` trusts that Cloud Run has refused callers without `run.invoker` before the request arrives.
"""

import fnmatch
import hashlib
import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from diffmem.config import Config
from diffmem.errors import ConfigError, Forbidden, Unauthenticated
from diffmem.http.routing import Scope

_BEARER = re.compile(r"\Abearer ", re.IGNORECASE)
_IAM_CALLER = "x-goog-authenticated-user-email"


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of `DIFFMEM_API_KEYS`: `name:key:user-pattern`, and `:read` where it must not write."""

    name: str
    digest: bytes
    users: str
    scope: Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, for the log and the rate limit, and whether this user's memory may be written."""

    name: str
    may_write: bool


class Authenticator:
    """Checks a request's credentials against the configuration."""

    def __init__(self, config: Config) -> None:
        if config.auth == "none" and config.on_cloud_run:
            raise ConfigError(
                "DIFFMEM_AUTH=none answers loopback only and cannot serve on Cloud Run: set 'key' or 'iam'"
            )
        if config.auth == "key" and not config.api_keys:
            raise ConfigError("DIFFMEM_AUTH=key needs DIFFMEM_API_KEYS")
        self._auth = config.auth
        self._keys = parse_keys(config.api_keys)

    def caller(self, headers: Mapping[str, str], remote_address: str | None, scope: Scope, user: str | None) -> Caller:
        """The caller of a request, with lower-case header names, to a route of `scope` about `user`.

        Raises:
            Unauthenticated: no key, or a wrong one; or `none` and not this machine.
            Forbidden: a key that may not touch this user, or not write.
        """
        if scope in ("public", "hook"):
            return Caller("public", may_write=scope == "hook")
        if self._auth == "iam":
            return Caller(headers.get(_IAM_CALLER, "iam"), may_write=True)
        if self._auth == "none":
            if not (_is_loopback(remote_address) and _names_loopback(headers.get("host", ""))):
                raise Unauthenticated("DIFFMEM_AUTH is 'none': only this machine is answered, at a loopback address")
            return Caller("loopback", may_write=True)
        return self._key_caller(headers, scope, user)

    def _key_caller(self, headers: Mapping[str, str], scope: Scope, user: str | None) -> Caller:
        digest = _digest(_BEARER.sub("", headers.get("authorization", "")).strip())
        matching = [key for key in self._keys if hmac.compare_digest(key.digest, digest)]
        if not matching:
            raise Unauthenticated("send 'Authorization: Bearer KEY' with a valid key")
        for key in matching:
            if (user is None or fnmatch.fnmatchcase(user, key.users)) and (scope == "read" or key.scope == "write"):
                return Caller(key.name, may_write=key.scope == "write")
        raise Forbidden(f"key {matching[0].name!r} may not {scope} user {user!r}")


def parse_keys(text: str) -> tuple[Key, ...]:
    """The keys of `DIFFMEM_API_KEYS`. A pattern is a shell glob over user ids and may itself hold `:`.

    Raises:
        ConfigError: naming the entry by its position, never its key.
    """
    keys = []
    for position, entry in enumerate(filter(None, (part.strip() for part in text.split(","))), start=1):
        name, _, rest = entry.partition(":")
        secret, _, users = rest.partition(":")
        users, scope = _split_scope(users)
        if not (name and users) or len(secret) < 16:
            raise ConfigError(
                f"DIFFMEM_API_KEYS: entry {position} must be name:key:user-pattern, the key 16 characters or more"
            )
        keys.append(Key(name, _digest(secret), users, scope))
    return tuple(keys)


def _split_scope(users: str) -> tuple[str, Literal["read", "write"]]:
    if users.endswith(":read"):
        return users.removesuffix(":read"), "read"
    return users.removesuffix(":write"), "write"


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _is_loopback(address: str | None) -> bool:
    try:
        return ipaddress.ip_address(address or "").is_loopback
    except ValueError:
        return False


def _names_loopback(host: str) -> bool:
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    return name == "localhost" or _is_loopback(name.strip("[]"))
