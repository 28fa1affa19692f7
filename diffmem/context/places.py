"""The plan's pointers against one snapshot: each becomes a claim, or is refused with a reason.

*Covered*: paths that do not exist (one that differs by case only is taken for the one that does), lines beyond the end
of a file, revisions that the head does not reach, commands that the tool refuses or cannot run. *Not covered*: the form
of a pointer; that is `diffmem.plan`. History is read through the snapshot, so that only `command` needs the tool.
"""

from collections.abc import Callable, Iterator, Sequence

from diffmem.context import headings, sources
from diffmem.context.history import History, diff_lines, heads_first
from diffmem.context.paths import Paths
from diffmem.context.selection import Claim
from diffmem.context.sources import Content, Source
from diffmem.errors import DeadlineExceeded, RequestError, ToolUnavailable
from diffmem.git.paths import unsafe_reason
from diffmem.limits import Deadline
from diffmem.memory import is_entity_path, parse_entity, parse_head, stem_of
from diffmem.plan import Plan, Pointer, Rejected
from diffmem.repository import Snapshot
from diffmem.shell import Tool

PROFILE = "profile.md"

_LOG_COUNT = 10
_OUTPUT_BYTES = 64_000
_REASON_CHARS = 300


class Refused(Exception):
    """A pointer that cannot be used; the message says why."""


