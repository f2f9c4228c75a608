"""The table of docs/agents.md has what the last run with the real agents has found."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents.published import AGENTS
from tests.agents.results import HEADING, PAGE, STORED, Results, table, with_table

RESULTS = {
    "system": "Linux",
    "agents": {
        "claude": {
            "title": "Claude",
            "version": "1",
            "steps": {"it_speaks": "works", "it_sings": "The agent has no voice."},
        },
        "codex": {"title": "Codex", "version": "2", "steps": {"it_speaks": "fails"}},
    },
}


def test_the_page_says_what_was_found():
    results = Results.read()
    page = PAGE.read_text("utf-8")
    assert results.agents
    assert page == with_table(page, results)
    assert table(results) in page


def test_what_is_stored_is_of_the_versions_that_are_pinned():
    found = {name: agent["version"] for name, agent in Results.read().agents.items()}
    assert found == {name: AGENTS[name].version for name in found}
    assert {"claude", "opencode"} <= set(found)


def test_every_outcome_is_one_of_the_three_or_says_who_lacks_what():
    for agent in json.loads(STORED.read_text("utf-8"))["agents"].values():
        for outcome in agent["steps"].values():
            assert outcome in {"works", "fails"} or outcome.startswith(("The agent has no ", "Not built: ")), outcome


def test_a_table_has_a_row_for_each_step_and_a_note_for_what_is_lacking():
    lines = table(Results(json.loads(json.dumps(RESULTS)))).splitlines()
    assert lines[0] == HEADING.strip()
    assert "| | Claude 1 | Codex 2 |" in lines
    assert "| it speaks | yes | no |" in lines
    assert "| it sings | no [1] | – |" in lines
    assert lines[-1] == "1. The agent has no voice."


def test_a_step_of_several_cases_fails_if_one_does():
    results = Results({})
    for outcome in ("works", "fails", "works"):
        results.note("claude", "it_speaks", outcome)
    assert results.agents["claude"]["steps"] == {"it_speaks": "fails"}


def test_a_new_table_takes_the_place_of_the_old_one(tmp_path: Path):
    results = Results(json.loads(json.dumps(RESULTS)))
    page = with_table("# Page\n\nText.\n", results)
    assert with_table(page, results) == page
    assert with_table(page + "\n## Next\n\nMore.\n", results).endswith("no voice.\n\n## Next\n\nMore.\n")
