"""A history with a canary in it, and what makes it forget that."""

from diffmem.repository import Repositories
from tests.support.machines import USER, deadline, write
from tests.support.noise import noise

CANARY = b"CANARY-7d1f"


def forget(path: str, content: bytes) -> bytes | None:
    """Drops the canary's file, and the lines that hold it elsewhere."""
    if path == "secret.md":
        return None
    return b"".join(line for line in content.splitlines(keepends=True) if CANARY not in line)


def reword(message: str) -> str:
    """`message` without the canary."""
    return message.replace(CANARY.decode(), "it")


def fill(repositories: Repositories) -> None:
    """A history with the canary in a stored pack, in the tail, in a message, and in a file that is gone by now."""
    secret = CANARY.decode()
    changes: list[tuple[dict[str, str | None], str]] = [
        ({"a.md": "one\n", "big.md": noise(300_000, 1)}, "First"),
        ({"a.md": f"one\n{secret}\ntwo\n", "secret.md": secret}, f"Hear of {secret}"),
        ({"big.md": noise(300_000, 2) + secret + "\n"}, "Big"),
        ({"secret.md": None}, "Delete the file"),
        ({"a.md": f"one\n{secret}\ntwo\nthree\n"}, "Third"),
        ({"b.md": "unrelated\n"}, "Unrelated"),
    ]
    for files, subject in changes:
        repositories.commit(USER, write(files, subject), deadline(), create=True).snapshot.close()
