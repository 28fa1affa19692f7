"""What may be said of a refusal outside a memory: its kind, and the command where it is one that exists here.

A refusal's own text repeats what was typed, which may be anything: an injection shows in it, and so do secrets.
"""

from dataclasses import dataclass
from typing import Literal

RefusalKind = Literal["syntax", "policy", "sandbox"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command did not run: it is not of the grammar, the policy refused it, or there is no sandbox here.

    `command` is a name of the policy's table, or None where the text names none.
    """

    kind: RefusalKind
    command: str | None = None


def policy_refusal(text: str) -> Refusal:
    """The refusal whose `text` says, in the policy's manner, `sort: option '-o' is not available`."""
    from diffmem.shell.policy import COMMANDS  # with the policy, which whoever was refused has loaded

    first = text.split(maxsplit=1)[0].rstrip(":") if text.strip() else ""
    return Refusal("policy", first if first in COMMANDS else None)
