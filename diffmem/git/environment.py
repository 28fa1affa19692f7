"""What a git process sees: our flags and our environment, and nothing of the host's.

*Covered*: nothing of the host's or a repository's configuration, attributes, hooks, pagers, editors, replace objects,
lazy fetches or helpers takes effect. *Not covered*: which sub-commands and options a model may use; that is the tool's
policy (`diffmem.shell`).
"""

from dataclasses import dataclass
from pathlib import Path

FLAGS: tuple[str, ...] = (
    "--no-pager",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "diff.autoRefreshIndex=false",
    "-c", "diff.orderFile=/dev/null",  # an empty value breaks every diff on git 2.39
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.excludesFile=/dev/null",
    "-c", "protocol.allow=never",
    "-c", "log.showSignature=false",
    "-c", "submodule.recurse=false",
    "-c", "core.quotePath=false",
    "-c", "color.ui=never",
    "-c", "core.symlinks=false",
    "-c", "core.protectHFS=true",
    "-c", "core.protectNTFS=true",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checkout:
    """One revision of one user's memory on disk: plain files, and a git directory made by us beside them.

    `tree` holds no `.git`; `git_dir` holds HEAD (at `head`), one branch, an index of `head` and our config; `objects`
    is the object directory that all checkouts of this user share. All three are read-only to whoever uses the
    checkout.
    """

    tree: Path
    git_dir: Path
    objects: Path
    head: str


def environment(checkout: Checkout) -> dict[str, str]:
    """The whole environment of a git process on `checkout`: nothing is inherited."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "HOME": "/nonexistent",
        "TZ": "UTC",
        "GIT_DIR": str(checkout.git_dir),
        "GIT_WORK_TREE": str(checkout.tree),
        "GIT_OBJECT_DIRECTORY": str(checkout.objects),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_CEILING_DIRECTORIES": "/",
    }
