"""A tree for the policy's tests: a few files, names that look like options, and links that lead out."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from diffmem.shell import policy


@dataclass(frozen=True, slots=True)
class PolicyPlace:
    """A tree with something outside it, and the policy asked from a directory in it."""

    tree: Path
    outside: Path

    def line(self, command: str, folder: str = "") -> str:
        """The final line of `command`, a line that needs no shell but quotes; raises `Refused`."""
        cwd = str(self.tree / folder) if folder else str(self.tree)
        return shlex.join(policy.check(shlex.split(command), cwd, str(self.tree)).argv)

    def refusal(self, command: str, folder: str = "") -> str:
        """The message that refuses `command`; empty where it is admitted."""
        try:
            self.line(command, folder)
        except policy.Refused as refused:
            return refused.message
        return ""


def make_place(root: Path) -> PolicyPlace:
    """A place under `root`."""
    tree = root / "tree"
    (tree / "memories" / "people").mkdir(parents=True)
    (tree / "timeline").mkdir()
    for name in ("index.md", "memories/people/wife.md", "timeline/2026-03.md", "-rf", "memories/a.md"):
        (tree / name).write_text("line\n")
    outside = root / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("CANARY\n")
    (tree / "leak.md").symlink_to(outside / "secret.txt")
    (tree / "up").symlink_to("..")
    (tree / "near.md").symlink_to("index.md")
    return PolicyPlace(tree, outside)
