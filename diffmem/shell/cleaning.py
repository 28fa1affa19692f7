"""Output as text that is safe to show to a model: no terminal sequences, no control or bidirectional characters.

Kept are newlines and tabs. NUL, which separates names (`-z`, `-print0`), is shown as ␀.
"""

import re

_SEQUENCES = re.compile(
    "\x1b(?:"
    r"\[[0-?]{0,64}[ -/]{0,8}[@-~]"  # CSI
    "|[\\]PX^_][^\x07\x1b]{0,2000}(?:\x07|\x1b\\\\)"  # OSC, DCS, SOS, PM, APC
    "|[ -/]{0,4}[0-~])"
)
_CONTROLS = re.compile(
    "[\x01-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\U000e0000-\U000e007f]"
)


def clean(text: str) -> str:
    """`text` without what a terminal would act on or what hides or reorders characters."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text)).replace("\0", "␀")
