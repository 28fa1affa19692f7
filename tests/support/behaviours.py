"""What providers and models do instead of what they were asked, by name, and how an investigation then ends.

Each behaviour is a script for `tests.support.provider.Provider`. Those that are `sensible` in between investigate once
and then plan; they know from the request's text whether a command was run, because the tests' tool answers `ran: ...`.
"""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.provider import (
    HANG,
    Received,
    Reply,
    Wire,
    as_json,
    calls,
    completion,
    error,
    plan,
    raw_calls,
    text,
)

POINTER: Mapping[str, Any] = {
    "type": "file_section",
    "path": "memories/people/maya.md",
    "line_start": 1,
    "line_end": 4,
    "priority": "must_include",
    "reason": "her job",
}
PLAN_TEXT = json.dumps({"pointers": [POINTER], "synthesis": "", "entities": ["maya"]})
RAN = "ran:"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A script, the stop reasons it may end in, and what else holds at the end."""

    script: Sequence[Reply]
    ends: tuple[str, ...] = ("plan",)
    model: str = "scripted"
    commands: int | None = None  # how many are run; None: any number
    rejected: int = 0
    requests: int | None = None  # how many the provider gets; None: any number
    waits: bool = False  # the time is used up


def sensible(received: Received) -> Wire:
    """Investigate once, in the style of the request, then plan."""
    if RAN.encode() in received.raw:
        return plan(POINTER)
    return calls("git log -3") if "tools" in received.body else text("$ git log -3")


def refusing(field: str, message: str, status: int = 400, **words: Any) -> Callable[[Received], Wire]:
    """Refuse every request that has `field`, in these words, and else be sensible."""

    def reply(received: Received) -> Wire:
        return error(status, message, **words) if field in received.body else sensible(received)

    return reply


def insatiable(received: Received) -> Wire:
    """Call the tool wherever it is on offer."""
    if "tools" in received.body and received.body.get("tool_choice") != "none":
        return calls("git log -3")
    return plan(POINTER)


def no_shapes(received: Received) -> Wire:
    """Refuse every `response_format`, so that the schema can only stand in the prompt."""
    if "response_format" in received.body:
        return error(400, "response_format is not supported")
    return insatiable(received)


def no_system(received: Received) -> Wire:
    """Refuse the system's role, as the templates of some models do."""
    if received.messages[0]["role"] == "system":
        return error(400, "System role not supported")
    return sensible(received)


def no_user_after_tool(received: Received) -> Wire:
    """Refuse a user's message right after a result, as Mistral does; call wherever the tool is on offer."""
    roles = [message["role"] for message in received.messages]
    if ("tool", "user") in itertools.pairwise(roles):
        return error(400, "Unexpected role 'user' after role 'tool'")
    return insatiable(received)


def event_stream(*deltas: Mapping[str, Any]) -> Wire:
    """A stream of chunks that nobody asked for."""
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    body = ": comment\n\n" + "".join(lines) + "data: [DONE]\n\n"
    return Wire(body.encode(), headers={"Content-Type": "text/event-stream"})


def _called(arguments: Any, name: str = "run") -> tuple[Reply, ...]:
    return (raw_calls((name, arguments)), plan(POINTER))


def _nested(depth: int) -> Any:
    """A command in so many objects."""
    value: Any = "ls"
    for _ in range(depth):
        value = {"command": value}
    return value


def _said(content: Any) -> tuple[Reply, ...]:
    return (text(content),)


GOOD: Mapping[str, Behaviour] = {
    "investigates, then plans": Behaviour([sensible], commands=1, requests=2),
    "plans at once": Behaviour([plan(POINTER)], commands=0, requests=1),
    "finds nothing": Behaviour([plan()], requests=1),
    "investigates twice": Behaviour([calls("ls"), calls("cat index.md"), plan(POINTER)], commands=2, requests=3),
}

