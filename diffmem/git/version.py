"""Which git is installed."""

from diffmem.errors import GitError

LEAST = (2, 32)  # GIT_CONFIG_GLOBAL, and pack-objects --stdin-packs


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
