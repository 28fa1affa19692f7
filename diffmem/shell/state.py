"""What a running shell knows: its variables, the last status, where it is. Variables start empty and are bounded.

Standard library only: this module runs in the worker.
"""

import os

from diffmem.shell.globs import Globs
from diffmem.shell.policy.verdict import Place
from diffmem.shell.rules import Rules
from diffmem.shell.stops import MAX_TEXT, MAX_VARIABLES, MAX_VARIABLES_TEXT, ExpansionError


class Variables(dict[str, str]):
    """Variables by name; setting one beyond the bounds fails."""

    def __setitem__(self, name: str, value: str) -> None:
        if len(value) > MAX_TEXT:
            raise ExpansionError(f"{name}: more than {MAX_TEXT} characters in a variable")
        size = sum(map(len, self.values())) - len(self.get(name, "")) + len(value)
        if (len(self) >= MAX_VARIABLES and name not in self) or size > MAX_VARIABLES_TEXT:
            raise ExpansionError(
                f"{name}: more than {MAX_VARIABLES} variables or {MAX_VARIABLES_TEXT} characters in them"
            )
        super().__setitem__(name, value)


class State:
    """The state of one shell; a subshell works on its own copy, which a fork makes."""

    def __init__(self, tree: str, rules: Rules) -> None:
        self.tree = os.path.realpath(tree)
        self.variables = Variables()
        self.globs = Globs(self.tree, rules)
        self.status = 0
        self.substituted: int | None = None
        self.previous_directory: str | None = None
        self.loops = 0

    @property
    def directory(self) -> str:
        """Where the shell is, as text that any name survives."""
        return os.getcwd()  # noqa: PTH109

    @property
    def place(self) -> Place:
        """Where the shell is, for the policy."""
        return Place(self.directory, self.tree)

    @property
    def separators(self) -> str:
        """The characters that separate fields ($IFS)."""
        return self.variables.get("IFS", " \t\n")