CALLS: Mapping[str, Behaviour] = {
    "several calls at once": Behaviour([calls("ls", "cat index.md", "git log"), plan(POINTER)], commands=3),
    "twenty calls at once": Behaviour([calls(*["ls"] * 20), plan(POINTER)], commands=8),
    "arguments are not JSON": Behaviour(_called("git log -3"), commands=1),
    "arguments break off": Behaviour(_called('{"command": "git log \\"-3'), commands=1),
    "arguments are an object": Behaviour(_called({"command": "git log -3"}), commands=1),
    "arguments are JSON in JSON": Behaviour(_called(json.dumps(json.dumps({"command": "ls"}))), commands=1),
    "arguments are a list": Behaviour(_called({"command": ["git log -3", "ls"]}), commands=1),
    "arguments are missing": Behaviour([raw_calls(("run", None)), plan(POINTER)], commands=0),
    "arguments are a number": Behaviour([raw_calls(("run", 7)), plan(POINTER)], commands=0),
    "the command is under another key": Behaviour(_called('{"cmd": "git log -3"}'), commands=1),
    "the command is an object": Behaviour(_called({"command": {"cmd": "ls"}}), commands=1),
    "the command is an object in an object in an object": Behaviour(_called(_nested(400)), commands=0),
    "the arguments are nested as deeply as can be read": Behaviour(_called(json.dumps(_nested(900))), commands=0),
    "a tool by another name": Behaviour(_called('{"command": "ls"}', "bash"), commands=1),
    "a tool that does not exist": Behaviour(_called('{"path": "index.md"}', "read_file"), commands=0),
    "a tool without a name": Behaviour(_called('{"command": "ls"}', ""), commands=1),
    "the plan is a call": Behaviour([raw_calls(("submit_plan", PLAN_TEXT))], requests=1),
    "the older function_call": Behaviour(
        [
            completion({"content": None, "function_call": {"name": "run", "arguments": '{"command": "ls"}'}}),
            plan(POINTER),
        ],
        commands=1,
    ),
    "every call has the same id": Behaviour([calls("ls"), calls("ls"), plan(POINTER)], commands=2),
    "tool_calls is an object": Behaviour(
        [
            completion({"content": None, "tool_calls": {"function": {"name": "run", "arguments": {"command": "ls"}}}}),
            sensible,
        ],
        commands=1,
    ),
    "calls in the text": Behaviour(
        [text('<tool_call>\n{"name": "run", "arguments": {"command": "ls"}}\n</tool_call>'), plan(POINTER)], commands=1
    ),
    "commands after a dollar": Behaviour([text("```\n$ git log -3\n$ ls\n```\nand then"), plan(POINTER)], commands=1),
    "never stops calling": Behaviour([calls("ls")], ends=("turn_limit",), commands=2),
    "calls when none are taken, then plans": Behaviour([calls("ls"), calls("ls"), calls("ls"), plan(POINTER)]),
}

