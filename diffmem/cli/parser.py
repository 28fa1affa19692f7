"""The grammar of the command line, and its help."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diffmem import __version__

_DESCRIPTION = """\
Remember conversations in a git repository of Markdown files, and ask what of it bears on the next one.

Commands work on the store that the environment configures (DIFFMEM_STORE, by default .diffmem/ here) or, with --url,
on a server. OPENAI_API_KEY or OPENAI_BASE_URL configure a model; without one, what was said is kept and searched as is.
"""
_EPILOG = """\
examples:
  python -m diffmem remember notes.md conversations.json
  python -m diffmem ask "What did Maya decide about the clinic?"
  python -m diffmem run "git log --oneline -5; grep -rn clinic sessions | head -3"
  python -m diffmem log --user alex --url https://memory.example.org --key-file ~/.diffmem-key
  python -m diffmem doctor

exit codes: 0 fine, 1 failed, 2 the command line is wrong
"""
_FILES = """\
what a FILE may be:
  text, Markdown       one conversation, as it is; known by its path, so that a changed file is remembered anew
  JSON, JSON lines     a body of POST sessions ({"messages": [...]} or {"transcript": "..."}), or a list of them
  conversations.json   an export of ChatGPT or Claude: one session a conversation
  a folder             every .md, .txt, .json and .jsonl file in it

Nothing is remembered twice: after an interruption run the same command again, and it goes on where it stopped.
"""
_Commands = Any  # argparse's own type for this has no public name


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of one command line; leaves the process where it asks for help, or means nothing."""
    made = parser()
    options, rest = made.parse_known_args(arguments)
    options.rest = rest
    for name in ("user", "url", "store"):
        if getattr(options, name, None) == "":
            made.error(f"argument --{name}: it is empty; leave it out for the default")
    if rest and options.command != "evals":
        made.error(f"unrecognized arguments: {' '.join(rest)}")
    return options


def parser() -> argparse.ArgumentParser:
    """The parser. `run` of a command's options names its function, as `module:function` of this package."""
    made = argparse.ArgumentParser(
        prog="python -m diffmem",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"DiffMem {__version__}")
    _add_common(made)
    made.set_defaults(user=None, url=None, key_file=None, store=None, json=False, quiet=False)
    commands = made.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for add in (_serve, _remember, _ask, _run, _log, _blame, _diff, _forget, _export, _import, _maintain, _evals):
        add(commands)
    _command(commands, "doctor", "say what is wrong with the set-up, and what to do about it", "doctor:doctor")
    return made


