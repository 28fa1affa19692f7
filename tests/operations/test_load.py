"""Some seconds of load, for correctness alone: no error, nothing lost, no thread or file more than before."""

from pathlib import Path

from tests.support.far_side import far_side
from tests.support.load import Load, footprint
from tests.support.provider import until
from tests.support.server import server

CLIENTS, USERS, SECONDS = 8, 10, 2.5


def test_load_leaves_no_error_no_thread_and_no_file_and_loses_nothing(tmp_path: Path) -> None:
    with far_side(0.05) as far, server(tmp_path, far.environment) as running:
        load = Load(running, USERS)
        load.prepare()
        first = load.run(CLIENTS, SECONDS)
        before = footprint(running)
        second = load.run(CLIENTS, SECONDS)
        samples = [*first, *second]
        assert [(each.kind, each.status, each.answer) for each in samples if each.status >= 400] == []
        assert {each.answer["planner"]["used"] for each in samples if each.kind == "ask the agent"} == {"agent"}
        assert not any(each.answer["pending"] for each in samples if each.kind == "remember")
        lines = [line for line in running.lines() if line["message"].endswith(("/sessions", "/messages"))]
        assert {line["write"] for line in lines} <= {"committed", "appended"}
        for user in {each.answer["user"] for each in samples if "user" in each.answer}:
            _, memory = running.call("GET", f"/v1/users/{user}/log?limit=1000")
            kept = {row["sha"] for row in memory["commits"]}
            written = {each.answer["commit"] for each in samples if each.answer.get("user") == user and each.commits}
            assert written <= kept, "a commit that was acknowledged is not there"
        assert until(lambda: footprint(running).threads <= before.threads, 5)
        # Connections to bucket and model are kept, as many as there are threads.
        assert footprint(running).files <= before.files + 4