ANSWERS: Mapping[str, Behaviour] = {
    "fences": Behaviour(_said(f"```json\n{PLAN_TEXT}\n```"), requests=1),
    "prose around": Behaviour(_said(f"Sure! Here is [the] plan:\n{PLAN_TEXT}\nHope {{this}} helps."), requests=1),
    "a draft before": Behaviour(_said(f'First {{"pointers": []}} but then\n{PLAN_TEXT}'), requests=1),
    "commas too many": Behaviour(_said(PLAN_TEXT.replace("]}", ",],}")), requests=1),
    "Python's spelling": Behaviour(_said(str({"pointers": [dict(POINTER)], "x": None, "y": True})), requests=1),
    "JSON in a JSON string": Behaviour(_said(json.dumps(PLAN_TEXT)), requests=1),
    "line feeds within strings": Behaviour(_said(PLAN_TEXT.replace("her job", "her\njob")), requests=1),
    "a pointer a line": Behaviour(_said(f"{json.dumps(POINTER)}\n{json.dumps(POINTER)}"), requests=1),
    "plain lines": Behaviour(_said("memories/people/maya.md:1-4 must her job\n= She works."), requests=1),
    "think tags": Behaviour(_said(f'<think>maybe {{"pointers": []}}?</think>{PLAN_TEXT}'), requests=1),
    "a think tag opened by the template": Behaviour(_said(f"hm {{}}\n</think>\n\n{PLAN_TEXT}"), requests=1),
    "a think tag that never closes": Behaviour(_said(f"<think>well\n{PLAN_TEXT}"), requests=1),
    "the JSON in the reasoning field": Behaviour(
        [completion({"content": "", "reasoning_content": f"So: {PLAN_TEXT}"})], requests=1
    ),
    "the JSON in another reasoning field": Behaviour(
        [completion({"content": None, "reasoning": PLAN_TEXT})], requests=1
    ),
    "parts": Behaviour(_said([{"type": "text", "text": PLAN_TEXT[:30]}, {"type": "text", "text": PLAN_TEXT[30:]}])),
    "cut off": Behaviour([text(PLAN_TEXT.split("]")[0] + ', {"type": "file", "pa', finish="length")], rejected=1),
    "prose, then a plan when asked again": Behaviour([text("I would look at Maya."), sensible, sensible]),
    "prose for ever": Behaviour([text("I am sorry, I cannot.")], ends=("invalid_plan",), requests=2),
    "nothing at all": Behaviour([text(None)], ends=("invalid_plan",), requests=2),
    "a refusal": Behaviour([completion({"content": None, "refusal": "No."})], ends=("invalid_plan",)),
    "brackets without end": Behaviour([text("[{" * 50_000)], ends=("invalid_plan",)),
    "braces without sense": Behaviour([text('{"a": {' * 20_000 + "}" * 40_000)], ends=("invalid_plan",)),
    "a number": Behaviour([text("42")], ends=("invalid_plan",)),
    "a command nested as deeply as can be read": Behaviour(
        _said(json.dumps(_nested(900))), ends=("invalid_plan",), commands=0
    ),
    "bad pointers": Behaviour([plan({"type": "rumour"}, {"type": "file"}, POINTER)], rejected=2),
    "lone surrogates": Behaviour([text("\ud83d what?"), sensible, sensible]),
    "NUL and escapes": Behaviour([text("\x00\x1b[31m" + PLAN_TEXT)]),
}

BODIES: Mapping[str, Behaviour] = {
    "choices are null": Behaviour([as_json({"choices": None})], ends=("model_error",), requests=2),
    "choices are empty once": Behaviour([as_json({"choices": []}), sensible, sensible]),
    "a choice without a message": Behaviour([as_json({"choices": [{}]})], ends=("model_error",)),
    "no JSON": Behaviour([Wire(b"ok")], ends=("model_error",)),
    "JSON that breaks off": Behaviour([Wire(text(PLAN_TEXT).body[:-9])], ends=("model_error",)),
    "an HTML page": Behaviour(
        [Wire(b"<html>Welcome</html>", headers={"Content-Type": "text/html"})], ends=("model_error",)
    ),
    "an empty body": Behaviour([Wire()], ends=("model_error",)),
    "a list": Behaviour([as_json([1, 2])], ends=("model_error",)),
    "nested too deeply": Behaviour([Wire(b"[" * 100_000)], ends=("model_error",)),
    "parts nested deeply": Behaviour(
        [Wire(text("@").body.replace(b'"@"', b"[" * 400 + b"]" * 400))], ends=("model_error", "invalid_plan")
    ),
    "the wrong type": Behaviour([plan(POINTER).but(headers={"Content-Type": "text/plain; charset=latin-1"})]),
    "no type": Behaviour([plan(POINTER).but(headers={})]),
    "a byte order mark": Behaviour([plan(POINTER).but(body=b"\xef\xbb\xbf" + plan(POINTER).body)]),
    "invalid UTF-8": Behaviour([plan(POINTER).but(body=plan(POINTER).body.replace(b"her job", b"her \xff\xfe job"))]),
    "odd headers": Behaviour(
        [plan(POINTER).but(headers={"Set-Cookie": ";;=; expires=x; \xe9", "Content-Type": 'json; charset="'})]
    ),
    "chunks": Behaviour([plan(POINTER).but(chunked=True)]),
    "an event stream": Behaviour([event_stream({"content": PLAN_TEXT[:9]}, {"content": PLAN_TEXT[9:]})], requests=1),
    "a call in an event stream": Behaviour(
        [
            event_stream(
                {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "run", "arguments": '{"comm'}}]},
                {"tool_calls": [{"index": 0, "function": {"arguments": 'and": "ls"}'}}]},
            ),
            plan(POINTER),
        ],
        commands=1,
    ),
    "an event stream of nothing": Behaviour([event_stream()], ends=("model_error",)),
    "an error in a 200": Behaviour([as_json({"error": {"message": "upstream", "code": 502}})], ends=("model_error",)),
    "a refusal in a 200": Behaviour(
        [as_json({"error": {"message": "temperature is not supported", "code": 400}}), sensible], requests=3
    ),
    "compressed unasked": Behaviour(
        [plan(POINTER).but(headers={"Content-Encoding": "gzip"})], ends=("model_error",), requests=2
    ),
    "no usage": Behaviour([plan(POINTER, usage=None)]),
    "usage in strings": Behaviour([plan(POINTER, usage={"prompt_tokens": "12", "completion_tokens": "many"})]),
    "a long answer": Behaviour([Wire(b"x" * 65_536, repeat=60)], ends=("model_error",)),
    "an answer without end": Behaviour([Wire(b" " * 65_536, endless=True)], ends=("model_error",)),
}

