import pytest

from diffmem.config import Config
from diffmem.errors import ConfigError, Forbidden, Unauthenticated
from diffmem.http.auth import Authenticator, Caller, parse_keys

ALICE = "alice-key-0123456789"
READER = "reader-key-0123456789"
KEYS = f"alice:{ALICE}:alice-*,reader:{READER}:*:read"


def _bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_a_key_reaches_the_users_of_its_pattern() -> None:
    authenticator = Authenticator(Config(auth="key", api_keys=KEYS))
    assert authenticator.caller(_bearer(ALICE), "203.0.113.9", "write", "alice-1") == Caller("alice", may_write=True)
    with pytest.raises(Forbidden, match="'alice'"):
        authenticator.caller(_bearer(ALICE), "203.0.113.9", "write", "bob")
    with pytest.raises(Forbidden):
        authenticator.caller(_bearer(ALICE), "203.0.113.9", "read", "ALICE-1")


def test_a_read_key_does_not_write() -> None:
    authenticator = Authenticator(Config(auth="key", api_keys=KEYS))
    assert authenticator.caller(_bearer(READER), "203.0.113.9", "read", "bob") == Caller("reader", may_write=False)
    with pytest.raises(Forbidden, match="write"):
        authenticator.caller(_bearer(READER), "203.0.113.9", "write", "bob")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_name_of_the_scheme_is_written_as_one_likes(scheme: str) -> None:
    """RFC 9110, 11.1."""
    authenticator = Authenticator(Config(auth="key", api_keys=KEYS))
    headers = {"authorization": f"{scheme} {ALICE}"}
    assert authenticator.caller(headers, "203.0.113.9", "read", "alice-1").name == "alice"


@pytest.mark.parametrize(
    "headers", [{}, _bearer(""), _bearer("nobody's-key-0123"), {"authorization": f"Basic {ALICE}"}]
)
def test_no_key_or_a_wrong_one_is_unauthenticated(headers: dict[str, str]) -> None:
    authenticator = Authenticator(Config(auth="key", api_keys=KEYS))
    with pytest.raises(Unauthenticated):
        authenticator.caller(headers, "127.0.0.1", "read", "alice-1")


@pytest.mark.parametrize(
    ("address", "host"), [("203.0.113.9", "localhost"), ("127.0.0.1", "evil.example"), (None, "localhost")]
)
def test_without_authentication_only_this_machine_is_answered(address: str | None, host: str) -> None:
    authenticator = Authenticator(Config())
    assert authenticator.caller({"host": "127.0.0.1:8080"}, "127.0.0.1", "write", "alex").name == "loopback"
    assert authenticator.caller({"host": "[::1]:8080"}, "::1", "write", "alex").name == "loopback"
    with pytest.raises(Unauthenticated):
        authenticator.caller({"host": host}, address, "write", "alex")


def test_none_on_cloud_run_and_key_without_keys_do_not_start() -> None:
    with pytest.raises(ConfigError, match="Cloud Run"):
        Authenticator(Config(auth="none", on_cloud_run=True))
    with pytest.raises(ConfigError, match="DIFFMEM_API_KEYS"):
        Authenticator(Config(auth="key"))


@pytest.mark.parametrize("text", ["alice", "alice:key", "alice:short:*", f":{ALICE}:*", f"alice:{ALICE}:"])
def test_a_malformed_key_entry_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ConfigError, match="entry 1") as caught:
        parse_keys(text)
    assert ALICE not in str(caught.value)


def test_a_pattern_may_hold_colons() -> None:
    assert parse_keys(f"a:{ALICE}:team:*:read")[0].users == "team:*"
