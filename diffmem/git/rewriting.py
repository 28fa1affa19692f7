"""A history written again with other contents and messages, and everything else as it was.

One `git log` gives every commit with what it changed; each content is judged once for each path it had; one fast-import
writes what is new. Commits that neither they nor their ancestors are touched keep their shas.

*Covered*: dates (with their zones), parents, merges, modes, links and submodules stay, and so do authors, unless their
names or addresses are reworded as messages are. *Not covered*: signatures of commits (they would no longer hold) and
encoding headers (messages become UTF-8).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from diffmem.errors import GitError
from diffmem.git.environment import Checkout
from diffmem.git.objects import read_objects
from diffmem.git.packs import Scratch
from diffmem.git.process import run
from diffmem.git.writing import EMAIL, NAME, data, quoted
from diffmem.limits import Deadline

Transform = Callable[[str, bytes], bytes | None]
Reword = Callable[[str], str]
Verdicts = Mapping[tuple[str, str], bytes | None]
"""For a path and the sha of a content it had: the content that takes its place, or None where the file goes."""

_FIELDS = ("%H", "%P", "%an", "%ae", "%ad", "%cn", "%ce", "%cd", "%B")
_FORMAT = "--format=format:" + "".join(f"{part}%x00" for part in _FIELDS)
_WITH_CONTENT = ("100644", "100755", "120000")
_NOT_IN_NAMES = str.maketrans("", "", "<>\n")
_WHO = re.compile(r"([^<]*)<([^>]*)>(.*)")
_OURS = ("", f"{NAME} ", EMAIL)  # what commits of ours bear: nothing that anybody said
_RAW_DATE = re.compile(r"[0-9]{1,18} [+-][0-9]{4,7}")
_LOT = 1000


class State(NamedTuple):
    """A path on one side of a change; `sha` is None where there is nothing."""

    mode: str
    sha: str | None


class Step(NamedTuple):
    """What a commit did to one path."""

    path: str
    old: State
    new: State


class PastCommit(NamedTuple):
    """A commit, with every path that it changed against its first parent; who and when as fast-import takes it."""

    sha: str
    parents: tuple[str, ...]
    author: str
    committer: str
    message: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What a rewriting comes to. `commits` maps each sha that goes to the one that takes its place.

    For a commit that was dropped that is what became of its parent. `paths` are the files whose content is another, or
    gone, in some commit.
    """

    head: str
    commits: Mapping[str, str]
    dropped: int
    paths: tuple[str, ...]


def past_commits(checkout: Checkout, rev: str, deadline: Deadline) -> list[PastCommit]:
    """The commits that `rev` reaches, parents before children."""
    args = ["log", "-z", "--raw", "--no-abbrev", "--no-renames", "--diff-merges=first-parent", "--date=raw"]
    args += ["--topo-order", "--reverse", "--encoding=UTF-8", _FORMAT, rev]
    output = run(checkout, args, deadline).output.decode("utf-8", "surrogateescape")
    return list(_commits(iter(output.split("\0"))))


def _commits(tokens: Iterator[str]) -> Iterator[PastCommit]:
    for sha in tokens:
        if not sha:
            return
        parents, name, email, date, c_name, c_email, c_date, message = (next(tokens) for _ in _FIELDS[1:])
        author, committer = _signature(name, email, date), _signature(c_name, c_email, c_date)
        yield PastCommit(sha, tuple(parents.split()), author, committer, message, tuple(_steps(tokens)))


def _steps(tokens: Iterator[str]) -> Iterator[Step]:
    """The changes of one commit: `:100644 100644 <sha> <sha> M`, path, and so on to an empty token."""
    for token in tokens:
        if not token:
            return
        old_mode, new_mode, old, new, _ = token.removeprefix("\n").removeprefix(":").split(" ")
        yield Step(next(tokens), State(old_mode, _sha(old)), State(new_mode, _sha(new)))


def _sha(digits: str) -> str | None:
    return digits if digits.strip("0") else None


def _signature(name: str, email: str, date: str) -> str:
    """Who and when, without what fast-import would stumble over in a commit that somebody else's program made."""
    who = f"{name.translate(_NOT_IN_NAMES)} <{email.translate(_NOT_IN_NAMES)}>".lstrip()
    return f"{who} {date if _RAW_DATE.fullmatch(date) else '0 +0000'}"


def judge(checkout: Checkout, commits: Sequence[PastCommit], transform: Transform, deadline: Deadline) -> Verdicts:
    """What `transform` changes of the contents in `commits`."""
    steps = (step for commit in commits for step in commit.steps)
    asked = sorted({(s.path, s.new.sha) for s in steps if s.new.sha and s.new.mode in _WITH_CONTENT})
    verdicts: dict[tuple[str, str], bytes | None] = {}
    for start in range(0, len(asked), _LOT):
        lot = asked[start : start + _LOT]
        for key, found in zip(lot, read_objects(checkout, [sha for _, sha in lot], deadline), strict=True):
            if found is None:
                raise GitError("an object of the history is missing")
            content = transform(key[0], found[2])
            if content != found[2]:
                verdicts[key] = content
    return verdicts