REFUSALS: Mapping[str, Behaviour] = {
    "max_tokens": Behaviour(
        [refusing("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")],
        requests=3,
    ),
    "max_completion_tokens": Behaviour(
        [refusing("max_completion_tokens", "Unrecognized argument: max_completion_tokens", 422)], model="gpt-5-mini"
    ),
    "temperature": Behaviour([refusing("temperature", "Unsupported value: 'temperature'")], requests=3),
    "reasoning_effort": Behaviour([refusing("reasoning_effort", "unknown field reasoning_effort")], model="o4-mini"),
    "tools": Behaviour([refusing("tools", "registry/library/gemma:2b does not support tools")], commands=1, requests=3),
    "tools, with 404": Behaviour([refusing("tools", "No endpoints found that support tool use", 404)], commands=1),
    "tools, with 500": Behaviour([refusing("tools", "tools param requires --jinja flag", 500)], commands=1),
    "tool_choice": Behaviour([calls("ls"), calls("ls"), refusing("tool_choice", "tool_choice must be auto")]),
    "every shape": Behaviour([no_shapes]),
    "a user after a tool": Behaviour([no_user_after_tool], commands=2, requests=4),
    "the system role": Behaviour([no_system], requests=3),
    "everything, without a word": Behaviour([refusing("max_tokens", "Bad Request")], requests=3),
    "everything": Behaviour([error(400, "no")], ends=("model_error",)),
    "the key": Behaviour([error(401, "Incorrect API key provided: key")], ends=("model_error",), requests=1),
    "the model": Behaviour([error(404, "The model `scripted` does not exist")], ends=("model_error",)),
    "an error page": Behaviour([Wire(b"<h1>Bad Gateway</h1>", 502, {})], ends=("model_error",), requests=2),
    "a long error page": Behaviour([Wire(b"x" * 65_536, 500, repeat=60)], ends=("model_error",), requests=2),
    "an error page in no known charset": Behaviour(
        [Wire(b"\xff\xfe", 503, {"Content-Type": "text/html; charset=klingon"})], ends=("model_error",), requests=2
    ),
    "a call that went wrong": Behaviour([refusing("tools", "Failed to call a function.", code="tool_use_failed")]),
    "a redirect": Behaviour(
        [Wire(status=307, headers={"Location": "http://127.0.0.1:9/v1"})], ends=("model_error",), requests=1
    ),
    "500 once": Behaviour([error(500), sensible, sensible], requests=3),
    "500 for ever": Behaviour([error(500)], ends=("model_error",), requests=2),
    "429 for long": Behaviour([error(429, headers={"Retry-After": "30"})], ends=("model_error",), requests=1),
    "429 until a date": Behaviour(
        [error(429, headers={"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"})], ends=("model_error",), requests=1
    ),
    "429 for a moment": Behaviour([error(429, headers={"Retry-After": "0.01"}), sensible, sensible], requests=3),
    "429 for nobody knows how long": Behaviour(
        [error(429, headers={"Retry-After": "nan"})], ends=("model_error",), requests=2
    ),
    "no money": Behaviour(
        [error(429, "You exceeded your quota", code="insufficient_quota")], ends=("model_error",), requests=1
    ),
}