class Places:
    """What pointers may point at. Each file, diff and command is looked up once, however often it is pointed at."""

    def __init__(self, snapshot: Snapshot, tool: Tool | None, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._tool = tool
        self._deadline = deadline
        self._history = History(snapshot)
        self._paths = Paths(snapshot.paths())
        self._data: dict[str, bytes] = {}
        self._sources: dict[tuple[str | None, ...], Source] = {}

    def claims(self, plan: Plan) -> tuple[list[Claim], list[Rejected]]:
        """A claim for each pointer that can be used, in the plan's order, and the others."""
        self._read([PROFILE, *(pointer.path for pointer in plan.pointers if pointer.path)])
        claims, rejected = [], []
        for pointer in plan.pointers:
            try:
                claims.append(self._claim(pointer))
            except (Refused, RequestError, DeadlineExceeded, ToolUnavailable) as error:
                rejected.append(Rejected(pointer, str(error)))
        return claims, rejected

    def always_loaded(self, claims: Sequence[Claim]) -> Iterator[Claim]:
        """Claims for profile.md, and for the `always_load` sections of the entities that `claims` touch."""
        if self._data.get(PROFILE, b"").strip():
            yield Claim(self._file(PROFILE), "must_include", "the profile is always loaded")
        for path in dict.fromkeys(claim.source.path for claim in claims):
            if path and is_entity_path(path) and b"always_load" in self._data.get(path, b""):
                yield from self._sections(path)

    def _sections(self, path: str) -> Iterator[Claim]:
        entity, lines = parse_entity(path, self._data[path]), self._data[path].split(b"\n")
        for wanted in dict.fromkeys(entity.always_load):
            if section := entity.section(wanted):
                end = section.line_end
                while not lines[end - 1].strip():
                    end -= 1
                reason = f"{section.heading!r} is always loaded"
                yield Claim(self._file(path), "must_include", reason, section.line_start, end)

    def _read(self, paths: Sequence[str]) -> None:
        """Read what exists of `paths` in one go."""
        found = dict.fromkeys(known for path in paths if (known := self._paths.find(path)))
        self._data = self._snapshot.read_all(found)

    def _claim(self, pointer: Pointer) -> Claim:
        path, lines = pointer.path or "", (pointer.line_start, pointer.line_end)
        match pointer.type:
            case "file" | "file_section":
                source = self._file(self._existing(path, pointer.line_start or 1))
            case "git_show":
                source = self._shown(self._then(path), pointer.rev or "")
            case "git_diff":
                source, lines = self._diff(self._then(path), pointer.since or ""), (None, None)
            case "git_log":
                source, lines = self._log(pointer.path, pointer.max_count or _LOG_COUNT), (None, None)
            case "command":
                source, lines = self._output(pointer.command or ""), (None, None)
        return Claim(source, pointer.priority, pointer.reason, *lines)

    def _existing(self, path: str, line_start: int) -> str:
        """The path of the file that has a line `line_start`."""
        known = self._paths.find(path)
        if known is None:
            raise Refused(self._paths.why_not(path))
        if not self._data[known].strip():
            raise Refused(f"{known!r} is empty")
        lines = sources.count_lines(self._data[known])
        if lines < line_start:
            raise Refused(f"{known!r} has {lines} lines, and no line {line_start}")
        return known

    def _then(self, path: str) -> str:
        """The path of a file that need not be there any more."""
        known = self._paths.find(path)
        reason = None if known else unsafe_reason(path)
        if reason:
            raise Refused(f"{path!r} {reason}")
        return known or path

    def _once(self, key: tuple[str | None, ...], make: Callable[[], Source]) -> Source:
        if key not in self._sources:
            self._sources[key] = make()
        return self._sources[key]

    def _file(self, path: str) -> Source:
        return self._once(("file", path), lambda: file_source(path, self._data[path]))

    def _shown(self, path: str, rev: str) -> Source:
        commit = self._history.at(path, rev)
        heading = headings.shown(path, commit.occurred_at.date())

        def make() -> Source:
            data = self._snapshot.read_at(commit.sha, path)
            if not data:
                raise Refused(f"{path!r} was empty at {rev!r}")
            return Source("git_show", path, heading, lambda: _content(path, data), commit=commit)

        return self._once(("git_show", path, commit.sha), make)

    def _diff(self, path: str, since: str) -> Source:
        commit = self._history.before(path, since)
        old = self._history.read(commit, path)
        if not old and path not in self._paths:
            raise Refused(self._paths.why_not(path))
        lines = diff_lines(old, self._data.get(path, b""))
        if not lines:
            raise Refused(f"nothing changed in {path!r} since {since!r}")
        heading = headings.diff(path, commit.occurred_at.date() if commit else None)
        content = sources.text_content(lines, heads_first(lines))
        return self._once(
            ("git_diff", path, commit.sha if commit else None),
            lambda: Source("git_diff", path, heading, lambda: content, split=False),
        )

    def _log(self, path: str | None, max_count: int) -> Source:
        known = self._then(path) if path else None
        commits = self._history.log(known, max_count)
        if not commits:
            raise Refused(f"no commit touched {path!r}")
        content = sources.text_content([f"{commit.occurred_at:%Y-%m-%d} {commit.subject}" for commit in commits])
        return self._once(
            ("git_log", known, str(max_count)),
            lambda: Source("git_log", known, headings.log(known), lambda: content, split=False, commit=commits[0]),
        )

    def _output(self, command: str) -> Source:
        return self._once(("command", command), lambda: self._run(command))

    def _run(self, command: str) -> Source:
        if self._tool is None:
            raise Refused("there is no tool to run commands with")
        self._deadline.check("the commands of the plan")
        checkout = self._snapshot.checkout
        result = self._tool.run(command, checkout, self._deadline, raw=True, max_output_bytes=_OUTPUT_BYTES)
        if not result.output.strip():
            refusals = "; ".join(result.refusals)[:_REASON_CHARS]
            raise Refused(refusals or f"the command printed nothing (exit code {result.exit_code})")
        lines = sources.split_lines(result.output)
        content = sources.text_content([*lines, headings.GAP] if result.truncated else lines)
        head = self._history.log(None, 1)[0]
        return Source("command", None, headings.ran(command), lambda: content, split=False, commit=head)


def file_source(path: str, data: bytes) -> Source:
    """A file of the head; an archived session is headed by its day, where it says which."""
    day = parse_head(data).local_time.date() if stem_of(path) else None
    known_day = day if day and day.year > 1970 else None
    return Source("file", path, headings.file(path), lambda: _content(path, data), day=known_day)


def _content(path: str, data: bytes) -> Content:
    return sources.session_content(data) if stem_of(path) else sources.file_content(data)
