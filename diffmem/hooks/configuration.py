"""`DIFFMEM_HOOKS`: webhooks by name, validated when the process starts."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import from_json

from diffmem.errors import ConfigError
from diffmem.hooks.mapping import Rule, Templates
from diffmem.hooks.ready import READY
from diffmem.hooks.signatures import (
    Received,
    check_bearer,
    check_hub,
    check_slack,
    check_standard,
    check_telegram,
    check_twilio,
    is_standard_secret,
)
from diffmem.hooks.templates import Template
from diffmem.limits import Deadline

Kind = Literal["standard", "meta", "github", "slack", "telegram", "twilio", "pubsub", "bearer"]
Distilling = Literal["inline", "tasks", "pending"]
Check = Callable[[Received, Deadline], None]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SIMPLE: Mapping[str, Callable[[Sequence[str], Received], None]] = {
    "standard": check_standard,
    "meta": check_hub,
    "github": check_hub,
    "slack": check_slack,
    "telegram": check_telegram,
    "bearer": check_bearer,
}
_OWN_FIELDS: Mapping[str, frozenset[str]] = {
    "meta": frozenset({"secret", "verify_token"}),
    "twilio": frozenset({"secret", "url"}),
    "pubsub": frozenset({"audience", "email", "issuer", "certificates_url"}),
}
_ONLY_SECRET = frozenset({"secret"})
_SPECIAL_FIELDS = frozenset[str]().union(_ONLY_SECRET, *_OWN_FIELDS.values())


@dataclass(frozen=True, slots=True)
class Hook:
    """A configured webhook. `check` raises Unauthenticated where a request is not the sender's."""

    name: str
    kind: Kind
    check: Check
    rules: tuple[Rule, ...]
    user: tuple[Template, ...]
    distill: Distilling
    verify_token: str | None = None

    def __repr__(self) -> str:
        return f"Hook({self.name!r}, {self.kind!r})"


def _several(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Secret = Annotated[str, StringConstraints(min_length=8, max_length=1000)]
Secrets = Annotated[list[Secret], BeforeValidator(_several), Field(min_length=1, max_length=10)]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/?#]+[^\s?#]*$", max_length=2000)]
OneLine = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^\S+$")]


class _HookModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    kind: Kind
    secret: Secrets | None = None
    verify_token: Secret | None = None
    url: Url | None = None
    audience: OneLine | None = None
    email: OneLine | None = None
    issuer: OneLine | None = None
    certificates_url: Url | None = None
    user: Templates | None = None
    distill: Distilling | None = None
    mapping: Annotated[list[Rule], BeforeValidator(_several), Field(min_length=1, max_length=20)] | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "_HookModel":
        allowed = _OWN_FIELDS.get(self.kind, _ONLY_SECRET)
        for name in sorted(_SPECIAL_FIELDS - allowed):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is not for a hook of the kind {self.kind!r}")
        for name in ("audience", "email") if self.kind == "pubsub" else ("secret",):
            if getattr(self, name) is None:
                raise ValueError(f"{name} is needed for a hook of the kind {self.kind!r}")
        if self.kind == "standard" and not all(is_standard_secret(secret) for secret in self.secret or ()):
            raise ValueError("secret must be base64 of 16 bytes or more, with or without 'whsec_' before it")
        if self.user is None and self.mapping and not all(rule.user or not rule.when for rule in self.mapping):
            raise ValueError("user is needed, in the mapping or beside it")
        return self


def parse_hooks(text: str, *, has_queue: bool = False) -> Mapping[str, Hook]:
    """The webhooks of `DIFFMEM_HOOKS` by name; `has_queue` says whether there is a queue for distilling later.

    Raises:
        ConfigError: naming the hook and the field, never a value that could be a secret.
    """
    try:
        found = from_json(text or "{}")
    except ValueError:
        raise ConfigError("DIFFMEM_HOOKS is not JSON") from None
    if not isinstance(found, dict):
        raise ConfigError("DIFFMEM_HOOKS must be an object of hooks by name")
    return {name: _hook(name, settings, has_queue) for name, settings in found.items()}


def _hook(name: str, settings: Any, has_queue: bool) -> Hook:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"DIFFMEM_HOOKS: {name!r} is not a name of 1 to 64 characters A-Z a-z 0-9 . _ -")
    try:
        model = _HookModel.model_validate(settings)
        if model.distill == "tasks" and not has_queue:
            raise ConfigError(f"DIFFMEM_HOOKS: hook {name!r}: distill: 'tasks' needs DIFFMEM_TASKS_QUEUE")
        return Hook(
            name=name,
            kind=model.kind,
            check=_check(model),
            rules=tuple(model.mapping or (Rule.model_validate(rule) for rule in READY[model.kind])),
            user=model.user or (),
            distill=model.distill or ("tasks" if has_queue else "pending"),
            verify_token=model.verify_token,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        where = f"{field}: " if field else ""
        # Not chained: pydantic's own text shows what was given.
        raise ConfigError(
            f"DIFFMEM_HOOKS: hook {name!r}: {where}{first['msg'].removeprefix('Value error, ')}"
        ) from None


def _check(model: _HookModel) -> Check:
    if model.kind == "pubsub":
        return _oidc_check(model)
    secrets = tuple(model.secret or ())
    checks = (
        partial(check_twilio, secrets, model.url) if model.kind == "twilio" else partial(_SIMPLE[model.kind], secrets)
    )
    return lambda received, deadline: checks(received)


def _oidc_check(model: _HookModel) -> Check:
    from diffmem.hooks.oidc import GOOGLE_CERTIFICATES, GOOGLE_ISSUERS, Certificates, OidcCheck

    return OidcCheck(
        audience=model.audience or "",
        email=model.email or "",
        issuers=(model.issuer,) if model.issuer else GOOGLE_ISSUERS,
        certificates=Certificates(model.certificates_url or GOOGLE_CERTIFICATES),
    )
