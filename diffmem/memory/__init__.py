"""The file format of a memory: archived sessions, entities, the timeline. Text in, text out; no files, no git."""

from diffmem.memory.entities import Entity, Section, find_entity, is_entity_path, parse_entity
from diffmem.memory.facts import citations
from diffmem.memory.framing import CONTEXT_FRAME_CLOSE, CONTEXT_FRAME_OPEN, frame, framed_spans
from diffmem.memory.index import INDEX_PATH, render_index
from diffmem.memory.messages import Message, Session, content_digest
from diffmem.memory.names import name_key, slug
from diffmem.memory.sessions import (
    find_session,
    message_lines,
    new_session,
    numbered_messages,
    parse_head,
    parse_session,
    render_session,
    session_path,
    stem,
    stem_of,
)
from diffmem.memory.settings import PROFILE_PATH, SETTINGS_PATH, Settings, parse_settings, render_settings

__all__ = [
    "CONTEXT_FRAME_CLOSE",
    "CONTEXT_FRAME_OPEN",
    "INDEX_PATH",
    "PROFILE_PATH",
    "SETTINGS_PATH",
    "Entity",
    "Message",
    "Section",
    "Session",
    "Settings",
    "citations",
    "content_digest",
    "find_entity",
    "find_session",
    "frame",
    "framed_spans",
    "is_entity_path",
    "message_lines",
    "name_key",
    "new_session",
    "numbered_messages",
    "parse_entity",
    "parse_head",
    "parse_session",
    "parse_settings",
    "render_index",
    "render_session",
    "render_settings",
    "session_path",
    "slug",
    "stem",
    "stem_of",
]
