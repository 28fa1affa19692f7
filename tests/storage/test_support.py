"""The strict fake is strict: what it does not know it refuses, so that no test passes by its silence."""

import pytest
import requests

from tests.support.gcs_strict import StrictGCS


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/download/storage/v1/b/memory/o/m?alt=media&ifMetagenerationMatch=1", 400),
        ("GET", "/download/storage/v1/b/memory/o/m", 501),
        ("GET", "/storage/v1/b/memory/o/m", 501),
        ("GET", "/storage/v1/b/memory/o?delimiter=/", 400),
        ("GET", "/storage/v1/b/other/o", 404),
        ("POST", "/upload/storage/v1/b/memory/o?uploadType=media&name=m", 400),
        ("DELETE", "/storage/v1/b/memory/o/m?generation=1", 400),
    ],
)
def test_what_the_fake_does_not_know_it_refuses(strict: StrictGCS, method: str, path: str, status: int) -> None:
    strict.store("memory", "m", b"x", {})
    assert requests.request(method, strict.url + path, timeout=10).status_code == status


def test_an_upload_with_a_wrong_checksum_is_refused(strict: StrictGCS) -> None:
    metadata = b'content-type: application/json\r\n\r\n{"name": "m", "crc32c": "AAAAAA=="}'
    body = b"--b\r\n" + metadata + b"\r\n--b\r\ncontent-type: text/plain\r\n\r\nx\r\n--b--"
    answer = requests.post(
        f"{strict.url}/upload/storage/v1/b/memory/o?uploadType=multipart",
        data=body,
        headers={"Content-Type": 'multipart/related; boundary="b"'},
        timeout=10,
    )
    assert answer.status_code == 400
    assert strict.buckets["memory"] == {}
