"""The demonstration: serve, remember twelve conversations, ask one question, show what came back and why."""

import json
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from diffmem.demo.scripted import ScriptedModel
from diffmem.demo.server import Client, serving
from diffmem.errors import ConfigError
from diffmem.git import version as git

FOLDER = Path(".diffmem") / "demo"
WIDTH = 100


def main() -> None:
    """Run the demonstration; what it made stays in `FOLDER` to be looked at."""
    story = json.loads((files("diffmem.demo") / "story.json").read_text(encoding="utf-8"))
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    began = time.monotonic()
    with ScriptedModel(story) as model:
        environment = {
            "DIFFMEM_STORE": f"file:{FOLDER / 'bucket'}",
            "DIFFMEM_CACHE": str((FOLDER / "cache").absolute()),
            "DIFFMEM_AUTH": "none",
            "DIFFMEM_SANDBOX": "prefer",
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "none-needed",
        }
        _say("Starting the function with functions-framework: an on-disk bucket, no key, no account.")
        with serving(environment, FOLDER / "server.log") as client:
            health = client.call("GET", "/health")
            _line(f"{client.base_url}/health says {health['status']}, DiffMem {health['version']}")
            _remember(client, story)
            _look(client, story)
            _ask(client, story)
    _say(f"Stopped what was started, after {time.monotonic() - began:.0f} s. Try next:")
    _try_next(story)


def _remember(client: Client, story: Mapping[str, Any]) -> None:
    user = story["user"]
    _say(f"Remembering {len(story['sessions'])} conversations of three months: POST /v1/users/{user}/sessions")
    _line("(the model that distils them is a script that ships with the demo; set OPENAI_API_KEY for a real one)")
    client.call("PUT", f"/v1/users/{user}", {"timezone": story["timezone"]})
    for session in story["sessions"]:
        body = {key: session[key] for key in ("session_id", "occurred_at", "messages")}
        answer = client.call("POST", f"/v1/users/{user}/sessions", body)
        changed = [Path(file["path"]).name for file in answer["files"] if file["path"].startswith("memories/")]
        opening = session["messages"][0]["content"]
        _line(f"{session['occurred_at'][:10]}  {textwrap.shorten(opening, 46):<46}  {', '.join(changed)}")


def _look(client: Client, story: Mapping[str, Any]) -> None:
    command = "cat index.md; git log --oneline -3 -- memories/contexts/company.md"
    _say(f"What memory is now: a git repository of Markdown. POST run {json.dumps({'command': command})}")
    _block(client.call("POST", f"/v1/users/{story['user']}/run", {"command": command})["output"])


def _ask(client: Client, story: Mapping[str, Any]) -> None:
    _say("Asking, with no model at all (planner: offline): POST context")
    _block(story["question"])
    body = {
        "conversation": [{"role": "user", "content": story["question"]}],
        "planner": "offline",
        "max_tokens": 900,
    }
    answer = client.call("POST", f"/v1/users/{story['user']}/context", body)
    _say(f"What came back: {answer['tokens']} tokens in {answer['timings_ms']['total']} ms, and why:")
    reasons: dict[str, list[str]] = {}
    for block in answer["blocks"]:
        reasons.setdefault(block["path"], []).extend(block["reason"].split("; "))
    for path, why in reasons.items():
        _line(f"{path}: {'; '.join(dict.fromkeys(why))}")
    _say("The context, ready for a prompt:")
    _block(answer["context"])
    company = [block for block in answer["blocks"] if block["path"] == "memories/contexts/company.md"]
    if not company:
        sys.exit("The company did not come back: this is a bug.")
    _say("The question never mentions work. company.md came back because it changed together with wife.md.")


def _try_next(story: Mapping[str, Any]) -> None:
    url = f"http://127.0.0.1:8080/v1/users/{story['user']}"
    question = json.dumps({"query": "What does Maya want to do this summer?", "max_tokens": 500})
    command = json.dumps({"command": "git log --stat -3; cat memories/people/wife.md"})
    _line(f"DIFFMEM_STORE=file:{FOLDER / 'bucket'} make serve")
    for route, body in (("context", question), ("run", command)):
        _line(f"curl -s {url}/{route} -H 'Content-Type: application/json' -d '{body}'")
    _line(f"curl -s {url}")


def _say(text: str) -> None:
    print(f"\n{text}", flush=True)


def _line(text: str) -> None:
    print(f"  {text}", flush=True)


def _block(text: str) -> None:
    for line in text.splitlines():
        print("\n".join(textwrap.wrap(line, WIDTH, initial_indent="  | ", subsequent_indent="  |   ") or ["  |"]))


if __name__ == "__main__":
    try:
        git.require()
        main()
    except ConfigError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads any more: not even the last flush
        sys.exit(1)
