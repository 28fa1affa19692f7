"""What to type in place of a command that is not there."""

import difflib
from collections.abc import Iterable, Mapping

HINTS: Mapping[str, str] = {
    name: hint
    for names, hint in (
        ("rg ag ack", "use: grep -rn PATTERN ."),
        ("fd locate tree", "use: find . -name '*.md'"),
        ("less more most bat vi vim nano ed emacs", "use: head -50 FILE or sed -n '1,50p' FILE"),
        ("zcat gzip gunzip tar unzip", "memory holds plain text; use: cat FILE"),
        ("xxd od hexdump strings", "use: cat -A FILE"),
        ("realpath readlink", "use: ls -l FILE"),
        ("tee touch mkdir rm rmdir mv cp ln chmod chown truncate dd patch", "memory is read-only here"),
        (
            "bash sh zsh dash python python3 perl ruby node php make busybox",
            "no other program can be run; the tool reads files and history",
        ),
        ("eval exec source . command builtin env nohup setsid sudo time timeout", "type the command itself"),
        ("curl wget nc ssh ping nslookup dig host telnet rsync", "there is no network"),
        ("export declare local alias printenv", "use: NAME=value; there is no environment"),
        ("set shopt", "the shell's options are fixed; leave it out"),
        ("sleep watch yes", "nothing changes while you wait"),
        ("which type whereis man help info", "a command that is not available says so"),
        ("expr bc", "use: echo $((1 + 2))"),
        ("shuf", "use: sort -R"),
        ("jq yq", "memory is Markdown; use grep and sed"),
        ("mawk nawk original-awk", "use: awk"),
        ("zgrep pgrep", "use: grep"),
        ("gh hub svn hg", "use: git log, git show, git diff"),
        ("whoami id ps uname hostname df free top", "the machine is not part of memory"),
    )
    for name in names.split()
}
_NEAR = 0.7


def unknown(name: str, known: Iterable[str]) -> str:
    """The message for the command `name`, which is none of `known`.

    Example: `rg: not available; use: grep -rn PATTERN .`
    """
    shown = name if name.isascii() and name.isprintable() else repr(name)
    if "/" in name:
        return f"{shown!r}: commands are typed by name, without a path"
    if name in HINTS:
        return f"{shown}: not available; {HINTS[name]}"
    names = sorted(known)
    near = difflib.get_close_matches(name.casefold(), names, n=1, cutoff=_NEAR)
    if near:
        return f"{shown}: not available; the nearest command that is: {near[0]}"
    return f"{shown}: not available; commands: {' '.join(one for one in names if one.isalpha())}"
