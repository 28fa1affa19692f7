"""Sessions become memory: archived first, distilled by a model into an edit plan, checked and committed by code."""

from diffmem.writer.append import append_messages
from diffmem.writer.outcome import Appended, Distilled, Mode, Remembered, StorageUse
from diffmem.writer.remember import remember
from diffmem.writer.waiting import distill

__all__ = [
    "Appended",
    "Distilled",
    "Mode",
    "Remembered",
    "StorageUse",
    "append_messages",
    "distill",
    "remember",
]