def rewrite(
    scratch: Scratch, head: str, transform: Transform, reword: Reword, drop_empty: bool, deadline: Deadline
) -> Rewriting:
    """The history of `head` written again into `scratch`, where anything changes.

    `transform` gives the content that replaces one, or None to remove the file; `reword` the message, the name or the
    address that replaces one.
    With `drop_empty`, commits of which nothing is left go; else they stay, empty.
    """
    commits = past_commits(scratch.borrowed(head), head, deadline)
    verdicts = judge(scratch.borrowed(head), commits, transform, deadline)
    plan = _Plan(verdicts, reword, drop_empty)
    stream = b"".join(plan.stream(commits))
    shas: list[str] = []
    if plan.marks:
        stream += b"".join(b"get-mark :%d\n" % (number + 1) for number in range(plan.marks)) + b"done\n"
        args = ["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--done", "--date-format=raw-permissive"]
        shas = run(scratch.checkout, args, deadline, stdin=stream, extra=scratch.environment).output.decode().split()
    places = {old: shas[int(new[1:]) - 1] if new.startswith(":") else new for old, new in plan.places.items()}
    return Rewriting(places.get(head, head), places, plan.dropped, tuple(sorted({path for path, _ in verdicts})))


class _Plan:
    """Goes through the commits once and says, as a fast-import stream, what is to be written."""

    def __init__(self, verdicts: Verdicts, reword: Reword, drop_empty: bool) -> None:
        self._verdicts = verdicts
        self._reword = reword
        self._drop_empty = drop_empty
        self.places: dict[str, str] = {}
        self.marks = 0
        self.dropped = 0

    def stream(self, commits: Sequence[PastCommit]) -> Iterator[bytes]:
        """The stream; `places` is filled on the way, with marks (`:7`) for what is written."""
        for commit in commits:
            reworded = commit._replace(
                message=self._reword(commit.message),
                author=self._who(commit.author),
                committer=self._who(commit.committer),
            )
            if reworded == commit and not self._is_touched(commit):
                continue
            effective = [step for step in commit.steps if self._is_effective(step)]
            if self._drop_empty and commit.steps and not effective and len(commit.parents) == 1:
                self.places[commit.sha] = self._place(commit.parents[0])
                self.dropped += 1
                continue
            self.marks += 1
            self.places[commit.sha] = f":{self.marks}"
            yield from self._commit(reworded, {step.path: self._outcome(step.path, step.new) for step in effective})

    def _who(self, signature: str) -> str:
        """`Name <address> date` with name and address reworded, unless they are our own."""
        found = _WHO.fullmatch(signature)
        assert found is not None  # `_signature` made it
        name, address = (self._reword(part) if part not in _OURS else part for part in found.group(1, 2))
        if (name, address) == found.group(1, 2):
            return signature
        return f"{name.translate(_NOT_IN_NAMES).strip()} <{address.translate(_NOT_IN_NAMES)}>{found[3]}".lstrip()

    def _is_touched(self, commit: PastCommit) -> bool:
        return any(parent in self.places for parent in commit.parents) or any(
            (step.path, side.sha) in self._verdicts for step in commit.steps for side in (step.old, step.new)
        )

    def _is_effective(self, step: Step) -> bool:
        return self._outcome(step.path, step.old) != self._outcome(step.path, step.new)

    def _outcome(self, path: str, state: State) -> tuple[str, str | bytes] | None:
        """What is now at a path in place of `state`: its mode, and the sha or the new content."""
        if state.sha is None:
            return None
        if (path, state.sha) not in self._verdicts:
            return state.mode, state.sha
        content = self._verdicts[path, state.sha]
        return None if content is None else (state.mode, content)

    def _place(self, sha: str) -> str:
        return self.places.get(sha, sha)

    def _commit(self, commit: PastCommit, outcomes: Mapping[str, tuple[str, str | bytes] | None]) -> Iterator[bytes]:
        if not commit.parents:
            yield b"reset refs/heads/main\n\n"
        yield b"commit refs/heads/main\nmark :%d\n" % self.marks
        yield _text(f"author {commit.author}\ncommitter {commit.committer}\n")
        yield data(_text(commit.message))
        for word, parent in zip(("from", *("merge" for _ in commit.parents[1:])), commit.parents, strict=False):
            yield f"{word} {self._place(parent)}\n".encode()
        for path in (path for path, outcome in outcomes.items() if outcome is None):
            yield _text(f"D {quoted(path)}\n")
        for path, outcome in outcomes.items():
            yield from _write(path, *outcome) if outcome else ()
        yield b"\n"


def _write(path: str, mode: str, content: str | bytes) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield _text(f"M {mode} inline {quoted(path)}\n")
        yield data(content)
    else:
        yield _text(f"M {mode} {content} {quoted(path)}\n")


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
