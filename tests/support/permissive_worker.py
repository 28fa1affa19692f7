"""A worker without the policy: whatever is on the machine may run, with any words, on any path.

The layers below have to hold alone. The zygote loads it in place of `diffmem/shell/worker.py`, by path.
"""

import importlib.util
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from diffmem.shell import jobs, policy
from diffmem.shell.builtins import BUILTINS
from diffmem.shell.policy import Admitted, Refused
from diffmem.shell.policy.verdict import Place
from diffmem.shell.rules import Rules


def _load_worker() -> ModuleType:
    """The product's worker, under another name: its own is taken by this module in the zygote."""
    path = Path(jobs.__file__).with_name("worker.py")
    spec = importlib.util.spec_from_file_location("worker_under_test", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_WORKER = _load_worker()


def main(request: bytes, write: Callable[[bytes], None]) -> None:
    """Serve a call as the worker does, under rules that refuse nothing."""
    _WORKER.main(request, write, Rules(_admit, _find, _path))


def _admit(argv: Sequence[str], cwd: str, tree: str) -> Admitted:
    """Any command as it was typed; builtins in the policy's form, where it has one, since that is what they read."""
    if not argv or not argv[0]:
        raise Refused("an empty word is not a command")
    if argv[0] not in BUILTINS:
        return Admitted(tuple(argv), "git" if argv[0] == "git" else "program")
    try:
        return policy.check(argv, cwd, tree)
    except Refused:
        return Admitted(tuple(argv), "builtin")


def _find(name: str) -> str | None:
    return name if "/" in name else shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")


def _path(_path: str, _place: Place) -> None:
    return None
