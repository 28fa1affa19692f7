"""Any sequence of what users and machines do, with any faults, against a list of lines that says what must be there."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from diffmem.errors import UnknownUser
from diffmem.repository import Change, Repositories, Snapshot
from diffmem.repository.names import pack_objects, user_hash
from tests.support.machines import USER, Ticking, append, deadline, machine, stored_manifest
from tests.support.model_bucket import Fault, ModelBucket
from tests.support.noise import noise

MACHINES = st.integers(0, 1)
FAULTS = st.lists(st.sampled_from(["none", "none", "busy", "lost_before", "lost_after"]), max_size=6)


class Memory(RuleBasedStateMachine):
    """Two machines and one user; `lines` is what log.md must hold, or None where there must be no memory."""

    @initialize()
    def begin(self) -> None:
        self.directory = Path(tempfile.mkdtemp())
        self.bucket = ModelBucket()
        self.clock = Ticking()
        self.machines = [self._machine(number) for number in range(2)]
        self.lines: list[str] | None = None
        self.commits = 0
        self.written = 0

    def teardown(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def _machine(self, number: int) -> Repositories:
        return machine(self.bucket, self.directory / str(number), clock=self.clock)

    @rule(who=MACHINES, faults=FAULTS, size=st.sampled_from([10, 10, 150_000, 400_000]))
    def commit(self, who: int, faults: list[Fault], size: int) -> None:
        self.written += 1
        line = f"line {self.written}"
        text = noise(size, self.written).encode()

        def edit(snapshot: Snapshot) -> Change:
            return Change({**append("log.md", line)(snapshot).files, f"{line}.md": text}, line)

        self.bucket.faults.extend(faults)
        done = self.machines[who].commit(USER, edit, deadline(), create=True, tx=line)
        done.snapshot.close()
        self.bucket.faults.clear()
        self.lines = [*(self.lines or []), line]
        self.commits = (self.commits or 1) + 1

    @rule(who=MACHINES)
    def repeat_the_last_request(self, who: int) -> None:
        if self.lines:
            line = self.lines[-1]
            with self.machines[who].commit(USER, append("log.md", line), deadline(), tx=line).snapshot as snapshot:
                assert snapshot.head == stored_manifest(self.bucket).head

    @rule(who=MACHINES)
    def maintain(self, who: int) -> None:
        self.machines[who].maintain(None, deadline())

    @rule(who=MACHINES, faults=FAULTS)
    def forget(self, who: int, faults: list[Fault]) -> None:
        if not self.lines:
            return
        victim = self.lines[0]

        def transform(path: str, content: bytes) -> bytes | None:
            if path == f"{victim}.md":
                return None
            kept = [line for line in content.splitlines(keepends=True) if line != f"{victim}\n".encode()]
            return b"".join(kept) if path == "log.md" else content

        self.bucket.faults.extend(faults)
        self.machines[who].rewrite(USER, transform, deadline())
        self.bucket.faults.clear()
        self.lines = self.lines[1:]

    @rule(who=MACHINES, faults=FAULTS)
    def erase(self, who: int, faults: list[Fault]) -> None:
        self.bucket.faults.extend(faults)
        if self.lines is None:
            with pytest.raises(UnknownUser):
                self.machines[who].erase(USER, deadline())
        else:
            assert self.machines[who].erase(USER, deadline()).retained[0].seconds == 604_800
            assert self.bucket.objects == {}
        self.bucket.faults.clear()
        self.lines, self.commits = None, 0

    @rule(who=MACHINES)
    def lose_the_cache(self, who: int) -> None:
        shutil.rmtree(self.directory / str(who), ignore_errors=True)

    @rule(who=MACHINES)
    def restart(self, who: int) -> None:
        self.machines[who] = self._machine(who)

    @invariant()
    def every_machine_reads_what_was_acknowledged(self) -> None:
        for one in self.machines:
            if self.lines is None:
                with pytest.raises(UnknownUser):
                    one.open(USER, deadline())
            else:
                with one.open(USER, deadline()) as snapshot:
                    log = snapshot.read("log.md").decode().splitlines() if "log.md" in snapshot.paths() else []
                    assert log == self.lines
                    assert snapshot.commit_count == self.commits

    @invariant()
    def everything_that_is_named_is_there(self) -> None:
        if self.lines is not None:
            named = [pack_objects(user_hash(USER, None), pack.name) for pack in stored_manifest(self.bucket).packs]
            assert {part for parts in named for part in parts} <= self.bucket.objects.keys()


TestMemory = Memory.TestCase
TestMemory.settings = settings(
    max_examples=10, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
)
