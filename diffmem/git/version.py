"""Which git is installed."""

import shutil

from diffmem.errors import ConfigError, GitError

LEAST = (2, 32)  # GIT_CONFIG_GLOBAL, and pack-objects --stdin-packs


def require() -> None:
    """Raise `ConfigError` where there is no git on the PATH; it is not run."""
    if shutil.which("git") is None:
        raise ConfigError("git is not installed, or not on the PATH, and nothing works without it")


def installed() -> tuple[int, ...]:
    """The version of the git that is on the PATH, as numbers.

    Raises:
        GitError: there is none.
    """
    try:
        from git.cmd import Git

        return Git("/").version_info
    except (ImportError, OSError) as error:
        raise GitError("git is not installed, or not on the PATH") from error
