"""The routes of the contract on a server, over HTTP.

*Covered*: no redirection is followed, so that the key goes where it was meant to go and nowhere else; whoever sends it
without TLS to another machine is told. An answer that breaks off, or that no DiffMem gives (a page to log in at), is
never taken for one. *Not covered*: certificates of one's own; Python's `SSL_CERT_FILE` names them.
"""

import http.client
import io
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from types import TracebackType
from typing import Any, BinaryIO, Self
from urllib.parse import SplitResult, urlencode, urlsplit

from diffmem.cli.access import SECONDS, Failed, Misused, Reply
from diffmem.cli.output import note

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_FILES = ("application/x-git-bundle", "text/x-diff")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves a redirection to be an error."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none."""


class _Body(io.RawIOBase):
    """What a server sends; where it breaks off, that is `Failed`."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As `io.RawIOBase.readinto`."""
        try:
            part = self._response.read(len(buffer))
        except (OSError, http.client.HTTPException) as error:
            raise _broken_off() from error
        if not part and self._response.length:  # http.client is silent where a Content-Length was promised
            raise _broken_off()
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()
        super().close()


class _Answer(dict[str, Any]):
    """An object of an answer; a field that is not there, though the contract promises it, is `Failed`."""

    def __missing__(self, name: str) -> Any:
        raise Failed(f"the server is no DiffMem: it answered JSON without {name!r}", slug="not-diffmem")


class _NoFile(io.RawIOBase):
    """The file of an answer in JSON; reading it is `Failed`."""

    def readable(self) -> bool:
        """It is, as far as is known."""
        return True

    def readinto(self, _: Any) -> int:
        """Nothing."""
        raise Failed("the server is no DiffMem: it answered JSON in place of a file", slug="not-diffmem")


class Remote:
    """An `Access` to the server at `url`, with a key where one is needed."""

    def __init__(self, url: str, key: str | None) -> None:
        parts = _parts(url)
        if key and not (key.isascii() and key.isprintable()):
            raise Failed("the key is no key: it has other characters than ASCII's, or a line break in it")
        if key and parts.scheme == "http" and parts.hostname not in _THIS_MACHINE:
            note(f"the key travels to {parts.hostname} for everybody on the way to read: use https")
        self.where = url.rstrip("/")
        self._key = key
        self._opener = urllib.request.build_opener(_NoRedirects())

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        file: BinaryIO | None = None,
    ) -> Reply:
        """See `Access.send`."""
        request = self._request(method, path + ("?" + urlencode(query) if query else ""), body, file)
        try:
            response = self._opener.open(request, timeout=SECONDS)
        except urllib.error.HTTPError as error:
            with error:
                raise _failed(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise Failed(f"no answer from {self.where}: {reason}", slug="no-answer") from error
        answer = io.BufferedReader(_Body(response))
        media_type = response.headers.get_content_type()
        if media_type in _FILES and "X-Request-Id" in response.headers:
            return Reply(response.status, None, answer)
        with answer:
            if media_type != "application/json" or "X-Request-Id" not in response.headers:
                raise Failed(f"{self.where} is no DiffMem: it answered {media_type}", slug="not-diffmem")
            try:
                data = json.load(answer, object_hook=_Answer)
            except ValueError as error:
                raise Failed(f"{self.where} answered something that is no JSON", slug="not-diffmem") from error
        if not isinstance(data, dict):
            raise Failed(f"{self.where} is no DiffMem: it answered JSON that is no object", slug="not-diffmem")
        return Reply(response.status, data, io.BufferedReader(_NoFile()))

    def _request(
        self, method: str, address: str, body: Mapping[str, Any] | None, file: BinaryIO | None
    ) -> urllib.request.Request:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        data: Any = None
        if file is not None:
            data = file
            headers |= {"Content-Type": "application/x-git-bundle", "Content-Length": str(_size(file))}
        elif body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        return urllib.request.Request(self.where + address, data, headers, method=method)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return


def _parts(url: str) -> SplitResult:
    """The parts of a server's address.

    Raises:
        Misused: it is none.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if "@" in parts.netloc:
        raise Misused("--url takes no name and no password: a key goes into DIFFMEM_KEY or --key-file")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Misused(f"--url must be 'http://HOST:PORT' or 'https://HOST', not {url!r}")
    return parts


def _broken_off() -> Failed:
    return Failed("the server's answer broke off", slug="no-answer")


def _failed(error: urllib.error.HTTPError) -> Failed:
    retry = error.headers.get("Retry-After", "")
    try:
        problem = json.load(error)
        message, slug = str(problem["detail"]), str(problem["type"]).rpartition("/")[2]
    except (ValueError, KeyError, TypeError):
        message, slug = f"the server answered {error.code} {error.reason}", "not-diffmem"
    return Failed(message, status=error.code, slug=slug, retry_after_seconds=float(retry) if retry.isdecimal() else 0.0)


def _size(file: BinaryIO) -> int:
    at = file.tell()
    size = file.seek(0, os.SEEK_END) - at
    file.seek(at)
    return size
