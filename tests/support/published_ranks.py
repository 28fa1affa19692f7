"""The rank file as tiktoken publishes it, made again of our vocabulary."""

from binascii import b2a_base64
from importlib.resources import files
from pathlib import Path

from diffmem.tokens.vocabulary import Vocabulary

CACHED_AS = "fb374d419588a4632f3f557e76b4b70aebbca790"  # the SHA-1 of its address
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"  # tiktoken_ext.openai_public has it


def vocabulary_file() -> bytes:
    """The vocabulary that ships."""
    return (files("diffmem") / "data" / "o200k_base.vocabulary").read_bytes()


def published() -> bytes:
    """The lines of tiktoken's file."""
    ranks = Vocabulary(vocabulary_file()).ranks()
    return b"".join(b"%s %d\n" % (b2a_base64(token, newline=False), rank) for token, rank in ranks.items())


def as_cache(folder: Path) -> Path:
    """`folder` as a TIKTOKEN_CACHE_DIR."""
    (folder / CACHED_AS).write_bytes(published())
    return folder
