"""The file that `python -I -S` starts as the zygote: it makes `diffmem.shell` importable, and hands over.

    python -I -S .../diffmem/shell/zygote_main.py CONTROL WORKER

The packages' own `__init__` is not run: it imports what needs site-packages, which this process does without.
"""

import sys
import types
from pathlib import Path


def _import_without_packages() -> None:
    shell = Path(__file__).resolve().parent
    for name, folder in (("diffmem", shell.parent), ("diffmem.shell", shell)):
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package


if __name__ == "__main__":
    _import_without_packages()
    from diffmem.shell import zygote

    zygote.run(int(sys.argv[1]), sys.argv[2])
