"""Clients that use a server as people do, all at once: mostly reads, some writes, many users.

samples = Load(server, users=50).run(clients=8, seconds=60)
"""

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.server import Server, descendants

MIX: Mapping[str, int] = {"ask the agent": 3, "ask offline": 3, "remember": 2, "append": 1, "run": 1, "read files": 1}


@dataclass(frozen=True, slots=True)
class Sample:
    """One request: its kind, how long it took and what came."""

    kind: str
    seconds: float
    status: int
    answer: Mapping[str, Any]

    @property
    def commits(self) -> bool:
        """Whether the answer acknowledges a commit."""
        return self.kind in ("remember", "append")


@dataclass(frozen=True, slots=True)
class Footprint:
    """A worker and its children: kilobytes of memory that they hold, resident and proportional, threads and files."""

    rss_kb: int
    pss_kb: int
    threads: int
    files: int


class Load:
    """The clients of one server; a user's first write comes before everything else."""

    def __init__(self, server: Server, users: int, seed: int = 8) -> None:
        self._server = server
        self.users = [f"user-{number:02d}" for number in range(users)]
        self._seed = seed
        self._lock = threading.Lock()
        self._walks = 0
        self._samples: list[Sample] = []

    def prepare(self) -> None:
        """Begin every user's memory."""
        for user in self.users:
            self._remember(user, mode="archive")

    def run(self, clients: int, seconds: float) -> Sequence[Sample]:
        """What `clients`, each with one request at a time, saw within `seconds`."""
        self._samples = []
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=self._client, args=(number, end)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return tuple(self._samples)

    def _client(self, number: int, end: float) -> None:
        chance = random.Random(self._seed * 1000 + number)
        kinds: Mapping[str, Callable[[str], tuple[int, Any]]] = {
            "ask the agent": lambda user: self._ask(user, "auto"),
            "ask offline": lambda user: self._ask(user, "offline"),
            "remember": self._remember,
            "append": self._append,
            "run": lambda user: self._post(user, "run", {"command": "grep -rc walk . | head -3"}),
            "read files": lambda user: self._server.call("GET", f"/v1/users/{user}/files"),
        }
        while time.monotonic() < end:
            (kind,) = chance.choices(list(MIX), weights=list(MIX.values()))
            began = time.monotonic()
            status, answer = kinds[kind](chance.choice(self.users))
            sample = Sample(kind, time.monotonic() - began, status, answer)
            with self._lock:
                self._samples.append(sample)

    def _post(self, user: str, what: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        return self._server.call("POST", f"/v1/users/{user}/{what}", body)

    def _ask(self, user: str, planner: str) -> tuple[int, Any]:
        return self._post(user, "context", {"query": "Where does Maya walk?", "planner": planner})

    def _remember(self, user: str, mode: str = "distill") -> tuple[int, Any]:
        said = {"role": "user", "content": f"Maya took {self._walk()} today."}
        body = {"messages": [said], "occurred_at": "2026-03-02T20:00:00+01:00", "mode": mode}
        return self._post(user, "sessions", body)

    def _append(self, user: str) -> tuple[int, Any]:
        return self._post(user, "messages", {"messages": [{"role": "user", "content": f"Maya took {self._walk()}."}]})

    def _walk(self) -> str:
        with self._lock:
            self._walks += 1
            return f"walk number {self._walks} to the clinic"


def footprint(server: Server) -> Footprint:
    """Of the worker with all that it started."""
    worker = server.worker
    found = [_memory(pid) for pid in (worker, *descendants(worker))]
    place = Path(f"/proc/{worker}")
    threads, files = (len(list((place / name).iterdir())) for name in ("task", "fd"))
    return Footprint(sum(rss for rss, _ in found), sum(pss for _, pss in found), threads, files)


def _memory(pid: int) -> tuple[int, int]:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
    return sizes["Rss"], sizes["Pss"]
