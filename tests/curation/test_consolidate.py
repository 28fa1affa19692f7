"""POST consolidate: memory in better order, and nothing lost."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.curation.account import front_matter_lines, line_key
from diffmem.curation.consolidate import ALL_TOOLS, Consolidated, ConsolidationTool, consolidate
from diffmem.curation.moves import make_steps
from diffmem.curation.proposal import Proposal, Step, parse_proposal, parse_proposal_lines
from diffmem.curation.suspects import OVERGROWN_CHARS, suspicions
from diffmem.errors import Conflict, InvalidPlan, ModelError, UnknownUser
from diffmem.limits import Deadline
from diffmem.memory import parse_entity
from diffmem.memory.facts import fact_key
from diffmem.memory.outline import outline
from diffmem.memory.settings import Settings
from diffmem.memory.workspace import Workspace
from tests.memory.test_markdown import TEXTS
from tests.support.scripted_model import Entry, ScriptedModel, said
from tests.writer.world import USER, World, facts

NOW = datetime(2026, 3, 9, 8, tzinfo=UTC)
MAYA = "memories/people/maya.md"
SMITH = "memories/people/maya-smith.md"
ACME = "memories/contexts/acme.md"
FILES = {
    MAYA: (
        "---\nname: Maya\naliases: [my wife]\nkind: people\ncues: [tea]\n---\n\n# Maya\n\n"
        "## Work\n\n- Nurse at Acme ^[s1#1]\n"
    ),
    SMITH: (
        "---\nname: Maya Smith\nkind: people\ncues: [clay]\ncolour: blue\n---\n\n# Maya Smith\n\nMet in 2019.\n\n"
        "## Work\n\n- nurse at ACME. ^[s2#4]\n- Likes the team ^[s3#1]\n\n"
        "## Recipes\n\n```\nsoup\n```\n\n- nested\n  - deeper\n"
    ),
    ACME: (
        "# Acme\n\n## People\n\n- Maya Smith works here\n- Maya sings in a choir ^[s4#2]\n"
        "- See [[memories/people/maya-smith|her]]\n"
    ),
    "profile.md": "# Alex\n\n- Is vegetarian ^[s1#3]\n\n## Food\n\n- is vegetarian. ^[s5#1]\n",
    "timeline/2026-03.md": "## 2026-03-05\n\n- Yoga\n\n## 2026-03-07\n\n- Yoga\n- Yoga\n",
}
MERGE = {"op": "merge", "entity": SMITH, "into": MAYA}


def answer(*steps: dict[str, Any], summary: str = "") -> str:
    """A proposal, as a model writes it."""
    return json.dumps({"summary": summary, "steps": steps})


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A memory that could be in better order."""
    made = World(tmp_path)
    made.write(FILES)
    return made


def run(
    world: World, script: list[Entry] | None, *, tools: tuple[ConsolidationTool, ...] = ALL_TOOLS, dry_run: bool = False
) -> Consolidated:
    """POST consolidate."""
    model = ScriptedModel(script) if script is not None else None
    return consolidate(world.repositories, None, model, USER, Deadline(60.0), now=NOW, tools=tools, dry_run=dry_run)


def test_two_files_of_one_person_become_one_and_keep_every_fact(world: World) -> None:
    done = run(world, [answer(MERGE, summary="Maya is one")], tools=("dedupe",))
    files = world.files()
    assert SMITH not in files
    assert done.warnings == () and [step.op for step in done.steps] == ["merge"]
    maya = parse_entity(MAYA, files[MAYA].encode())
    assert (maya.name, maya.aliases, maya.cues) == ("Maya", ("my wife", "Maya Smith"), ("tea", "clay"))
    assert files[MAYA].partition("---\n\n")[2] == (
        "# Maya\n\n## Work\n\n- Nurse at Acme ^[s1#1] ^[s2#4]\n- Likes the team ^[s3#1]\n\n"
        "## Facts\n\n- Met in 2019.\n\n## Recipes\n\n```\nsoup\n```\n\n- nested\n  - deeper\n"
    )
    assert "- See [[memories/people/maya|her]]\n" in files[ACME]
    assert f"- [Maya]({MAYA}): people; tea, clay; aliases: my wife, Maya Smith;" in files["index.md"]


