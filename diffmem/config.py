"""The configuration: every environment variable DiffMem reads, its default and its meaning.

`Config.from_environment` is the only door the environment enters through; main.py opens it once a process. The README's
table is compared with `VARIABLES` by a test.
"""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar, get_args

from diffmem.errors import ConfigError

T = TypeVar("T", bound=str)

Auth = Literal["none", "key", "iam"]
SandboxMode = Literal["require", "prefer", "off"]

DEFAULT_MODEL = "gpt-5-mini"
DEFAULT_RATE_LIMIT = 6000

VARIABLES: Mapping[str, str] = {
    "DIFFMEM_STORE": "`file:PATH` or `gs://BUCKET/PREFIX`",
    "DIFFMEM_CACHE": "warm cache; may be lost at any time",
    "DIFFMEM_CACHE_MAX_BYTES": "bound of the warm cache, in bytes",
    "OPENAI_BASE_URL": "any OpenAI-compatible provider",
    "OPENAI_API_KEY": "its key; without a key and a base URL the function works offline",
    "DIFFMEM_MODEL": "the model that reads",
    "DIFFMEM_WRITER_MODEL": "the model that writes",
    "DIFFMEM_AUTH": "`none`, `key` or `iam`",
    "DIFFMEM_API_KEYS": "`name:key:user-pattern` entries, comma-separated",
    "DIFFMEM_RATE_LIMIT": "requests a minute with one key, for each instance; 0 for no limit",
    "DIFFMEM_HOOKS": "webhooks, JSON",
    "DIFFMEM_ID_SECRET": "keys the hash that names a user's objects; never change it once set",
    "DIFFMEM_SANDBOX": "`require`, `prefer` or `off`: the OS layer under the tool",
    "DIFFMEM_SESSION_GAP_S": "seconds of silence that close an open session",
    "DIFFMEM_TASKS_QUEUE": "Cloud Tasks queue for distilling later",
    "GOOGLE_CLOUD_PROJECT": "the project whose traces log lines point to",
    "STORAGE_EMULATOR_HOST": "honoured by google-cloud-storage",
}


@dataclass(frozen=True, slots=True)
class Config:
    """What a process is configured to do; see `VARIABLES` for the meaning of each field's variable."""

    store: str = "file:.diffmem"
    cache: Path = Path(tempfile.gettempdir()) / "diffmem-cache"
    cache_max_bytes: int = 256 * 1024 * 1024
    model_base_url: str | None = None
    model_api_key: str | None = None
    model: str = DEFAULT_MODEL
    writer_model: str = DEFAULT_MODEL
    auth: Auth = "none"
    api_keys: str = ""
    rate_limit_per_minute: int = 0
    hooks: str = ""
    id_secret: str | None = None
    sandbox: SandboxMode = "require"
    session_gap_seconds: int = 1800
    tasks_queue: str | None = None
    project: str | None = None
    on_cloud_run: bool = False
    request_timeout_seconds: float | None = None

    @property
    def has_model(self) -> bool:
        """Whether a provider is configured: a key, or a base URL (local models need no key)."""
        return bool(self.model_api_key or self.model_base_url)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Config":
        """The configuration that `environment` describes; an empty variable counts as unset.

        Raises:
            ConfigError: naming the variable and the value.
        """
        default = cls()
        env = {name: value.strip() for name, value in environment.items() if value.strip()}
        model = env.get("DIFFMEM_MODEL", default.model)
        auth = _one_of(env, "DIFFMEM_AUTH", get_args(Auth), default.auth)
        on_cloud_run = "K_SERVICE" in env
        if on_cloud_run and "DIFFMEM_AUTH" not in env:
            raise ConfigError("DIFFMEM_AUTH must be set to 'key' or 'iam' on Cloud Run (K_SERVICE is set)")
        return cls(
            store=_store(env.get("DIFFMEM_STORE", default.store)),
            cache=Path(env.get("DIFFMEM_CACHE", default.cache)),
            cache_max_bytes=_whole(env, "DIFFMEM_CACHE_MAX_BYTES", default.cache_max_bytes),
            model_base_url=env.get("OPENAI_BASE_URL"),
            model_api_key=env.get("OPENAI_API_KEY"),
            model=model,
            writer_model=env.get("DIFFMEM_WRITER_MODEL", model),
            auth=auth,
            api_keys=env.get("DIFFMEM_API_KEYS", ""),
            rate_limit_per_minute=_whole(
                env, "DIFFMEM_RATE_LIMIT", 0 if auth == "none" else DEFAULT_RATE_LIMIT, least=0
            ),
            hooks=_json(env, "DIFFMEM_HOOKS"),
            id_secret=env.get("DIFFMEM_ID_SECRET"),
            sandbox=_one_of(env, "DIFFMEM_SANDBOX", get_args(SandboxMode), default.sandbox),
            session_gap_seconds=_whole(env, "DIFFMEM_SESSION_GAP_S", default.session_gap_seconds),
            tasks_queue=env.get("DIFFMEM_TASKS_QUEUE"),
            project=env.get("GOOGLE_CLOUD_PROJECT"),
            on_cloud_run=on_cloud_run,
            request_timeout_seconds=_seconds(env, "CLOUD_RUN_TIMEOUT_SECONDS"),
        )


def _store(value: str) -> str:
    if value.startswith("file:") and len(value) > len("file:"):
        return value
    if value.startswith("gs://") and value[len("gs://") :].split("/")[0]:
        return value
    raise ConfigError(f"DIFFMEM_STORE must be 'file:PATH' or 'gs://BUCKET/PREFIX', not {value!r}")


def _whole(env: Mapping[str, str], name: str, default: int, *, least: int = 1) -> int:
    text = env.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) >= least):
        raise ConfigError(f"{name} must be a whole number, {least} or more, not {text!r}")
    return int(text)


def _seconds(env: Mapping[str, str], name: str) -> float | None:
    if name not in env:
        return None
    try:
        return float(env[name])
    except ValueError as error:
        raise ConfigError(f"{name} must be a number of seconds, not {env[name]!r}") from error


def _one_of(env: Mapping[str, str], name: str, allowed: tuple[T, ...], default: T) -> T:
    text = env.get(name, default)
    for choice in allowed:
        if text == choice:
            return choice
    raise ConfigError(f"{name} must be one of {', '.join(allowed)}, not {text!r}")


def _json(env: Mapping[str, str], name: str) -> str:
    text = env.get(name, "")
    if text:
        try:
            json.loads(text)
        except ValueError as error:
            raise ConfigError(f"{name} is not JSON: {error}") from error
    return text
