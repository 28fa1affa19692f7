"""What the writer reads of a snapshot, and the words of its commits."""

from collections.abc import Mapping
from dataclasses import replace

from diffmem.memory import SETTINGS_PATH, Session, parse_session, parse_settings, render_session
from diffmem.memory.editing import decoded, encoded
from diffmem.memory.fields import set_field
from diffmem.memory.messages import State
from diffmem.memory.sessions import stem
from diffmem.memory.settings import Settings
from diffmem.repository import Snapshot


def settings_of(snapshot: Snapshot) -> Settings:
    """The user's settings at the snapshot."""
    return parse_settings(snapshot.read(SETTINGS_PATH) if SETTINGS_PATH in snapshot.paths() else b"")


def with_state(data: bytes, state: State, digest: str | None = None) -> bytes:
    """The archived session `data` in another state; its messages stay byte for byte what they are."""
    edited = set_field(decoded(data), "state", state)
    if digest is not None and not edited.problem:
        edited = set_field(edited.text, "digest", digest)
    if edited.problem:  # front matter that a person has broken
        return render_session(_with(parse_session(data), state, digest))
    return encoded(edited.text)


def _with(session: Session, state: State, digest: str | None) -> Session:
    return replace(session, state=state, digest=digest or session.digest)


def trailers(session: Session, writer: str, model: str | None = None) -> Mapping[str, str]:
    """The trailers of a commit about `session`; an id that does not fit on a line stands as its stem."""
    known = session.session_id
    found = {
        "Session-Id": known if known.isprintable() and known == " ".join(known.split()) else stem(known),
        "Session-Digest": session.digest,
        "Writer": writer,
    }
    return {**found, "Model": model} if model else found