def test_what_stands_nowhere_else_is_named_in_the_commit(world: World) -> None:
    done = run(world, [answer(MERGE)], tools=("dedupe",))
    assert "colour: blue" in done.removed
    assert world.log()[0].trailers["Writer"] == "consolidation"


def test_equal_facts_become_one_without_a_model(world: World) -> None:
    done = run(world, None, tools=("dedupe",))
    files = world.files()
    assert facts(files["profile.md"]) == ["Is vegetarian ^[s1#3] ^[s5#1]"]
    assert facts(files["timeline/2026-03.md"]) == ["Yoga", "Yoga"]
    assert (done.usage.llm_calls, done.removed) == (0, ())


def test_a_dry_run_shows_the_diff_and_changes_nothing(world: World) -> None:
    before = world.files()
    done = run(world, [answer(MERGE)], dry_run=True)
    assert (done.commit, done.files, done.dry_run) == (None, (), True)
    assert f"--- a/{SMITH}\n+++ /dev/null\n" in done.diff and f"--- a/{MAYA}\n+++ b/{MAYA}\n" in done.diff
    assert world.files() == before


def test_a_fact_goes_to_the_entity_that_it_is_about(world: World) -> None:
    step = {"op": "move", "entity": ACME, "fact": "Maya sings in a choir", "into": MAYA, "section": "Music"}
    run(world, [answer(step)], tools=("redistribute",))
    files = world.files()
    assert "choir" not in files[ACME]
    assert files[MAYA].endswith("## Music\n\n- Maya sings in a choir ^[s4#2]\n")


def test_a_section_goes_to_the_entity_that_it_is_about(world: World) -> None:
    step = {"op": "move_section", "entity": SMITH, "section": "recipes", "into": ACME}
    run(world, [answer(step)], tools=("redistribute",))
    files = world.files()
    assert "Recipes" not in files[SMITH]
    assert files[ACME].endswith("## Recipes\n\n```\nsoup\n```\n\n- nested\n  - deeper\n")


def test_a_section_of_a_long_file_becomes_a_file_of_its_own(world: World) -> None:
    step = {"op": "split", "entity": MAYA, "section": "Work", "into": "Maya's work", "kind": "contexts"}
    run(world, [answer(step)], tools=("split",))
    files = world.files()
    assert facts(files["memories/contexts/maya-s-work.md"]) == ["Nurse at Acme ^[s1#1]"]
    assert facts(files[MAYA]) == ["See [[memories/contexts/maya-s-work|Maya's work]]."]


def test_a_fact_that_says_nothing_more_goes_and_is_named(world: World) -> None:
    world.write({MAYA: "# Maya\n\n- Is a nurse at Acme ^[s1#1]\n- Works for Acme, as a nurse ^[s9#9]\n"})
    step = {"op": "drop", "entity": MAYA, "fact": "Works for Acme, as a nurse", "same_as": "is a nurse at acme"}
    done = run(world, [answer(step)], tools=("dedupe",))
    assert facts(world.files()[MAYA]) == ["Is a nurse at Acme ^[s1#1] ^[s9#9]"]
    assert done.removed == ("- Works for Acme, as a nurse ^[s9#9]",)


def test_a_fact_with_more_below_it_is_not_dropped(world: World) -> None:
    text = "# Maya\n\n- Is a nurse at Acme\n- A nurse at Acme\n  - and likes it\n"
    world.write({MAYA: text})
    step = {"op": "drop", "entity": MAYA, "fact": "A nurse at Acme", "same_as": "is a nurse at acme"}
    assert "more below" in run(world, [answer(step)], tools=("dedupe",)).warnings[0]
    assert world.files()[MAYA] == text


