"""Every git command that DiffMem runs itself, in an environment in which git reads no configuration but ours.

`environment` says what a git process sees, `process` starts one (by GitPython), `objects` and `history` read,
`writing` makes a commit as a pack of its own, `packs` joins packs, `index` writes a checkout's index, and `paths`
says which paths a memory may hold. The tool's own git commands (`diffmem.shell`) share `environment` and `FLAGS`.
"""

from diffmem.git.environment import FLAGS, Checkout, environment
from diffmem.git.history import Commit
from diffmem.git.inspection import BlamedLine

__all__ = ["FLAGS", "BlamedLine", "Checkout", "Commit", "environment"]