def _command(
    commands: _Commands, name: str, summary: str, run: str, epilog: str | None = None
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.set_defaults(run=run)
    _add_common(made)
    return made


def _add_common(to: argparse.ArgumentParser) -> None:
    """The options that every command takes, before its name or behind it."""
    group = to.add_argument_group("where and how")
    add = group.add_argument
    absent = argparse.SUPPRESS
    add("-u", "--user", default=absent, help="whose memory (default: $DIFFMEM_USER, else 'me')")
    add("--store", default=absent, metavar="STORE", help="file:PATH or gs://BUCKET/PREFIX (default: $DIFFMEM_STORE)")
    add("--url", default=absent, metavar="URL", help="a server, in place of a store")
    add("--key-file", default=absent, type=Path, metavar="FILE", help="holds the server's key (default: $DIFFMEM_KEY)")
    add("--json", default=absent, action="store_true", help="print the answer as JSON")
    add("-q", "--quiet", default=absent, action="store_true", help="no progress and no notes")


def _serve(commands: _Commands) -> None:
    made = _command(commands, "serve", "serve the function on this machine", "serving:serve")
    made.add_argument("--host", default="127.0.0.1", help="the address to listen at (%(default)s)")
    made.add_argument("--port", type=int, default=8080, help="the port to listen at (%(default)s)")


def _remember(commands: _Commands) -> None:
    made = _command(commands, "remember", "remember conversations from files", "remembering:remember", _FILES)
    made.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a file or folder; see below")
    made.add_argument("--mode", choices=["distill", "archive"], default="distill", help="archive: ask no model")
    made.add_argument("--timezone", metavar="ZONE", help="an IANA zone, such as Europe/Berlin, for what names none")
    made.add_argument("--time-budget-s", type=float, default=60.0, metavar="S", help="for each session (%(default)s)")


def _ask(commands: _Commands) -> None:
    made = _command(commands, "ask", "print what memory says that bears on a question", "reading:ask")
    made.add_argument("question", nargs="*", help="the question; without one it is read from standard input")
    made.add_argument("--max-tokens", type=int, default=8000, metavar="N", help="at most so long (%(default)s)")
    made.add_argument("--planner", choices=["auto", "agent", "offline"], default="auto", help="offline: ask no model")
    made.add_argument("--time-budget-s", type=float, default=20.0, metavar="S", help="at most so slow (%(default)s)")
    _add_as_of(made)


def _run(commands: _Commands) -> None:
    made = _command(commands, "run", "run a command line with the agent's read-only tool", "reading:run")
    made.add_argument("line", metavar="'COMMAND ...'", help="in quotes, such as 'git log --oneline -5; cat profile.md'")
    _add_as_of(made)


def _log(commands: _Commands) -> None:
    made = _command(commands, "log", "list what was learned, newest first", "reading:log")
    made.add_argument("path", nargs="?", help="only what touched this file or folder")
    made.add_argument("--limit", type=int, default=20, metavar="N", help="at most so many commits (%(default)s)")
    made.add_argument("--since", metavar="TIME", help="recorded at that time or later (RFC 3339)")
    made.add_argument("--until", metavar="TIME", help="recorded at that time or before")
    _add_as_of(made)


def _blame(commands: _Commands) -> None:
    made = _command(commands, "blame", "say for each line of a file which session it came from", "reading:blame")
    made.add_argument("path", help="the file")
    _add_as_of(made)


def _diff(commands: _Commands) -> None:
    made = _command(commands, "diff", "show how memory differs between two commits or times", "reading:diff")
    made.add_argument("from_", nargs="?", metavar="FROM", help="a commit or time (default: the one before TO)")
    made.add_argument("to", nargs="?", metavar="TO", help="a commit or time (default: now)")
    made.add_argument("--path", help="only this file or folder")


def _forget(commands: _Commands) -> None:
    made = _command(commands, "forget", "remove something from memory and from its history", "forgetting:forget")
    made.add_argument("--text", action="append", default=[], help="each line that holds it; repeatable")
    made.add_argument("--file", action="append", default=[], metavar="PATH", help="a whole file; repeatable")
    made.add_argument("--session", action="append", default=[], metavar="ID", help="a session, and what cites it")
    made.add_argument("--dry-run", action="store_true", help="only say what would go")
    made.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _export(commands: _Commands) -> None:
    made = _command(commands, "export", "write the whole memory to a git bundle", "transfer:export")
    made.add_argument("file", type=Path, help="where to; '-' is standard output. `git clone FILE` reads it")
    made.add_argument("--force", action="store_true", help="replace a file that exists")
    _add_as_of(made)


def _import(commands: _Commands) -> None:
    made = _command(commands, "import", "make a git bundle's history the memory", "transfer:import_")
    made.add_argument("file", type=Path, help="what `export` or `git bundle create` made; '-' is standard input")
    made.add_argument("--branch", help="which branch (default: user/USER, HEAD's, main, master, or the only one)")
    made.add_argument("--replace", action="store_true", help="also where there is something in the memory already")


def _maintain(commands: _Commands) -> None:
    summary = "keep house in the store: unfinished erasures, rebuilds, garbage"
    made = _command(commands, "maintain", summary, "maintaining:maintain", "Without --user, of everybody.")
    made.add_argument("--time-budget-s", type=float, default=3600.0, metavar="S", help="in all (%(default)s)")


def _evals(commands: _Commands) -> None:
    """A command whose arguments are `diffmem.evals`' own."""
    made = commands.add_parser("evals", help="measure retrieval; see `evals --help`", add_help=False)
    made.set_defaults(run="measuring:evals")


def _add_as_of(made: argparse.ArgumentParser) -> None:
    made.add_argument("--as-of", metavar="TIME", help="memory as it was recorded then (RFC 3339)")
