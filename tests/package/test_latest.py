"""`scripts/latest`: the page that says what the newest releases break, and what they send that is new."""

from __future__ import annotations

import json
import re
from pathlib import Path

from scripts.latest_report import failures, news, report

LOG = """..F.
=== short test summary info ===
FAILED tests/agents/test_agents.py::test_it_speaks[codex] - AssertionError: no
ERROR tests/agents/test_agents.py::test_it_sings[kimi]
1 failed, 1 error, 2 passed in 1.00s
"""


def test_nothing_is_told_if_only_versions_are_newer():
    assert report("- opencode-ai 1.2.3\n", [], []) == ""


def test_a_package_that_could_not_be_installed_is_a_failure():
    page = report("- opencode-ai 1.2.3\n- @github/copilot could not be installed\n", [], [])
    newer, failed, new = re.split(r"^## .*\n\n", page, flags=re.MULTILINE)[1:]
    assert newer.strip() == "- opencode-ai 1.2.3"
    assert failed.strip() == "~~~\n@github/copilot could not be installed\n~~~"
    assert new.strip() == "~~~diff\nnothing\n~~~"


def test_the_tests_that_failed_are_named():
    lines = LOG.splitlines()
    assert failures("agents", LOG, "1\n") == lines[2:4]
    assert failures("agents", "....\n4 passed\n", "0\n") == []


def test_tests_that_did_not_run_are_a_failure():
    told = "The tests of the agents have not run to their end: "
    assert failures("agents", "", "4\n") == [f"{told}they print nothing"]
    assert failures("agents", "no tests ran in 0.1s\n", "5\n") == [f"{told}no tests ran in 0.1s"]
    assert failures("agents", "....\nKilled\n", "137\n") == [f"{told}.... / Killed"]
    assert failures("agents", LOG, "2\n")[:2] == LOG.splitlines()[2:4]
    assert len(failures("agents", "Traceback\n", "1\n")) == 1


def test_what_is_new_names_its_agent():
    before = {"codex": ["initialize result.a"], "kimi": ["x"]}
    after = {"codex": ["initialize result.a", "session/update params.new"], "kimi": ["x"], "vibe": ["y"]}
    assert news(before, after) == ["+ codex: session/update params.new", "+ vibe: y"]


def test_what_no_longer_works_is_told_and_a_version_alone_is_not():
    before = {"codex": {"version": "1", "steps": {"it_speaks": "works", "it_sings": "works", "it_ends": "works"}}}
    after = {"codex": {"version": "2", "steps": {"it_speaks": "fails", "it_sings": "works", "it_ends": "fails"}}}
    assert news(before, after) == [
        "- codex: it ends: works",
        "+ codex: it ends: fails",
        "- codex: it speaks: works",
        "+ codex: it speaks: fails",
    ]


def test_every_agent_that_is_pinned_is_raised_by_its_own_package(root: Path):
    """A package that another one only wraps would stay as it is."""
    for path in (root / "tests" / "npm" / "agents").glob("*/package.json"):
        assert len(json.loads(path.read_text("utf-8"))["dependencies"]) == 1
    script = (root / "scripts" / "latest").read_text("utf-8")
    folders = re.findall(r"newest (tests/npm/\S+|tests/npm) ", script)
    assert all((root / folder / "package.json").is_file() for folder in folders)
