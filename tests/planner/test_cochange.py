"""What the history ties together."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from diffmem.git import Commit
from diffmem.planner.cochange import companions

NOW = datetime(2024, 3, 13, tzinfo=UTC)
WIFE, COMPANY, DOG = "memories/people/wife.md", "memories/contexts/company.md", "memories/pets/dog.md"
HUBS = ("index.md", "profile.md", "timeline/2024-03.md")


def _history(*changes: Sequence[str], days_apart: float = 1) -> list[Commit]:
    """Commits, newest first, that changed these paths."""
    times = [NOW - timedelta(days=days_apart * (at + 1)) for at in range(len(changes))]
    return [
        Commit(f"{at:040x}", time, time, "", {}, tuple(paths))
        for at, (time, paths) in enumerate(zip(times, changes, strict=True))
    ]


def _ties(commits: Sequence[Commit], seed: str = WIFE) -> dict[str, str]:
    return {companion.path: companion.reason for companion in companions(commits, {seed: 1.0}, NOW)}


def test_what_changed_with_a_seed_comes_with_the_count_of_commits() -> None:
    history = _history([WIFE, COMPANY], [WIFE, COMPANY], [WIFE], [DOG])
    assert _ties(history) == {COMPANY: f"changed together with {WIFE} in 2 of 3 commits"}


def test_files_that_change_with_everything_are_no_companions() -> None:
    assert _ties(_history(*[[WIFE, *HUBS]] * 5)) == {}


def test_what_changed_more_often_elsewhere_is_tied_less() -> None:
    history = _history([WIFE, COMPANY, DOG], [WIFE, COMPANY, DOG], *[[DOG]] * 20)
    assert list(_ties(history)) == [COMPANY, DOG]


def test_a_commit_of_everything_ties_nothing() -> None:
    everything = [f"memories/people/p{number}.md" for number in range(50)]
    assert _ties(_history([WIFE, *everything], [WIFE])) == {}


def test_one_small_commit_says_more_than_one_big_one() -> None:
    crowd = [f"memories/people/p{number}.md" for number in range(10)]
    ties = companions(_history([WIFE, *crowd], [WIFE, COMPANY]), {WIFE: 1.0}, NOW)
    assert ties[0].path == COMPANY


def test_what_changed_together_lately_is_tied_more_than_long_ago() -> None:
    ties = companions(_history([WIFE, COMPANY], [WIFE, DOG], days_apart=400), {WIFE: 1.0}, NOW)
    assert [companion.path for companion in ties] == [COMPANY, DOG]


def test_a_seed_is_a_companion_only_where_it_is_tied_more_strongly_than_found() -> None:
    history = _history([WIFE, COMPANY], [WIFE, COMPANY])
    assert companions(history, {WIFE: 1.0, COMPANY: 0.9}, NOW) == []
    assert [tie.path for tie in companions(history, {WIFE: 1.0, COMPANY: 0.3}, NOW)] == [COMPANY]


def test_a_weak_seed_ties_weakly() -> None:
    history = _history([WIFE, COMPANY], [WIFE, COMPANY])
    [strong], [weak] = companions(history, {WIFE: 1.0}, NOW), companions(history, {WIFE: 0.5}, NOW)
    assert strong.strength > weak.strength


def test_a_session_ties_what_its_commits_changed() -> None:
    session = "sessions/2024/03/05-talk.md"
    ties = _ties(_history([session, "index.md"], [session, DOG]), session)
    assert ties == {DOG: f"changed by the session {session}, which matches"}


def test_no_history_ties_nothing() -> None:
    assert companions([], {WIFE: 1.0}, NOW) == []


def test_a_commit_of_the_future_is_as_good_as_new() -> None:
    assert companions(_history([WIFE, COMPANY], [WIFE, COMPANY], days_apart=-10), {WIFE: 1.0}, NOW)
