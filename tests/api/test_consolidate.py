"""POST consolidate without a model: what code can do alone, shown first, then done, and nothing lost."""

from pathlib import Path

from tests.support.app import function

ALEX = "/v1/users/alex"
HEADERS = {"Content-Type": "text/markdown", "If-None-Match": "*"}


def test_links_are_shown_by_a_dry_run_and_then_woven(tmp_path: Path) -> None:
    with function(tmp_path) as app:
        app.put(ALEX, {})
        for name, text in (("maya", "# Maya\n\n- Rows with Ruben.\n"), ("ruben", "# Ruben\n\n- A coach.\n")):
            app.put(f"{ALEX}/files/memories/people/{name}.md", data=text.encode(), headers=HEADERS)
        head = app.get(ALEX).get_json()["head"]
        shown = app.post(f"{ALEX}/consolidate", {"tools": ["link"], "dry_run": True}).get_json()
        assert shown["dry_run"]
        assert "[[memories/people/ruben|Ruben]]" in shown["diff"]
        assert app.get(ALEX).get_json()["head"] == head
        done = app.post(f"{ALEX}/consolidate", {"tools": ["link"]}).get_json()
        assert done["commit"]
        assert b"- Rows with [[memories/people/ruben|Ruben]]." in app.get(f"{ALEX}/files/memories/people/maya.md").data
        again = app.post(f"{ALEX}/consolidate", {"tools": ["link"]}).get_json()
        assert again["commit"] is None
        assert app.post(f"{ALEX}/consolidate", {"tools": ["burn"]}).status_code == 400
