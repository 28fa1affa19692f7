"""Output of the tool as data: text from memory must not pass for words of ours.

    <output of="cat index.md" id="3f2a91c0">
    ...
    </output 3f2a91c0>

The id is a digest of the command and the whole output, so a file cannot hold the end mark of the output that it is in,
and equal outputs are equal bytes for the providers' prompt caches.
"""

import hashlib

MAX_SHOWN_CHARS = 60_000


def framed(command: str, output: str, max_chars: int = MAX_SHOWN_CHARS) -> str:
    """The output between marks, its middle left out beyond `max_chars`."""
    digest = hashlib.sha256(f"{command}\0{output}".encode("utf-8", "replace")).hexdigest()[:8]
    title = " ".join(command.split())[:80].replace('"', "'")
    return f'<output of="{title}" id="{digest}">\n{_shortened(output, max_chars).rstrip()}\n</output {digest}>'


def _shortened(output: str, max_chars: int) -> str:
    if len(output) <= max_chars:
        return output
    head, tail = max_chars * 2 // 3, max_chars // 3
    left_out = len(output) - head - tail
    return f"{output[:head]}\n... {left_out} characters left out ...\n{output[-tail:]}"
