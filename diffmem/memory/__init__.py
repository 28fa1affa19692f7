"""The file format of a memory: archived sessions, entities, the timeline. Text in, text out; no files, no git."""

from diffmem.memory.entities import Entity, Section, citations, find_entity, is_entity_path, parse_entity
from diffmem.memory.framing import CONTEXT_FRAME_CLOSE, CONTEXT_FRAME_OPEN, frame, framed_spans
from diffmem.memory.messages import Message, Session, content_digest
from diffmem.memory.names import name_key, slug
from diffmem.memory.sessions import (
    find_session,
    message_lines,
    numbered_messages,
    parse_head,
    parse_session,
    render_session,
    session_path,
    stem,
    stem_of,
)

__all__ = [
    "CONTEXT_FRAME_CLOSE",
    "CONTEXT_FRAME_OPEN",
    "Entity",
    "Message",
    "Section",
    "Session",
    "citations",
    "content_digest",
    "find_entity",
    "find_session",
    "frame",
    "framed_spans",
    "is_entity_path",
    "message_lines",
    "name_key",
    "numbered_messages",
    "parse_entity",
    "parse_head",
    "parse_session",
    "render_session",
    "session_path",
    "slug",
    "stem",
    "stem_of",
]
