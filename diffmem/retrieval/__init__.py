"""Which parts of memory bear on a conversation: hydrate, plan (agent and offline side by side), resolve."""

from diffmem.retrieval.retrieve import PlannerChoice, Question, Retrieved, retrieve

__all__ = ["PlannerChoice", "Question", "Retrieved", "retrieve"]
