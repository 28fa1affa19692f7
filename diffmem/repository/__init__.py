"""A user's memory as a git repository in the bucket: hydrate it, read it, commit to it, erase it."""

from diffmem.git.writing import FileChange
from diffmem.repository.change import Change
from diffmem.repository.commit import Committed, Edit
from diffmem.repository.repositories import Repositories
from diffmem.repository.snapshot import Snapshot

__all__ = ["Change", "Committed", "Edit", "FileChange", "Repositories", "Snapshot"]
