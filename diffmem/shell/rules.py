"""The policy as the interpreter asks it: what may run, where a program is, which paths may be named.

Standard library only: this module runs in the worker.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diffmem.shell import policy
from diffmem.shell.policy import Admitted, binaries, paths
from diffmem.shell.policy.verdict import Place


@dataclass(frozen=True, slots=True)
class Rules:
    """The whole of the policy; tests of the layer below it put others in its place.

    `admit(argv, cwd, tree)` raises `Refused`; `find(name)` is where a program lies, or None; `path(path, place)`
    raises `BadValue`.
    """

    admit: Callable[[Sequence[str], str, str], Admitted] = policy.check
    find: Callable[[str], str | None] = binaries.find
    path: Callable[[str, Place], None] = paths.check
