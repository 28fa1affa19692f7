"""A small, strict Cloud Storage over HTTP: the JSON API and media as far as DiffMem's bucket uses them.

    with StrictGCS("memory") as gcs:
        GCSBucket("memory", endpoint=gcs.url)

Preconditions hold on every request that names one, conditional reads are answered 304, checksums are compared, pages
end where they are told to. Whatever it does not know (a route, a parameter) it refuses, so that nothing is ignored in
silence. Wordings and statuses are Cloud Storage's.
"""

import base64
import hashlib
import itertools
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import google_crc32c

from tests.support.serving import Handler, Serving

NO_BUCKET = (404, "The specified bucket does not exist.")
MISMATCH = (412, "At least one of the pre-conditions you specified did not hold.")
Settings = Mapping[str, object]
NO_SETTINGS: Settings = {}


@dataclass(frozen=True)
class Stored:
    """An object as it lies in the bucket."""

    data: bytes
    generation: int
    crc32c: str


@dataclass(frozen=True)
class Answer(Exception):
    """What a request is answered, from wherever that becomes clear."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] | None = None


class StrictGCS(Serving):
    """A running fake with these buckets, all of them with the same `settings`; None: they may not be read."""

    def __init__(self, *buckets: str, settings: Settings | None = NO_SETTINGS, most_per_page: int = 1000) -> None:
        self.settings = settings
        self.most_per_page = most_per_page
        self.requests: list[str] = []  # "GET /download/storage/v1/b/..." in the order of their arrival
        self.ports: set[int] = set()  # of every connection that brought a request
        self.lock = threading.RLock()
        self.buckets: dict[str, dict[str, Stored]] = {name: {} for name in buckets}
        self.uploads: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {}
        self._generations = itertools.count(1_700_000_000_000_000)
        super().__init__(_Handler)

    def damage(self, bucket: str, name: str) -> None:
        """Change the object's bytes and leave its checksum as it was."""
        old = self.buckets[bucket][name]
        self.buckets[bucket][name] = Stored(old.data[:-1] + bytes([old.data[-1] ^ 1]), old.generation, old.crc32c)

    def store(self, bucket: str, name: str, data: bytes, metadata: Mapping[str, Any]) -> Stored:
        """Put an object, whose metadata may say what its checksum has to be."""
        crc32c = base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()
        if metadata.get("crc32c", crc32c) != crc32c:
            raise _refusal(400, f"Provided CRC32C {metadata['crc32c']!r} doesn't match calculated CRC32C {crc32c!r}.")
        stored = Stored(data, next(self._generations), crc32c)
        self.buckets[bucket][name] = stored
        return stored


