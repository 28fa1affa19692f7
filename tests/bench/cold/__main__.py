"""`python -m tests.bench.cold [ROUNDS]`: how long a new process takes to its first answer, and where the time goes.

A round starts each server anew and asks it at once, again and again until it answers: a hello-world of
functions-framework, and POST context, offline, on an on-disk store of 100 commits with an empty cache. The promise is
1.5 times the hello-world and 0.3 s. Medians; the machine should be idle.
"""

import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from diffmem.demo.server import free_port
from diffmem.limits import Deadline
from diffmem.repository import Change, Repositories, Snapshot
from diffmem.storage import open_bucket

ROOT = Path(__file__).parent.parent.parent.parent
HELLO = "import functions_framework\n\n@functions_framework.http\ndef hello(request):\n    return 'hello'\n"
QUESTION = {"query": "What does Maya drink in the morning?", "planner": "offline"}
COMMITS = 100
ROUNDS = 9
GIVE_UP_SECONDS = 60.0
_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


@dataclass(frozen=True, slots=True)
class Start:
    """One start: seconds to the first answer, of the processor until the end, and the server's own line about it."""

    seconds: float
    cpu_seconds: float
    line: Mapping[str, Any]


def main(rounds: int) -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory(prefix="diffmem-cold-") as name:
        folder = Path(name)
        (folder / "hello.py").write_text(HELLO)
        store = f"file:{folder / 'bucket'}"
        _fill(store, folder / "filling")
        hello, ours, with_model = [], [], []
        for number in range(rounds):
            environment = {"DIFFMEM_STORE": store, "DIFFMEM_CACHE": str(folder / f"cache-{number}")}
            hello.append(_start("hello", folder / "hello.py", "/", None, {}))
            ours.append(_start("diffmem", ROOT / "main.py", "/v1/users/alex/context", QUESTION, environment))
            environment |= {"DIFFMEM_CACHE": str(folder / f"model-{number}"), "OPENAI_API_KEY": "none"}
            with_model.append(_start("diffmem", ROOT / "main.py", "/v1/users/alex/context", QUESTION, environment))
        imports = [_imports(folder / f"imports-{number}", store) for number in range(3)]
    _print_starts(hello, ours, with_model)
    _print_phases(ours)
    _print_imports(imports)


def _print_starts(hello: list[Start], ours: list[Start], with_model: list[Start]) -> None:
    base = statistics.median(start.seconds for start in hello)
    limit = 1.5 * base + 0.3
    print(f"{'':34}{'median':>8}{'least':>8}{'most':>8}{'of hello':>10}{'CPU':>8}")
    for title, starts in (("hello-world", hello), ("POST context", ours), ("... with a model configured", with_model)):
        seconds = [start.seconds for start in starts]
        median = statistics.median(seconds)
        cpu = statistics.median(start.cpu_seconds for start in starts)
        print(f"{title:34}{median:8.3f}{min(seconds):8.3f}{max(seconds):8.3f}{median / base:10.2f}{cpu:8.3f}")
    median = statistics.median(start.seconds for start in ours)
    print(f"{'promised: 1.5 x hello + 0.3 s':34}{limit:8.3f}   {'kept' if median <= limit else 'BROKEN'}\n")


def _print_phases(starts: list[Start]) -> None:
    print("the first request, by the server's own line: ms, medians")
    for phase in starts[0].line["ms"]:
        print(f"{phase:34}{statistics.median(start.line['ms'][phase] for start in starts):8.0f}")
    print()


def _print_imports(found: list[Counter[str]]) -> None:
    """What the first answer imports, by package: milliseconds of their own, the least of each."""
    least = {name: min(counts[name] for counts in found) for name in found[0]}
    print(f"imports until the first answer: {sum(least.values()) / 1000:.0f} ms in {len(least)} modules, by group")
    groups: Counter[str] = Counter()
    for name, microseconds in least.items():
        groups[".".join(name.split(".")[: 2 if name.startswith("diffmem") else 1])] += microseconds
    for group, microseconds in groups.most_common(30):
        print(f"{group:34}{microseconds / 1000:8.1f}")


def _imports(cache: Path, store: str) -> Counter[str]:
    program = (
        "import functions_framework;"
        "app = functions_framework.create_app('diffmem', 'main.py').test_client();"
        f"answer = app.post('/v1/users/alex/context', json={QUESTION}, environ_base={{'REMOTE_ADDR': '127.0.0.1'}});"
        "assert answer.status_code == 200, answer.text"
    )
    command = [sys.executable, "-X", "importtime", "-c", program]
    environment = {**os.environ, "DIFFMEM_STORE": store, "DIFFMEM_CACHE": str(cache)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return Counter({name: int(own) for own, name in _IMPORT.findall(done.stderr)})


def _start(
    target: str, source: Path, path: str, body: Mapping[str, Any] | None, environment: Mapping[str, str]
) -> Start:
    port = free_port()
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"})
    began = time.monotonic()
    used = _processor_seconds()
    with _process(target, source, port, environment) as output:
        _ask(request, began + GIVE_UP_SECONDS)
        seconds = time.monotonic() - began
        lines = [json.loads(line) for line in output.read_text().splitlines() if line.startswith("{")]
    return Start(seconds, _processor_seconds() - used, lines[-1] if lines else {})


def _processor_seconds() -> float:
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ask(request: urllib.request.Request, give_up: float) -> None:
    while True:
        try:
            urllib.request.urlopen(request, timeout=GIVE_UP_SECONDS).read()
            return
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{error.code}: {error.read().decode()}") from error
        except urllib.error.URLError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.005)


@contextmanager
def _process(target: str, source: Path, port: int, environment: Mapping[str, str]) -> Iterator[Path]:
    command = [sys.executable, "-m", "functions_framework", "--target", target, "--source", str(source)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with tempfile.TemporaryDirectory(prefix="diffmem-cold-") as folder:
        output = Path(folder) / "output"
        with output.open("wb") as file:
            process = subprocess.Popen(
                command, env={**os.environ, **environment}, stdout=file, stderr=file, start_new_session=True
            )
        try:
            yield output
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def _fill(store: str, cache: Path) -> None:
    """A memory of `COMMITS` commits, each a session and a fact about somebody."""
    repositories = Repositories(open_bucket(store), cache, cache_max_bytes=1 << 28, id_secret=None)
    names = ["Maya", "Theo", "Ida", "Noor", "Jonas"]
    facts: dict[str, list[str]] = {name: [] for name in names}
    for number in range(COMMITS - 1):
        name = names[number % len(names)]
        at = datetime(2026, 1, 1, 18, 0, tzinfo=UTC) + timedelta(days=number)
        stem = f"s{number:03d}"
        text = f"{name} drinks tea number {number} in the morning and then walks to the clinic."
        facts[name].append(f"- {text} ^[{stem}#1]")
        entity = f"---\nname: {name}\nkind: people\n---\n\n# {name}\n\n## Days\n\n" + "\n".join(facts[name]) + "\n"
        session = f"---\nsession: {stem}\noccurred_at: {at.isoformat()}\nstate: distilled\n---\n\n**user:** {text}\n"
        files = {
            f"memories/people/{name.lower()}.md": entity.encode(),
            f"sessions/{at:%Y/%m/%d}-{stem}.md": session.encode(),
        }
        change = Change(files, f"{name}: {number}", occurred_at=at)
        repositories.commit("alex", _writing(change), Deadline(30), create=True).snapshot.close()


def _writing(change: Change) -> Callable[[Snapshot], Change]:
    return lambda _: change


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
