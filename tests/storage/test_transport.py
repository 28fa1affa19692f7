"""A time-out bounds a whole exchange: over TLS, while sending, and however slowly it goes."""

import datetime
import ipaddress
import socket
import ssl
import threading
import time
from pathlib import Path
from typing import Any, cast

import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from diffmem.storage.transport import BoundedAdapter, Until
from tests.support.serving import Handler, Serving

LIMIT_SECONDS, SLACK_SECONDS = 0.3, 0.25
SIZE = 1_000_000


class _Slow(Handler):
    """Answers `/whole` at once, sends `/again` there again after a while, and anything else a byte at a time."""

    def do_GET(self) -> None:
        if self.path == "/whole":
            self.answer(200, b"x" * SIZE)
        elif self.path == "/again":
            cast(Any, self.server).owner.stopping.wait(0.1)
            self.answer(302, Location="/again")
        else:
            self._trickle()

    def _trickle(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(SIZE))
        self.end_headers()
        while not cast(Any, self.server).owner.stopping.wait(0.02):
            self.wfile.write(b"x")
            self.wfile.flush()


def _session() -> Any:
    """A session over the adapter. Its type in the stubs does not know `urllib3.Timeout`."""
    session = requests.Session()
    session.mount("http://", BoundedAdapter())
    session.mount("https://", BoundedAdapter())
    return session


def _certificate(folder: Path) -> Path:
    """A file with a key and a certificate for 127.0.0.1 that it has signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "server.pem"
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_an_answer_that_trickles_ends_with_its_time(tls: bool, tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None
    pem = _certificate(tmp_path)
    if context:
        context.load_cert_chain(pem)
    with Serving(_Slow, context) as server, _session() as session:
        session.verify = str(pem)
        session.trust_env = False
        assert len(session.get(f"{server.url}/whole", timeout=Until(10)).content) == SIZE
        began = time.monotonic()
        with pytest.raises(requests.RequestException):
            session.get(f"{server.url}/slow", timeout=Until(LIMIT_SECONDS))
        assert time.monotonic() - began < LIMIT_SECONDS + SLACK_SECONDS
        assert len(session.get(f"{server.url}/whole", timeout=Until(10)).content) == SIZE


def test_the_exchanges_of_one_call_share_its_time() -> None:
    with Serving(_Slow) as server, _session() as session:
        began = time.monotonic()
        with pytest.raises(requests.Timeout):
            session.get(f"{server.url}/again", timeout=Until(LIMIT_SECONDS))
        assert time.monotonic() - began < LIMIT_SECONDS + SLACK_SECONDS


def test_a_receiver_that_reads_nothing_is_given_up_in_time() -> None:
    with socket.socket() as listener, _session() as session:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        began = time.monotonic()
        with pytest.raises(requests.RequestException):
            session.post(
                f"http://127.0.0.1:{listener.getsockname()[1]}/",
                data=b"x" * 64_000_000,
                timeout=Until(LIMIT_SECONDS),
            )
        assert time.monotonic() - began < LIMIT_SECONDS + SLACK_SECONDS


def test_a_receiver_that_reads_slowly_is_given_up_in_time() -> None:
    stop = threading.Event()

    def drain(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            while not stop.wait(0.05) and connection.recv(65536):
                pass

    with socket.socket() as listener, _session() as session:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=drain, args=(listener,))
        thread.start()
        began = time.monotonic()
        with pytest.raises(requests.RequestException):
            session.post(
                f"http://127.0.0.1:{listener.getsockname()[1]}/",
                data=b"x" * 64_000_000,
                timeout=Until(LIMIT_SECONDS),
            )
        assert time.monotonic() - began < LIMIT_SECONDS + SLACK_SECONDS
        stop.set()
        thread.join()
