"""GET /openapi.json and GET /docs: the contract for machines and for people."""

from diffmem.api.application import Application
from diffmem.api.call import Answer, Call
from diffmem.http import docs, openapi
from diffmem.http.routes import ROUTES


def get_openapi(app: Application, call: Call) -> Answer:
    """The machine-readable contract."""
    return Answer(200, openapi.document(ROUTES))


def get_docs(app: Application, call: Call) -> Answer:
    """A page for people, which needs no other host."""
    return Answer(200, docs.page(openapi.document(ROUTES)), "text/html; charset=utf-8")