STALLS: Mapping[str, Behaviour] = {
    "hangs": Behaviour([HANG], ends=("deadline",), waits=True, requests=1),
    "hangs after the investigation": Behaviour([calls("ls"), HANG], ends=("deadline",), waits=True, commands=1),
    "a byte of the body every 200 ms": Behaviour([plan(POINTER).but(body_gap=0.2)], ends=("deadline",), waits=True),
    "a byte of the head every 200 ms": Behaviour([plan(POINTER).but(head_gap=0.2)], ends=("deadline",), waits=True),
    "a byte of the body every millisecond": Behaviour(
        [plan(POINTER).but(body_gap=0.001, body=b" " * 100_000)], ends=("deadline",), waits=True
    ),
    "stops in the middle": Behaviour(
        [plan(POINTER).but(headers={"Content-Length": "100000", "Connection": "keep-alive"})],
        ends=("deadline",),
        waits=True,
    ),
    "continues for ever": Behaviour(
        [Wire(b"HTTP/1.1 100 Continue\r\n\r\n", head=b"", endless=True, body_gap=0.001)], ends=("deadline",), waits=True
    ),
    "comments for ever": Behaviour(
        [Wire(b": processing\n\n", endless=True, body_gap=0.01, headers={"Content-Type": "text/event-stream"})],
        ends=("deadline",),
        waits=True,
    ),
}

BREAKS: Mapping[str, Behaviour] = {
    "resets": Behaviour([Wire(head=b"", reset=True)], ends=("model_error",), requests=2),
    "resets once": Behaviour([Wire(head=b"", reset=True), sensible, sensible], requests=3),
    "hangs up": Behaviour([Wire(head=b"")], ends=("model_error",), requests=2),
    "hangs up in the head": Behaviour([Wire(head=b"HTTP/1.1 200 OK\r\nConte")], ends=("model_error",)),
    "hangs up in the body": Behaviour([plan(POINTER).but(cut=40)], ends=("model_error",), requests=2),
    "resets in the body": Behaviour([plan(POINTER).but(cut=40, reset=True)], ends=("model_error",)),
    "speaks something else": Behaviour([Wire(head=b"220 smtp.example.com ESMTP\r\n\r\n")], ends=("model_error",)),
    "a head without end": Behaviour(
        [Wire(b"X-Filler: " + b"x" * 4096 + b"\r\n", head=b"HTTP/1.1 200 OK\r\n", endless=True)], ends=("model_error",)
    ),
    "a negative length": Behaviour(
        [plan(POINTER).but(headers={"Content-Length": "-5"})], ends=("model_error",), requests=2
    ),
    "an unknown transfer coding": Behaviour(
        [Wire(head=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: rot13\r\n\r\n")], ends=("model_error",)
    ),
    "a status that does not exist": Behaviour([Wire(b"{}", 999)], ends=("model_error",)),
    "no content": Behaviour([Wire(status=204, headers={})], ends=("model_error",)),
}

BEHAVIOURS: Mapping[str, Behaviour] = {
    f"{kind}: {name}": behaviour
    for kind, group in (
        ("good", GOOD),
        ("calls", CALLS),
        ("answers", ANSWERS),
        ("bodies", BODIES),
        ("refuses", REFUSALS),
        ("stalls", STALLS),
        ("breaks", BREAKS),
    )
    for name, behaviour in group.items()
}

SCRIPTS: Mapping[str, Sequence[Reply]] = {name: behaviour.script for name, behaviour in BEHAVIOURS.items()}
