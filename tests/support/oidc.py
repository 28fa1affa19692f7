"""An issuer of OIDC tokens: keys of its own, their certificates at a local address, and how often it was asked."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from google.auth import crypt, jwt

from tests.support.serving import Handler, Serving

AUDIENCE = "https://memory.example.com/v1/hooks/events"
EMAIL = "push@project.iam.gserviceaccount.com"
ISSUER = "https://accounts.google.com"


class Key:
    """An RSA key and its certificate."""

    def __init__(self, key_id: str) -> None:
        self.id = key_id
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "issuer.example.com")])
        self.certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._key.public_key())
            .serial_number(1)
            .not_valid_before(datetime.now(UTC) - timedelta(days=1))
            .not_valid_after(datetime.now(UTC) + timedelta(days=1))
            .sign(self._key, hashes.SHA256())
            .public_bytes(serialization.Encoding.PEM)
            .decode()
        )

    @property
    def pem(self) -> str:
        """The private key."""
        return self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()

    def token(self, **claims: Any) -> str:
        """A token with claims as Pub/Sub makes them, changed by `claims`; None leaves one out."""
        now = int(time.time())
        plain = {
            "aud": AUDIENCE,
            "azp": "113774264463038321964",
            "email": EMAIL,
            "email_verified": True,
            "exp": now + 3600,
            "iat": now,
            "iss": ISSUER,
            "sub": "113774264463038321964",
        }
        whole = {name: value for name, value in {**plain, **claims}.items() if value is not None}
        make: Any = crypt.RSASigner.from_string
        encode: Any = jwt.encode
        return str(encode(make(self.pem, self.id), whole).decode())


class Issuer(Serving):
    """Serves `keys` as Google serves its certificates; `status` and `cache_control` may be changed."""

    def __init__(self, *keys: Key, cache_control: str = "public, max-age=20000") -> None:
        self.keys = list(keys)
        self.status = 200
        self.cache_control = cache_control
        self.asked = 0
        super().__init__(_Certificates)


class _Certificates(Handler):
    def do_GET(self) -> None:
        """The certificates."""
        issuer: Issuer = self.server.owner  # type: ignore[attr-defined]
        issuer.asked += 1
        body = json.dumps({key.id: key.certificate for key in issuer.keys}).encode()
        self.answer(issuer.status, body, Cache_Control=issuer.cache_control)
