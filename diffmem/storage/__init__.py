"""Buckets: named objects with generations, and writes that name the generation they replace.

`Bucket` is what the rest of DiffMem sees. `LocalBucket` is a directory, `GCSBucket` Google Cloud Storage; `open_bucket`
chooses by URL, and `MeteredBucket` counts what one request moves. Nothing else in DiffMem imports `google.cloud`.
"""

from diffmem.storage.bucket import Bucket, Listed, Object, Retention
from diffmem.storage.gcs import GCSBucket
from diffmem.storage.local import LocalBucket
from diffmem.storage.metered import MeteredBucket
from diffmem.storage.opening import open_bucket

__all__ = ["Bucket", "GCSBucket", "Listed", "LocalBucket", "MeteredBucket", "Object", "Retention", "open_bucket"]
