"""GET /health: whether this process can serve, and with what."""

from dataclasses import asdict, dataclass
from typing import Any

from diffmem.api.application import Application
from diffmem.api.call import Answer, Call


@dataclass(frozen=True, slots=True)
class Health:
    """`sandbox` says what is in force under the tool, by the self-test of this process."""

    status: str
    version: str
    store: str
    model: str | None
    sandbox: dict[str, Any]


def get_health(app: Application, call: Call) -> Answer:
    """What this process is configured with; it asks neither the bucket nor a model."""
    return Answer(
        200,
        Health(
            status="ok",
            version=app.version,
            store=app.config.store.split(":", 1)[0],
            model=app.reader.name if app.reader else None,
            sandbox=asdict(app.tool.status()),
        ),
    )
