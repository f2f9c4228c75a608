"""`scripts/registry`: the list of agents that comes with the package, made from a file, a folder or an address."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from companion.registry.entries import read_day, read_entries
from scripts import registry_copy

DAY = "2026-02-03"


def agent(identifier: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": identifier,
        "name": identifier.title(),
        "version": "1.2.3",
        "description": "An agent – with a dash",
        "authors": ["Somebody <somebody@example.com>"],
        "license": "MIT",
        "icon": f"https://example.com/{identifier}.svg",
        "distribution": {"npx": {"package": f"{identifier}@1.2.3", "args": ["--acp"], "env": {"A": "1"}}},
        **fields,
    }


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")


def repository(tmp_path: Path, *agents: Mapping[str, Any]) -> Path:
    """A folder as the registry's repository is."""
    for each in agents:
        write(tmp_path / "of" / str(each["id"]) / "agent.json", each)
    write(tmp_path / "of" / "agent.schema.json", {"type": "object"})
    write(tmp_path / "of" / ".github" / "agent.json", agent("hidden"))
    write(tmp_path / "of" / "_not_yet_unsupported" / "later" / "agent.json", agent("later"))
    return tmp_path / "of"


def made(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    registry_copy.main(*arguments, target=tmp_path / "registry.json")
    return json.loads((tmp_path / "registry.json").read_text("utf-8"))


def test_a_folder_and_a_file_make_the_same_list(tmp_path: Path):
    folder = repository(tmp_path, agent("two"), agent("one"))
    write(tmp_path / "given.json", {"version": "1.0.0", "agents": [agent("two"), agent("one")], "extensions": []})
    from_folder = made(tmp_path, str(folder), DAY)
    assert [each["id"] for each in from_folder["agents"]] == ["one", "two"]
    assert from_folder == made(tmp_path, str(tmp_path / "given.json"), DAY)
    assert [each.id for each in read_entries(json.dumps(from_folder).encode())] == ["one", "two"]


def test_the_command_puts_a_file_of_the_registry_into_the_package(root: Path, tmp_path: Path):
    """As a maintainer runs it, in a copy of what it needs."""
    shutil.copytree(root / "companion", tmp_path / "companion", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "scripts").mkdir()
    shutil.copy(root / "scripts" / "registry_copy.py", tmp_path / "scripts")
    write(tmp_path / "given.json", {"version": "1.0.0", "agents": [agent("two"), agent("one")], "extensions": []})
    command = [sys.executable, "-m", "scripts.registry_copy", "given.json", DAY]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, encoding="utf-8")
    assert done.stdout == "2 agents\n"
    written = (tmp_path / "companion" / "registry" / "registry.json").read_bytes()
    assert [each.id for each in read_entries(written)] == ["one", "two"]
    assert read_day(written) == DAY
    assert '-m scripts.registry_copy "$@"' in (root / "scripts" / "registry").read_text("utf-8")


def test_it_says_where_it_is_from_and_of_which_day(tmp_path: Path):
    origin = made(tmp_path, str(repository(tmp_path, agent("one"))), DAY)["origin"]
    assert origin == {"from": "github.com/agentclientprotocol/registry", "on": DAY, "license": "Apache-2.0"}
    with pytest.raises(SystemExit, match="Which day"):
        made(tmp_path, str(tmp_path / "of"))


def test_what_the_package_does_not_use_is_dropped(tmp_path: Path):
    [found] = made(tmp_path, str(repository(tmp_path, agent("one"))), DAY)["agents"]
    assert found == {name: value for name, value in agent("one").items() if name not in {"authors", "icon"}}


def test_an_entry_that_can_not_be_used_is_left_out_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    bad = agent("bad", distribution={"npx": {"package": "--registry=http://evil.example"}})
    assert [each["id"] for each in made(tmp_path, str(repository(tmp_path, bad, agent("one"))), DAY)["agents"]] == [
        "one"
    ]
    assert capsys.readouterr().out == "1 agents\nleft out: bad\n"


def test_a_folder_of_something_else_changes_nothing(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no agents"):
        registry_copy.main(str(tmp_path / "empty"), DAY, target=tmp_path / "registry.json")
    assert not (tmp_path / "registry.json").exists()
