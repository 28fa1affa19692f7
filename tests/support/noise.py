"""Text that does not compress well, the same for the same number."""

import random


def noise(size: int, seed: int) -> str:
    """`size` characters, with a line end at every hundredth."""
    text = random.Random(seed).randbytes(size // 2).hex()
    return "\n".join(text[start : start + 99] for start in range(0, size, 99)) + "\n"
