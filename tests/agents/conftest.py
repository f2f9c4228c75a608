"""Writes what works with which agent to results.json, of which docs/agents.md has the table."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from .published import AGENTS

RESULTS = Path(__file__).with_name("results.json")
STEPS = {
    "test_it_says_what_the_model_says": ("text", "Text and thoughts"),
    "test_a_plan_is_shown": ("plan", "Plan"),
    "test_a_question_shows_the_whole_file_with_the_change_in_it": ("diff", "A question shows the whole file"),
    "test_a_whole_file_that_is_written_over_another_shows_what_goes": ("write", "Writing over a file"),
    "test_what_the_person_edits_is_what_stands_on_the_disk": ("edited", "An edited proposal is what is written"),
    "test_two_edits_of_a_file_in_a_turn_are_shown_one_after_the_other": ("two", "Two edits of a file in a turn"),
    "test_unsaved_text_is_never_overwritten": ("unsaved", "Unsaved text is kept"),
    "test_a_command_shows_what_it_prints": ("command", "A command shows its output"),
    "test_a_question_of_the_model_is_answered_by_the_person": ("question", "The model's question is answered"),
    "test_a_turn_is_cancelled": ("cancel", "Cancel"),
    "test_its_death_is_told_and_a_new_process_goes_on": ("death", "Its death is told, and the conversation goes on"),
}
"""By test: the step's key and its title."""
LACKS = {
    "plan": ("claude", "copilot"),
    "diff": ("kimi",), "write": ("kimi",), "edited": ("kimi",), "two": ("kimi",),
    "question": ("codex", "opencode", "copilot", "vibe"),
}  # fmt: skip
"""The agents that haven't what a step needs."""
SENTENCES = {
    "plan": "not tried: its plan has no tool that the scripted model calls",
    "question": "not tried: it offers the scripted model no tool for that",
}


def _record(name: str, test: str, outcome: str) -> None:
    known: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    agents = known.get("agents", {})
    for agent, published in AGENTS.items():
        before = agents.get(agent, {}).get("steps", {})
        lacking = {
            step: SENTENCES.get(step, "the agent writes in its folder without a question")
            for step, names in LACKS.items()
            if agent in names
        }
        agents[agent] = {"title": published.title, "version": published.version, "steps": {**before, **lacking}}
    agents[name]["steps"][STEPS[test][0]] = outcome
    written = {"steps": list(STEPS.values()), "agents": agents}
    RESULTS.write_text(json.dumps(written, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


_records: list[bool] = []
"""Whether this process writes the results."""


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--agents-results") and "PYTEST_XDIST_WORKER" not in os.environ:
        _records.append(True)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the outcome of a step."""
    test, _, agent = report.nodeid.rpartition("::")[2].partition("[")
    if _records and test in STEPS and (report.when == "call" or report.failed):
        _record(agent.rstrip("]"), test, "works" if report.passed else "fails")
