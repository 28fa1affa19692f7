"""A process of its own that works on a bucket; tests start it, and sometimes kill it.

python -m tests.storage.worker append STORE ENDPOINT TOKEN COUNT    append TOKEN-0 ... to the object `counter`
python -m tests.storage.worker fill STORE ENDPOINT NAME SIZE        put NAME again and again, till killed
python -m tests.storage.worker fork STORE ENDPOINT                  read `v1/m` in a process and in its child
"""

import itertools
import os
import subprocess
import sys
from pathlib import Path

from diffmem.errors import BucketBusy, GenerationMismatch, OutcomeUnknown
from diffmem.limits import Deadline
from diffmem.storage import Bucket, GCSBucket, open_bucket

ROOT = Path(__file__).parent.parent.parent


def start(*arguments: str) -> "subprocess.Popen[bytes]":
    """A running worker, its output in pipes."""
    command = [sys.executable, "-W", "error", "-m", "tests.storage.worker", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: "subprocess.Popen[bytes]") -> str:
    """What the worker printed; fails where it failed."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    return out.decode()


def append(bucket: Bucket, token: str, count: int) -> None:
    """Append tokens to `counter`, each once, whatever happens on the way to the bucket."""
    deadline = Deadline(60)
    for turn in range(count):
        while not _appended(bucket, f"{token}-{turn}", deadline):
            pass


def _appended(bucket: Bucket, token: str, deadline: Deadline) -> bool:
    """Whether the token is in the object; where it is not, one try to put it there has been made."""
    found = bucket.get("counter", deadline)
    if token in found.data.decode().split():
        return True
    try:
        bucket.put("counter", found.data + f"{token}\n".encode(), deadline, if_generation=found.generation)
    except (GenerationMismatch, BucketBusy, OutcomeUnknown):
        return False
    return True


def fill(bucket: Bucket, name: str, size: int) -> None:
    """Put objects of one repeated letter for ever; says when the first is there."""
    for number in itertools.count():
        bucket.put(name, b"%c" % (97 + number % 26) * size, Deadline(60), if_generation=None)
        if number == 0:
            print("ready", flush=True)


def fork(bucket: Bucket) -> None:
    """Read in this process, then in a child that this process has forked, then here again."""
    deadline = Deadline(30)
    bucket.get("v1/m", deadline)
    child = os.fork()
    if child == 0:
        os._exit(0 if bucket.get("v1/m", deadline).data == b"one" else 1)
    assert os.waitpid(child, 0)[1] == 0
    bucket.get("v1/m", deadline)


def main(task: str, store: str, endpoint: str, *rest: str) -> None:
    """Do the task on the bucket `store` names, at the endpoint where one is given."""
    bucket = open_bucket(store)
    if endpoint:
        name, _, prefix = store.removeprefix("gs://").partition("/")
        bucket = GCSBucket(name, prefix, endpoint=endpoint)
    if task == "append":
        append(bucket, rest[0], int(rest[1]))
    elif task == "fill":
        fill(bucket, rest[0], int(rest[1]))
    else:
        fork(bucket)
    bucket.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