@pytest.mark.parametrize(
    ("gone", "kept"),
    [
        ("Is allergic to nuts", "Likes tea"),
        ("Likes Ana", "Likes Bob"),
        ("Pays 6 euros for lunch", "Pays 5 euros for lunch"),
        ("Ana said that she is in it", "That is it"),
        ("ナッツにアレルギーがある", "お茶が好き"),
    ],
)
def test_a_fact_that_another_does_not_say_stays_whatever_the_model_says(world: World, gone: str, kept: str) -> None:
    text = f"# Maya\n\n- {gone} ^[s1#1]\n- {kept} ^[s9#9]\n"
    world.write({MAYA: text})
    step = {"op": "drop", "entity": MAYA, "fact": gone, "same_as": kept}
    done = run(world, [answer(step)], tools=("dedupe",))
    assert world.files()[MAYA] == text
    assert len(done.warnings) == 1 and "most of it" in done.warnings[0]


def test_links_are_woven(world: World) -> None:
    done = run(world, None, tools=("link",))
    assert "- [[memories/people/maya-smith|Maya Smith]] works here\n" in world.files()[ACME]
    assert done.removed == ()
    assert run(world, None, tools=("link",)).commit is None


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"op": "merge", "entity": MAYA, "into": "my wife"}, "into itself"),
        ({"op": "merge", "entity": "nobody", "into": MAYA}, "no entity"),
        ({"op": "merge", "entity": "profile.md", "into": MAYA}, "no entity"),
        ({"op": "merge", "entity": "index.md", "into": "sessions/x.md"}, "no entity"),
        ({"op": "drop", "entity": MAYA, "fact": "Nurse at Acme", "same_as": "invented"}, "no fact"),
        ({"op": "drop", "entity": MAYA, "fact": "Nurse at Acme", "same_as": "nurse at acme"}, "same line"),
        ({"op": "drop", "entity": SMITH, "fact": "nested", "same_as": "deeper"}, "most of it"),
        ({"op": "move", "entity": MAYA, "fact": "Nurse at Acme", "into": MAYA}, "already"),
        ({"op": "move_section", "entity": MAYA, "section": "Nothing", "into": ACME}, "no section"),
        ({"op": "split", "entity": MAYA, "section": "Work", "into": "Acme"}, "already"),
        ({"op": "split", "entity": MAYA, "section": "Work", "into": "The User"}, "is the user"),
        ({"op": "burn", "entity": MAYA}, "op"),
        ({"op": "merge", "entity": MAYA}, "needs into"),
    ],
)
def test_a_step_that_cannot_be_made_is_told_and_changes_nothing(world: World, step: dict[str, Any], why: str) -> None:
    done = run(world, [answer(step)], tools=("dedupe", "redistribute", "split"), dry_run=True)
    assert done.steps == () and len(done.warnings) == 1 and why in done.warnings[0]
    assert f"a/{MAYA}\n" not in done.diff


def test_only_the_tools_that_were_asked_for_are_used(world: World) -> None:
    done = run(world, [answer(MERGE)], tools=("link",))
    assert SMITH in world.files() and done.usage.llm_calls == 0
    assert run(world, [answer(MERGE)], tools=("split",)).steps == ()


@pytest.mark.parametrize("failure", [ModelError("503"), "I would rather not"])
def test_where_the_model_fails_code_does_what_it_can_alone(world: World, failure: Entry) -> None:
    done = run(world, [failure])
    assert done.warnings[0].startswith("no proposal: ")
    assert facts(world.files()["profile.md"]) == ["Is vegetarian ^[s1#3] ^[s5#1]"]


def test_the_model_is_shown_what_may_need_it(world: World) -> None:
    model = ScriptedModel([answer()])
    consolidate(world.repositories, None, model, USER, Deadline(60.0), now=NOW)
    shown = said(model.asked[0])
    assert f"{SMITH}, {MAYA}: the name of one is part of the other's" in shown
    assert "Met in 2019." in shown and "Nurse at Acme" in shown


