"""One process's connection to a bucket of Cloud Storage: each function here is one HTTP request, and repeats nothing.

Library retries are off everywhere: after a write whose reply was lost, the library's second try meets the object its
first try made, and reports 412 for a put that succeeded. Whoever calls decides what to repeat.

This module imports the client, which takes 0.3 s: import it at the first call to the bucket, not before.
"""

import base64
from collections.abc import Iterator
from typing import NamedTuple

import google_crc32c
from google.api_core.exceptions import Forbidden, NotModified
from google.cloud import storage

from diffmem.errors import OutcomeUnknown
from diffmem.storage.bucket import Listed, Object, Retention
from diffmem.storage.gcs_errors import of_put, of_read, of_write, translated
from diffmem.storage.transport import BoundedAdapter, Until

PAGE_OBJECTS = 1000
LISTED_FIELDS = "items(name,generation,size),nextPageToken"


class Page(NamedTuple):
    """Part of a listing; `next_token` asks for the next part, None where this is the last."""

    objects: tuple[Listed, ...]
    next_token: str | None


class Connection:
    """A client for the bucket `name`, with its own pool of HTTP connections; never to be shared over a fork.

    `endpoint` is asked without credentials, and so is the server that `STORAGE_EMULATOR_HOST` names, where it is set;
    Google is asked with the credentials of the machine.
    """

    def __init__(self, name: str, endpoint: str | None) -> None:
        options = {"api_endpoint": endpoint} if endpoint else None
        with translated(of_read, name):
            self._client = storage.Client(
                project=None, client_options=options, use_auth_w_custom_endpoint=endpoint is None
            )
        # Else a thread of the client asks for the bucket's settings beside the first call: a request more, and a
        # permission more. There is no public switch (googleapis/google-cloud-python issue 17650).
        self._client._bucket_metadata_cache = None
        session = self._client._http  # nor is there one for the size of its pool
        session.mount("http://", BoundedAdapter())
        if not session.is_mtls:
            session.mount("https://", BoundedAdapter())
        self._bucket = self._client.bucket(name)

    def get(self, name: str, unless_generation: int | None, seconds: float) -> Object | None:
        """The object, checked against its CRC32C; None where it still has the generation that is not wanted."""
        blob = self._bucket.blob(name)
        with translated(of_read, name):
            try:
                data = blob.download_as_bytes(
                    if_generation_not_match=unless_generation,
                    timeout=Until(seconds),
                    retry=None,
                    checksum="crc32c",
                    single_shot_download=True,
                )
            except NotModified:
                return None
        return Object(data, blob.generation)  # from the headers of the same answer

    def put(self, name: str, data: bytes, if_generation: int | None, seconds: float) -> int:
        """The new generation. The CRC32C goes with the request: Cloud Storage refuses other bytes than these."""
        blob = self._bucket.blob(name)
        blob.crc32c = base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()
        with translated(of_put, name):
            blob.upload_from_string(
                data,
                content_type="application/octet-stream",
                if_generation_match=if_generation,
                timeout=Until(seconds),
                retry=None,
                checksum=None,
            )
        if not blob.generation:
            raise OutcomeUnknown(f"the bucket's answer for {name!r} names no generation")
        return int(blob.generation)

    def delete(self, name: str, if_generation: int | None, seconds: float) -> None:
        """Remove the object."""
        with translated(of_write, name):
            self._bucket.blob(name).delete(if_generation_match=if_generation, timeout=Until(seconds), retry=None)

    def page(self, prefix: str, token: str | None, seconds: float) -> Page:
        """The part of the listing that `token` asks for, the first where it is None."""
        blobs = self._client.list_blobs(
            self._bucket,
            prefix=prefix or None,
            page_token=token,
            page_size=PAGE_OBJECTS,
            fields=LISTED_FIELDS,
            timeout=Until(seconds),
            retry=None,
        )
        with translated(of_read, prefix):
            page = next(blobs.pages, ())
        return Page(tuple(Listed(blob.name, blob.generation, blob.size) for blob in page), blobs.next_page_token)

    def retention(self, seconds: float) -> tuple[Retention, ...]:
        """What the bucket's settings keep after a delete; a row that says so where they may not be read."""
        bucket = self._client.bucket(self._bucket.name)
        with translated(of_read, bucket.name):
            try:
                bucket.reload(timeout=Until(seconds), retry=None)
            except Forbidden:
                return (Retention("soft_delete", "not known: storage.buckets.get is not granted", None),)
        return tuple(_settings(bucket))

    def close(self) -> None:
        """Close the pool's connections."""
        self._client.close()


def _settings(bucket: storage.Bucket) -> Iterator[Retention]:
    soft_delete_seconds = bucket.soft_delete_policy.retention_duration_seconds
    if soft_delete_seconds:
        yield Retention("soft_delete", "deleted objects can be restored", int(soft_delete_seconds))
    if bucket.versioning_enabled:
        yield Retention("versioning", "deleted objects stay as noncurrent versions", None)
    if bucket.retention_period:
        yield Retention("retention_policy", "objects cannot be deleted before this age", int(bucket.retention_period))
    if bucket.default_event_based_hold:
        yield Retention("retention_policy", "new objects are held until they are released", None)
