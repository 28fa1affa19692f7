"""A user's memory as a git repository in the bucket: hydrate, read, commit, rewrite, export, import, erase."""

from diffmem.git.bundles import Header
from diffmem.git.writing import FileChange
from diffmem.repository.change import Change
from diffmem.repository.commit import Committed, Edit
from diffmem.repository.erase import Erased
from diffmem.repository.hydrate import History
from diffmem.repository.importing import Imported
from diffmem.repository.maintain import Maintained, Progress
from diffmem.repository.names import user_hash
from diffmem.repository.removal import Removed
from diffmem.repository.repositories import Repositories
from diffmem.repository.rewrite import Rewritten
from diffmem.repository.snapshot import Snapshot

__all__ = [
    "Change",
    "Committed",
    "Edit",
    "Erased",
    "FileChange",
    "Header",
    "History",
    "Imported",
    "Maintained",
    "Progress",
    "Removed",
    "Repositories",
    "Rewritten",
    "Snapshot",
    "user_hash",
]
