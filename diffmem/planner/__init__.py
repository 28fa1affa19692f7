"""Retrieval without a model: what of a memory bears on a conversation, by words, time and what changed together."""

from diffmem.planner.offline import plan_offline

__all__ = ["plan_offline"]
