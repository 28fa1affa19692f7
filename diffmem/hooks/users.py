"""User ids from whatever a sender calls its people: valid, and never another's.

    alex, wa-4917012345678, whatsapp:+49170    a valid id that does not start with `=` is itself
    a/b, José, =x                              `=`, then the id with every other character as `=` and its UTF-8 bytes in
                                               hexadecimal: `=a=2Fb`, `=Jos=C3=A9`, `==3Dx`
    longer than 128 characters after that      `==sha256-` and the SHA-256 of the id

Two ids never become one: what starts with `=` is always such a spelling, which can be read back, or a hash of the id.
"""

import hashlib
import re

_VALID = re.compile(r"[A-Za-z0-9_@+:-][A-Za-z0-9._@+:=-]{0,127}")
_PLAIN = re.compile(rb"[A-Za-z0-9._@+:-]")
_MAX_CHARACTERS = 128


def user_id(text: str) -> str:
    """`text` where it is a valid user id, else its spelling as one."""
    if _VALID.fullmatch(text):
        return text
    data = text.encode("utf-8", "surrogatepass")
    pieces = (chr(byte) if _PLAIN.fullmatch(bytes([byte])) else f"={byte:02X}" for byte in data)
    spelled = "=" + "".join(pieces)
    return spelled if len(spelled) <= _MAX_CHARACTERS else f"==sha256-{hashlib.sha256(data).hexdigest()}"
