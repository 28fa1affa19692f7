"""GET /docs: the contract as one readable page that needs no other host and no script."""

import html
import json
from collections.abc import Mapping
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; }
code, pre { font: 14px/1.45 ui-monospace, monospace; background: #f4f4f2; border-radius: 4px; }
code { padding: .1em .3em; } pre { padding: .8rem; overflow-x: auto; }
h2 { margin-top: 2.5rem; border-top: 1px solid #ddd; padding-top: 1.2rem; font-size: 1.1rem; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; }
table { border-collapse: collapse; } td, th { text-align: left; vertical-align: top; padding: .15rem .8rem .15rem 0; }
summary { cursor: pointer; }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #e6e6e6; } code, pre { background: #252525; } }
"""


def page(document: Mapping[str, Any]) -> bytes:
    """The page for an OpenAPI document."""
    operations = [
        _operation(method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = "".join(_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items()))
    info = document["info"]
    title = f"{info['title']} {info['version']}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body><h1>{html.escape(title)}</h1>"
        '<p>Machine-readable: <a href="/openapi.json">/openapi.json</a>. '
        "Errors are <code>application/problem+json</code>.</p>"
        f"{''.join(operations)}<h2>Schemas</h2>{schemas}</body></html>\n"
    ).encode()


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    rows = "".join(_parameter(parameter) for parameter in operation["parameters"])
    body = "".join(
        f"<tr><th>body</th><td><code>{html.escape(kind)}</code> {_reference(content['schema'])}</td></tr>"
        for kind, content in operation.get("requestBody", {}).get("content", {}).items()
    )
    answers = "".join(
        f"<tr><th>{status}</th><td>{html.escape(answer['description'])} {_answer(answer)}</td></tr>"
        for status, answer in operation["responses"].items()
        if int(status) < 400
    )
    return (
        f'<h2 id="{html.escape(operation["operationId"])}"><span class="method">{method}</span>'
        f"<code>{html.escape(path)}</code></h2><p>{html.escape(operation['description'])}</p>"
        f"<table>{rows}{body}{answers}</table>"
    )


def _parameter(parameter: Mapping[str, Any]) -> str:
    wanted = "" if parameter["required"] else ", optional"
    return f"<tr><th>{html.escape(parameter['name'])}</th><td>{parameter['in']}{wanted}</td></tr>"


def _answer(answer: Mapping[str, Any]) -> str:
    return " ".join(_reference(content["schema"]) for content in answer["content"].values())


def _reference(schema: Mapping[str, Any]) -> str:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return f'<a href="#schema-{html.escape(name)}">{html.escape(name)}</a>' if name else ""


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    text = html.escape(json.dumps(schema, indent=2, ensure_ascii=False))
    return (
        f'<details id="schema-{html.escape(name)}"><summary><code>{html.escape(name)}</code></summary>'
        f"<pre>{text}</pre></details>"
    )
