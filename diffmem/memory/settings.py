"""A user's own settings: `settings.md`, whose front matter says zone and ontology, and whose text instructs the writer.

    ---
    timezone: Europe/Berlin
    ontology:
      people:
        about: one file a person
      pets:
        about: one file an animal of ours
        sections: ["Health", "Food"]
        always_load: ["Health"]
    ---

    Never write down what my children say.

A kind of entity has a folder, `memories/<kind>/`; `sections` are the headings that its files should have, in that
order, and `always_load` those that belong into every context.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from diffmem.errors import InvalidRequest
from diffmem.memory import frontmatter
from diffmem.memory.editing import decoded, encoded, line_ending
from diffmem.memory.fields import remove_field, set_field, with_lines
from diffmem.memory.names import name_key, slug

SETTINGS_PATH = "settings.md"
PROFILE_PATH = "profile.md"

_MAX_KINDS = 12
_MAX_LIST = 30

_Short = Annotated[str, Field(min_length=1, max_length=80)]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entity; `name` is that of its folder."""

    name: str
    about: str = ""
    sections: tuple[str, ...] = ()
    always_load: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The folder of the files of this kind."""
        return f"memories/{self.name}"


DEFAULT_KINDS = (
    Kind("people", "one file a person: family, friends, colleagues, the people they speak of"),
    Kind("contexts", "one file a theme: a company, a project, health, a hobby, a place, a plan"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user has decided; `kinds` is the default ontology where they decided nothing."""

    timezone: str | None = None
    instructions: str = ""
    kinds: tuple[Kind, ...] = field(default=DEFAULT_KINDS)

    def kind(self, name: str) -> Kind | None:
        """The kind called `name`, in any spelling, or in its singular."""
        wanted = {"person": "people"}.get(slug(name), slug(name))
        return next((kind for kind in self.kinds if wanted in (kind.name, kind.name.removesuffix("s"))), None)


class _KindBody(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    about: Annotated[str, Field(max_length=500)] = ""
    sections: Annotated[list[_Short], Field(max_length=_MAX_LIST)] = []
    always_load: Annotated[list[_Short], Field(max_length=_MAX_LIST)] = []


_ONTOLOGY: TypeAdapter[dict[str, _KindBody | str]] = TypeAdapter(
    Annotated[
        dict[_Short, _KindBody | Annotated[str, Field(max_length=500)]], Field(min_length=1, max_length=_MAX_KINDS)
    ],
    config=ConfigDict(defer_build=True),
)


def parse_settings(data: bytes) -> Settings:
    """The settings that the file `data` holds; what cannot be used in it is left out, and empty is the default."""
    found, body = frontmatter.read(data.decode("utf-8", "replace"))
    ontology = found.get("ontology")
    items = ontology.items() if isinstance(ontology, dict) else ()
    kinds = tuple(_read_kind(name, value) for name, value in items if name.strip())[:_MAX_KINDS]
    return Settings(frontmatter.text_field(found, "timezone"), body.strip(), kinds or DEFAULT_KINDS)


def render_settings(
    old: bytes,
    *,
    timezone: str | None = None,
    instructions: str | None = None,
    ontology: Mapping[str, Any] | None = None,
) -> bytes:
    """The file `old` (empty where there is none) with what is given set, and what is None as it was.

    `ontology` maps the name of a kind to what it is about, or to `{"about"?, "sections"?, "always_load"?}`.

    Raises:
        InvalidRequest: an ontology that is none.
    """
    text = decoded(old)
    if timezone is not None:
        text = set_field(text, "timezone", timezone).text
    if ontology is not None:
        lines = _ontology_lines(_validated(ontology))
        text = with_lines(remove_field(text, "ontology").text, lines)
    if instructions is not None:
        text = _with_body(text, instructions)
    return encoded(text)


def _read_kind(name: str, value: Any) -> Kind:
    found = value if isinstance(value, dict) else {"about": value}
    return Kind(
        slug(name),
        (frontmatter.text_field(found, "about") or "").strip(),
        frontmatter.list_field(found, "sections"),
        frontmatter.list_field(found, "always_load"),
    )


def _validated(ontology: Mapping[str, Any]) -> tuple[Kind, ...]:
    try:
        bodies = _ONTOLOGY.validate_python(ontology)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in ("ontology", *first["loc"]))
        raise InvalidRequest(f"{where}: {first['msg']}, not {str(first['input'])[:80]!r}") from error
    return tuple(_kind(name, body) for name, body in bodies.items())


def _kind(name: str, body: _KindBody | str) -> Kind:
    if isinstance(body, str):
        return Kind(slug(name), body)
    return Kind(slug(name), body.about, tuple(body.sections), tuple(body.always_load))


def _ontology_lines(kinds: Iterable[Kind]) -> str:
    lines = ["ontology:\n"]
    for kind in {name_key(kind.name): kind for kind in kinds}.values():
        lines.append(f"  {frontmatter.scalar(kind.name)}:\n")
        lines.append(f"    {frontmatter.line('about', ' '.join(kind.about.split()))}")
        lists = {"sections": kind.sections, "always_load": kind.always_load}
        lines += [f"    {frontmatter.line(name, values)}" for name, values in lists.items() if values]
    return "".join(lines)


def _with_body(text: str, instructions: str) -> str:
    place = frontmatter.locate(text)
    head = text[: place.body] if place else ""
    end = line_ending(head)
    return f"{head}{end if head else ''}{instructions.strip()}{end}" if instructions.strip() else head
