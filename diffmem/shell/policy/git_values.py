"""Arguments of git's options that need reading: formats, dates, widths, line ranges, revisions."""

import re

from diffmem.shell.policy import git_operands, paths
from diffmem.shell.policy.values import widths
from diffmem.shell.policy.verdict import BadValue, Place

MAX_PADDING = 500
_PRETTY_NAMES = frozenset(("oneline", "short", "medium", "full", "fuller", "reference", "email", "mboxrd", "raw"))
_DATES = re.compile(
    r"(relative|local|iso|iso8601|iso-strict|iso8601-strict|rfc|rfc2822|short|raw|human|unix|default)(-local)?"
)
_FIELDS = (
    "refname objecttype objectsize objectname deltabase upstream push HEAD symref tree parent numparent object type "
    "tag author authorname authoremail authordate committer committername committeremail committerdate tagger "
    "taggername taggeremail taggerdate creator creatordate subject body contents trailers align if then else end color "
    "version"
)
_ATOMS = frozenset(_FIELDS.split())


_PLACEHOLDER = re.compile(r"%(?:%|[-+ ]?(.))", re.DOTALL)


def pretty(value: str, _place: Place) -> None:
    """A format of `git log` without signatures (%G runs gpg), %(describe) and padding over 500 (CVE-2022-41903)."""
    if value in _PRETTY_NAMES or not value:
        return
    text = re.sub(r"\At?format:", "", value)
    if text == value and "%" not in value:
        raise BadValue("is not a format such as '%h %ad %s'")
    for found in filter(lambda one: one.group(1), _PLACEHOLDER.finditer(text)):
        _placeholder(found.group(1), text[found.start(1) :])


def _placeholder(letter: str, rest: str) -> None:
    """Judge one placeholder by its letter; `rest` begins with it."""
    if letter == "G":
        raise BadValue("has '%G': signatures are not checked here")
    if letter == "(" and not re.match(r"\((trailers|decorate)\b", rest):
        raise BadValue("has a long placeholder; of these only %(trailers) and %(decorate) are available")
    padding = re.match(r"(?:[<>]+\|?|w)\(([^)]*)", rest)
    if padding:
        _bounded(padding.group(1))


def reference(value: str, _place: Place) -> None:
    """A format of `git for-each-ref`, `branch` and `tag`, of known fields only."""
    for atom in re.findall(r"%\(([^)]*)\)?", value):
        if atom.lstrip("*").split(":")[0].split("=")[0] not in _ATOMS:
            raise BadValue(f"has '%({atom})', which is not available")
        _bounded(atom)


def sort_key(value: str, place: Place) -> None:
    """A key of `--sort`, such as `-creatordate`."""
    reference(f"%({value.removeprefix('-').removeprefix('version:').removeprefix('v:')})", place)


def date(value: str, place: Place) -> None:
    """A date format of git."""
    if re.match(r"format(-local)?:", value):
        widths(value, place)
    elif not _DATES.fullmatch(value):
        raise BadValue("is not a date format such as short, iso, relative or format:%Y-%m-%d")


def stat(value: str, _place: Place) -> None:
    """WIDTH[,NAME-WIDTH[,COUNT]], each at most 500."""
    if not re.fullmatch(r"[0-9]{1,4}(,[0-9]{1,4}){0,2}", value):
        raise BadValue("is not a width")
    _bounded(value)


def line_range(value: str, place: Place) -> None:
    """`START,END:FILE` or `:FUNCTION:FILE` of `git log -L`: whatever could be read as the file lies in the tree."""
    if ":" not in value:
        raise BadValue("names no file; for example: -L 1,20:index.md")
    for found in re.finditer(":", value):
        paths.inside(value[found.end() :], place)


def revision(value: str, place: Place) -> None:
    """A revision."""
    git_operands.revision(value, place)


def _bounded(text: str) -> None:
    if any(int(digits) > MAX_PADDING for digits in re.findall(r"[0-9]+", text)):
        raise BadValue(f"has a width over {MAX_PADDING}")
