"""The settings of deploy/settings.sh, read by a shell as the scripts read them."""

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FILE = ROOT / "deploy" / "settings.sh"
_PRINT = 'set -eu; . "$1"; shift; for name; do printf "%s=%s\\n" "$name" "${!name}"; done'


@cache
def settings() -> dict[str, str]:
    """Each setting with its value for the project `demo` and nothing else set."""
    names = re.findall(r'^: "\$\{([A-Z_]+):[=?]', _FILE.read_text(), re.MULTILINE)
    command = ["bash", "-c", _PRINT, "bash", str(_FILE), *names]
    done = subprocess.run(command, env={"PROJECT": "demo"}, cwd="/", capture_output=True, text=True, check=True)
    return dict(line.split("=", 1) for line in done.stdout.splitlines())
