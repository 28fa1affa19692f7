"""Chat models: what is said to them and what they answer, over any OpenAI-compatible provider.

Covers a deadline that reaches the socket, and providers that refuse, stall and break the format. Knows nothing of
memory.
"""

from diffmem.model.addresses import Addresses
from diffmem.model.messages import ChatModel, Message, Reply, Style, ToolCall, ToolSpec, Usage
from diffmem.model.openai_model import OpenAIModel

__all__ = ["Addresses", "ChatModel", "Message", "OpenAIModel", "Reply", "Style", "ToolCall", "ToolSpec", "Usage"]