def test_what_was_forgotten_while_the_model_thought_does_not_come_back(world: World) -> None:
    def forget(_: Any) -> str:
        other = World(world.folder, "another").repositories
        other.rewrite(USER, lambda path, data: data.replace(b"Maya Smith", b"she"), Deadline(60))
        return answer(MERGE, summary="Maya Smith is Maya")

    with pytest.raises(Conflict, match="forgotten"):
        run(world, [forget])
    assert "Maya Smith" not in str((world.files(), world.log()))


def test_what_was_erased_while_the_model_thought_does_not_come_back(world: World) -> None:
    def erase(_: Any) -> str:
        other = World(world.folder, "another")
        other.repositories.erase(USER, Deadline(60))
        other.write({path: text.replace("Maya Smith", "she") for path, text in FILES.items()})
        return answer(MERGE, summary="Maya Smith is Maya")

    with pytest.raises(Conflict, match="forgotten"):
        run(world, [erase])
    assert "Maya Smith" not in str((world.files(), world.log()))


def test_a_user_who_is_not_there_has_nothing_to_consolidate(tmp_path: Path) -> None:
    with pytest.raises(UnknownUser):
        run(World(tmp_path), None)


def test_long_files_are_suspicious() -> None:
    long = "# Acme\n\n" + "- fact\n" * OVERGROWN_CHARS
    assert suspicions(Workspace({ACME: long.encode()})) == [("it has grown long: split it?", (ACME,))]


def test_small_models_write_one_step_a_line() -> None:
    lines = "Sure:\n- merge a.md | b.md\nmove a.md | Likes tea | b.md | Food\n1. drop a.md | x | y\nnothing else"
    proposal = parse_proposal(parse_proposal_lines(lines))
    assert proposal.steps == (
        Step("merge", "a.md", "b.md"),
        Step("move", "a.md", "b.md", "Food", "Likes tea"),
        Step("drop", "a.md", fact="x", same_as="y"),
    )
    assert parse_proposal_lines("hello") is None
    with pytest.raises(InvalidPlan):
        parse_proposal({"edits": []})


PATHS = st.sampled_from([MAYA, SMITH, ACME, "profile", "nobody"])
SAID = st.sampled_from(
    ["Likes tea", "Works at Acme", "a", "nested", "code", "A paragraph of two lines", "one", "loose"]
)
STEPS = st.builds(
    Step,
    op=st.sampled_from(["merge", "drop", "move", "move_section", "split"]),
    entity=PATHS,
    into=PATHS,
    section=st.sampled_from(["Work", "Home", "Title", ""]),
    fact=SAID,
    same_as=SAID,
)


@given(
    st.fixed_dictionaries({MAYA: TEXTS, SMITH: TEXTS, ACME: TEXTS, "profile.md": TEXTS}), st.lists(STEPS, max_size=5)
)
def test_no_step_loses_a_line_but_those_it_names(files: dict[str, str], steps: list[Step]) -> None:
    workspace = Workspace({path: text.encode("utf-8", "surrogatepass") for path, text in files.items()})
    refused = [refusal.step for refusal in make_steps(Proposal(steps=tuple(steps)), workspace, Settings())]
    made = [step for step in steps if step not in refused]
    may_go = {fact_key(step.fact) for step in made if step.op == "drop"}
    may_go |= {key for text in files.values() for key in front_matter_lines(text)}
    now = "\n".join(map(workspace.text, workspace.paths)).replace("\0", "\ufffd")  # as CommonMark reads it
    standing = {line_key(line) for line in now.split("\n")}
    for text in files.values():
        for fact in outline(text).facts:
            said = {line_key(line) for line in fact.text.split("\n")}
            assert fact.key in may_go or said <= standing or fact.key in standing
