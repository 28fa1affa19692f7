"""Which bucket a URL opens, and what a metered bucket counts."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from diffmem.errors import ConfigError, GenerationMismatch, ObjectNotFound
from diffmem.limits import Deadline
from diffmem.storage import GCSBucket, LocalBucket, MeteredBucket, open_bucket


@pytest.mark.parametrize(
    ("store", "kind", "url"),
    [
        ("file:.diffmem", LocalBucket, "file:.diffmem"),
        ("file:/var/lib/diffmem", LocalBucket, "file:/var/lib/diffmem"),
        ("file:///var/lib/diffmem", LocalBucket, "file:/var/lib/diffmem"),
        ("gs://memory", GCSBucket, "gs://memory"),
        ("gs://memory/", GCSBucket, "gs://memory"),
        ("gs://memory/a/b/", GCSBucket, "gs://memory/a/b"),
    ],
)
def test_a_url_opens_its_bucket(store: str, kind: type, url: str) -> None:
    bucket = open_bucket(store)
    assert isinstance(bucket, kind)
    assert bucket.url == url


@pytest.mark.parametrize("store", ["", "file:", "gs:", "gs://", "gs:///a", "gs://memory/a//b", "gs://memory/../a",
                                   "gs://memory/" + "a" * 101, "s3://memory", "/var/lib/diffmem"])  # fmt: skip
def test_a_url_of_no_bucket_is_refused(store: str) -> None:
    with pytest.raises(ConfigError):
        open_bucket(store)


def test_a_metered_bucket_counts_calls_and_bytes(tmp_path: Path, deadline: Deadline) -> None:
    bucket = MeteredBucket(LocalBucket(tmp_path))
    generation = bucket.put("m", b"12345", deadline, if_generation=0)
    assert (bucket.requests, bucket.bytes) == (1, 5)
    bucket.get("m", deadline)
    bucket.get_if_changed("m", generation, deadline)
    bucket.get_if_changed("m", 0, deadline)
    assert (bucket.requests, bucket.bytes) == (4, 15)
    with pytest.raises(GenerationMismatch):
        bucket.put("m", b"123", deadline, if_generation=0)
    with pytest.raises(ObjectNotFound):
        bucket.get("n", deadline)
    assert (bucket.requests, bucket.bytes) == (6, 18)
    assert [found.name for found in bucket.list("", deadline)] == ["m"]
    bucket.retention(deadline)
    bucket.delete("m", deadline)
    bucket.preload()
    bucket.close()
    assert (bucket.requests, bucket.bytes, bucket.url) == (9, 18, f"file:{tmp_path}")


def test_a_metered_bucket_counts_every_thread(tmp_path: Path, deadline: Deadline) -> None:
    bucket = MeteredBucket(LocalBucket(tmp_path))
    bucket.put("m", b"12345", deadline, if_generation=0)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: bucket.get("m", deadline), range(400)))
    assert (bucket.requests, bucket.bytes) == (401, 5 * 401)
