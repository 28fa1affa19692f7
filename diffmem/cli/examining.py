"""What `doctor` finds of this machine's set-up and of the configured store, model and clock.

*Covered*: what can be found by reading, and by one short question to the model. *Not covered*: whether the bucket may
be written to; that would leave an object that its soft delete keeps.
"""

import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from itertools import islice
from pathlib import Path

from diffmem.api.application import check_configuration
from diffmem.cli.access import Failed
from diffmem.cli.direct import Direct
from diffmem.cli.doctor import Finding
from diffmem.config import Config
from diffmem.errors import ConfigError, DiffMemError, GitError
from diffmem.git.version import LEAST, installed
from diffmem.http.auth import Authenticator
from diffmem.limits import Deadline

_SECONDS = 20.0
_MAX_SKEW_SECONDS = 60.0
_GOOGLE = "https://storage.googleapis.com"


def examine(environment: Mapping[str, str]) -> Iterator[Finding]:
    """The parts, one after the other; what depends on a configuration that cannot be read is left out."""
    yield Finding("python", "ok", ".".join(str(number) for number in sys.version_info[:3]))
    yield _git()
    try:
        config = Config.from_environment(environment)
        check_configuration(config)
        Authenticator(config)
        direct = Direct(environment)
    except (ConfigError, Failed) as error:
        yield Finding("configuration", "WRONG", str(error), "set that variable of the environment")
        return
    with direct:
        yield Finding("configuration", "ok", f"store {config.store}, auth {config.auth}")
        yield _cache(config)
        yield _sandbox(direct)
        yield from _store(direct)
        yield from _clock(config, environment)
        yield _model(direct)


def _git() -> Finding:
    try:
        version = installed()
    except GitError as error:
        return Finding("git", "WRONG", str(error), "install git")
    found = ".".join(str(number) for number in version)
    if version < LEAST:
        return Finding("git", "WRONG", found, f"install git {LEAST[0]}.{LEAST[1]} or newer")
    return Finding("git", "ok", found)


def _cache(config: Config) -> Finding:
    try:
        config.cache.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=config.cache) as file:
            file.write(b"x")
        free = shutil.disk_usage(config.cache).free
    except OSError as error:
        todo = "point DIFFMEM_CACHE to a folder that this account may write to"
        return Finding("cache", "WRONG", f"{config.cache}: {error.strerror}", todo)
    found = f"{config.cache}, {free // 2**20} MiB free"
    if free < config.cache_max_bytes:
        return Finding(
            "cache", "WRONG", found, f"free some, or set DIFFMEM_CACHE_MAX_BYTES below {config.cache_max_bytes}"
        )
    return Finding("cache", "ok", found)


def _sandbox(direct: Direct) -> Finding:
    status = direct.application.tool.status()
    found = f"{status.mode}: {status.detail}"
    if status.usable:
        return Finding("sandbox", "ok", found)
    todo = "use a kernel with Landlock (5.13), or set DIFFMEM_SANDBOX=prefer where nobody else's text is remembered"
    return Finding("sandbox", "WRONG", found, todo)


def _store(direct: Direct) -> Iterator[Finding]:
    bucket = direct.application.bucket
    try:
        deadline = Deadline(_SECONDS)
        has_some = bool(list(islice(bucket.list("v1/", deadline), 1)))
        kept = bucket.retention(deadline)
    except DiffMemError as error:
        yield Finding(
            "store", "WRONG", f"{bucket.url}: {error}", "check DIFFMEM_STORE, the network and the permissions"
        )
        return
    folder = _folder(bucket.url)
    if folder is not None and not _takes_files(_existing(folder)):
        yield Finding("store", "WRONG", f"{bucket.url}: not writable", "change its owner, or set DIFFMEM_STORE")
    else:
        yield Finding("store", "ok", f"{bucket.url}, {'memories in it' if has_some else 'nothing in it yet'}")
    for one in kept:
        todo = "what is forgotten or erased can be restored until then"
        yield Finding("retention", "note", f"{one.kind}: {one.detail}", todo)


def _clock(config: Config, environment: Mapping[str, str]) -> Iterator[Finding]:
    """How far this machine's clock is from the store's; nothing where that cannot be found cheaply."""
    skew = _skew(config, environment)
    if skew is None:
        return
    if abs(skew) > _MAX_SKEW_SECONDS:
        yield Finding("clock", "WRONG", f"{skew:+.0f} s from the store's", "set this machine's clock (NTP)")
    else:
        yield Finding("clock", "ok", f"{skew:+.0f} s from the store's")


def _skew(config: Config, environment: Mapping[str, str]) -> float | None:
    folder = _folder(config.store)
    try:
        if folder is not None:
            with tempfile.NamedTemporaryFile(dir=_existing(folder)) as file:
                return time.time() - Path(file.name).stat().st_mtime
        url = environment.get("STORAGE_EMULATOR_HOST") or _GOOGLE
        request = urllib.request.Request(url if "://" in url else f"http://{url}", method="HEAD")
        return time.time() - _date(request)
    except (OSError, ValueError, TypeError):
        return None


def _date(request: urllib.request.Request) -> float:
    """What the clock of a server says; any answer has it."""
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            return parsedate_to_datetime(response.headers["Date"]).timestamp()
    except urllib.error.HTTPError as error:
        with error:
            return parsedate_to_datetime(error.headers["Date"]).timestamp()


def _model(direct: Direct) -> Finding:
    model = direct.application.reader
    if model is None:
        return Finding(
            "model", "note", "none: planned offline, transcripts kept as they are; set OPENAI_API_KEY for one"
        )
    from diffmem.model import Message

    try:
        began = time.monotonic()
        model.complete([Message("user", "Say OK.")], deadline=Deadline(_SECONDS))
    except DiffMemError as error:
        return Finding(
            "model", "WRONG", f"{model.name}: {error}", "check OPENAI_BASE_URL, OPENAI_API_KEY, DIFFMEM_MODEL"
        )
    return Finding("model", "ok", f"{model.name} answered in {time.monotonic() - began:.1f} s")


def _folder(store: str) -> Path | None:
    return Path(store.removeprefix("file:")) if store.startswith("file:") else None


def _takes_files(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir())