class _Handler(Handler):
    @property
    def gcs(self) -> StrictGCS:
        return cast(StrictGCS, cast(Any, self.server).owner)

    def do_GET(self) -> None:
        self._route(
            (r"/download/storage/v1/b/([^/]+)/o/([^/]+)", self._download),
            (r"/storage/v1/b/([^/]+)/o", self._list),
            (r"/storage/v1/b/([^/]+)", self._settings),
        )

    def do_POST(self) -> None:
        self._route((r"/upload/storage/v1/b/([^/]+)/o", self._upload))

    def do_PUT(self) -> None:
        self._route((r"/upload/storage/v1/b/([^/]+)/o", self._finish_upload))

    def do_DELETE(self) -> None:
        self._route((r"/storage/v1/b/([^/]+)/o/([^/]+)", self._delete))

    def _route(self, *routes: tuple[str, Callable[..., Answer]]) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query), keep_blank_values=True))
        query.pop("prettyPrint", None)
        body = self.body()
        with self.gcs.lock:
            self.gcs.requests.append(f"{self.command} {self.path}")
            self.gcs.ports.add(self.client_address[1])
            answer = _try_routes(parts.path, routes, query, body)
        self.answer(answer.status, answer.body, **(answer.headers or {}))

    def _download(self, bucket: str, name: str, query: dict[str, str], body: bytes) -> Answer:
        _only(query, "alt", "ifGenerationMatch", "ifGenerationNotMatch")
        if query.get("alt") != "media":
            raise _refusal(501, "alt=media alone")
        found = self._object(bucket, name)
        _check(query, found)
        if query.get("ifGenerationNotMatch") == str(found.generation):
            return Answer(304)
        return Answer(
            200,
            found.data,
            {
                "Content_Type": "application/octet-stream",
                "X_Goog_Generation": str(found.generation),
                "X_Goog_Metageneration": "1",
                "X_Goog_Hash": f"crc32c={found.crc32c}",
                "X_Goog_Stored_Content_Encoding": "identity",
                "X_Goog_Stored_Content_Length": str(len(found.data)),
            },
        )

    def _list(self, bucket: str, query: dict[str, str], body: bytes) -> Answer:
        _only(query, "prefix", "maxResults", "pageToken", "fields", "projection")
        names = sorted(self._bucket(bucket), key=lambda name: name.encode())
        names = [name for name in names if name.startswith(query.get("prefix", ""))]
        start = int(query.get("pageToken", "0"))
        end = start + min(int(query.get("maxResults", "1000")), self.gcs.most_per_page)
        wanted = re.search(r"items\(([^)]*)\)", query.get("fields", ""))
        fields = wanted[1].split(",") if wanted else None
        items = [_resource(bucket, name, self._bucket(bucket)[name], fields) for name in names[start:end]]
        return _json({"items": items, **({"nextPageToken": str(end)} if end < len(names) else {})})

    def _settings(self, bucket: str, query: dict[str, str], body: bytes) -> Answer:
        _only(query, "projection", "fields")
        self._bucket(bucket)
        if self.gcs.settings is None:
            raise _refusal(
                403, "The caller does not have storage.buckets.get access to the Google Cloud Storage bucket."
            )
        return _json({"kind": "storage#bucket", "name": bucket, **self.gcs.settings})

    def _upload(self, bucket: str, query: dict[str, str], body: bytes) -> Answer:
        _only(query, "uploadType", "ifGenerationMatch")
        self._bucket(bucket)
        if query.get("uploadType") == "resumable":
            return self._start_upload(bucket, query, json.loads(body))
        if query.get("uploadType") != "multipart":
            raise _refusal(501, "uploadType multipart and resumable alone")
        metadata, data = _parts(self.headers["Content-Type"], body)
        return self._store(bucket, query, metadata, data)

    def _start_upload(self, bucket: str, query: dict[str, str], metadata: dict[str, Any]) -> Answer:
        _check(query, self._bucket(bucket).get(metadata["name"]))
        upload = f"upload-{len(self.gcs.uploads)}"
        self.gcs.uploads[upload] = (bucket, query, metadata)
        location = f"{self.gcs.url}/upload/storage/v1/b/{bucket}/o?uploadType=resumable&upload_id={upload}"
        return Answer(200, b"", {"Location": location})

    def _finish_upload(self, bucket: str, query: dict[str, str], body: bytes) -> Answer:
        _only(query, "uploadType", "upload_id")
        if self.headers["Content-Range"] != f"bytes 0-{len(body) - 1}/{len(body)}":
            raise _refusal(501, "an upload in one piece alone")
        return self._store(*self.gcs.uploads.pop(query["upload_id"]), body)

    def _store(self, bucket: str, query: dict[str, str], metadata: dict[str, Any], data: bytes) -> Answer:
        name = metadata["name"]
        _check(query, self._bucket(bucket).get(name))
        return _json(_resource(bucket, name, self.gcs.store(bucket, name, data, metadata)))

    def _delete(self, bucket: str, name: str, query: dict[str, str], body: bytes) -> Answer:
        _only(query, "ifGenerationMatch")
        _check(query, self._object(bucket, name))
        del self._bucket(bucket)[name]
        return Answer(204)

    def _bucket(self, bucket: str) -> dict[str, Stored]:
        if bucket not in self.gcs.buckets:
            raise _refusal(*NO_BUCKET)
        return self.gcs.buckets[bucket]

    def _object(self, bucket: str, name: str) -> Stored:
        found = self._bucket(bucket).get(name)
        if found is None:
            raise _refusal(404, f"No such object: {bucket}/{name}")
        return found


def _try_routes(
    path: str, routes: tuple[tuple[str, Callable[..., Answer]], ...], query: dict[str, str], body: bytes
) -> Answer:
    for pattern, route in routes:
        match = re.fullmatch(pattern, path)
        if match:
            try:
                return route(*(unquote(part) for part in match.groups()), query, body)
            except Answer as answer:
                return answer
    return _refusal(501, f"no such route: {path}")


def _only(query: dict[str, str], *known: str) -> None:
    unknown = set(query) - set(known)
    if unknown:
        raise _refusal(400, f"unknown parameters: {unknown}")


def _check(query: dict[str, str], current: Stored | None) -> None:
    wanted = query.get("ifGenerationMatch")
    if wanted is not None and int(wanted) != (current.generation if current else 0):
        raise _refusal(*MISMATCH)


def _resource(bucket: str, name: str, stored: Stored, fields: list[str] | None = None) -> dict[str, str]:
    resource = {
        "kind": "storage#object",
        "name": name,
        "bucket": bucket,
        "generation": str(stored.generation),
        "metageneration": "1",
        "size": str(len(stored.data)),
        "crc32c": stored.crc32c,
        "md5Hash": base64.b64encode(hashlib.md5(stored.data).digest()).decode(),
    }
    return {key: value for key, value in resource.items() if fields is None or key in fields}


def _parts(content_type: str, body: bytes) -> tuple[dict[str, Any], bytes]:
    """The two parts of a multipart/related body: the object's metadata and its content."""
    boundary = re.search(r'boundary="?([^";]+)', content_type)
    assert boundary, content_type
    mark = b"--" + boundary[1].encode()
    head, _, rest = body.removeprefix(mark + b"\r\n").partition(b"\r\n" + mark + b"\r\n")
    content = rest.removesuffix(b"\r\n" + mark + b"--").partition(b"\r\n\r\n")[2]
    return json.loads(head.partition(b"\r\n\r\n")[2]), content


def _json(value: object) -> Answer:
    return Answer(200, json.dumps(value).encode(), {"Content_Type": "application/json; charset=UTF-8"})


def _refusal(status: int, message: str) -> Answer:
    errors = [{"domain": "global", "reason": "strict", "message": message}]
    body = json.dumps({"error": {"code": status, "message": message, "errors": errors}})
    return Answer(status, body.encode(), {"Content_Type": "application/json; charset=UTF-8"})
