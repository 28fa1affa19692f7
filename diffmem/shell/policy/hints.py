"""What to type in place of a command that is not there."""

import difflib
from collections.abc import Iterable, Mapping

_READ_ONLY = "memory is read-only here"
_NO_CODE = "no other program can be run; the tool reads files and history"
_NO_NETWORK = "there is no network"
HINTS: Mapping[str, str] = {
    **dict.fromkeys(("rg", "ag", "ack"), "use: grep -rn PATTERN ."),
    **dict.fromkeys(("fd", "locate", "tree"), "use: find . -name '*.md'"),
    **dict.fromkeys(("less", "more", "most", "bat", "vi", "vim", "nano", "ed", "emacs"), "use: head -50 FILE or sed -n '1,50p' FILE"),
    **dict.fromkeys(("zcat", "gzip", "gunzip", "tar", "unzip"), "memory holds plain text; use: cat FILE"),
    **dict.fromkeys(("xxd", "od", "hexdump", "strings"), "use: cat -A FILE"),
    **dict.fromkeys(("realpath", "readlink"), "use: ls -l FILE"),
    **dict.fromkeys(("tee", "touch", "mkdir", "rm", "rmdir", "mv", "cp", "ln", "chmod", "chown", "truncate", "dd", "patch"), _READ_ONLY),
    **dict.fromkeys(("bash", "sh", "zsh", "dash", "python", "python3", "perl", "ruby", "node", "php", "make", "busybox"), _NO_CODE),
    **dict.fromkeys(("eval", "exec", "source", ".", "command", "builtin", "env", "nohup", "setsid", "sudo", "time", "timeout"),
                    "type the command itself"),
    **dict.fromkeys(("curl", "wget", "nc", "ssh", "ping", "nslookup", "dig", "host", "telnet", "rsync"), _NO_NETWORK),
    **dict.fromkeys(("export", "set", "declare", "local", "alias", "printenv"), "use: NAME=value; there is no environment"),
    **dict.fromkeys(("sleep", "watch", "yes"), "nothing changes while you wait"),
    **dict.fromkeys(("which", "type", "whereis", "man", "help", "info"), "a command that is not available says so"),
    **dict.fromkeys(("expr", "bc"), "use: echo $((1 + 2))"),
    **dict.fromkeys(("shuf",), "use: sort -R"),
    **dict.fromkeys(("jq", "yq"), "memory is Markdown; use grep and sed"),
    **dict.fromkeys(("mawk", "nawk", "original-awk"), "use: awk"),
    **dict.fromkeys(("zgrep", "pgrep"), "use: grep"),
    **dict.fromkeys(("gh", "hub", "svn", "hg"), "use: git log, git show, git diff"),
    **dict.fromkeys(("whoami", "id", "ps", "uname", "hostname", "df", "free", "top"), "the machine is not part of memory"),
}  # fmt: skip
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
