import errno
import inspect
import os

import pytest

from diffmem import errors
from diffmem.http import problems

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.DiffMemError)]
LEAVES = [kind for kind in ALL if not kind.__subclasses__()]


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_every_error_has_a_row(kind: type[errors.DiffMemError]) -> None:
    assert any(base in problems.TABLE for base in kind.__mro__), kind


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_what_a_caller_can_mend_is_never_a_server_error(kind: type[errors.DiffMemError]) -> None:
    assert (problems.TABLE[kind].status < 500) if issubclass(kind, errors.RequestError) else True


def test_the_tree_in_the_docstring_names_every_error() -> None:
    assert errors.__doc__ is not None
    for kind in ALL:
        assert kind.__name__ in errors.__doc__, kind


def test_a_body_has_the_members_of_rfc_9457() -> None:
    body = problems.body(errors.UnknownPath("no file 'x.md'"), "abc")
    assert body == {
        "type": "/problems/unknown-path",
        "title": "The memory has no such file",
        "status": 404,
        "detail": "no file 'x.md'",
        "request_id": "abc",
    }


def test_an_internal_error_keeps_its_text_to_the_log() -> None:
    assert "secret" not in str(problems.body(RuntimeError("secret"), "abc"))
    assert "/srv" not in str(problems.body(errors.GitError("/srv/x"), "abc"))


def test_a_full_or_broken_disk_is_a_503_that_keeps_the_path_to_itself() -> None:
    for code in (errno.ENOSPC, errno.EROFS, errno.ENOENT, errno.ENOTDIR):
        error = OSError(code, os.strerror(code), "/srv/cache/x")
        body = problems.body(error, "abc")
        assert (body["status"], body["type"]) == (503, "/problems/storage-unavailable")
        assert os.strerror(code) in str(body["detail"])
        assert "/srv" not in str(body)
        assert problems.headers(error) == {"Retry-After": "5"}


def test_retry_after_is_whole_seconds_of_at_least_one() -> None:
    assert problems.headers(errors.StorageUnavailable("down", 0.2)) == {"Retry-After": "1"}
    assert problems.headers(errors.RateLimited("slow down", 7.4)) == {"Retry-After": "7"}
    assert problems.headers(errors.CorruptObject("m")) == {"Retry-After": "5"}
    assert problems.headers(errors.MethodNotAllowed("no", ("GET", "PUT"))) == {"Allow": "GET, PUT"}
