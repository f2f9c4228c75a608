"""A system on which upper and lower case are the same: paths are compared so, and keep the spelling of the disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from companion.changes import places
from companion.changes.change_screen import Listing, SavedText
from companion.changes.rows import ChangeRow
from companion.platforms import paths

from .folders import committed
from .work import AGENT, CHAT, LINES, WINDOW, Work

MINE = LINES.replace("line 3\n", "mine\n")
NAME = "Docs/README.md"


@pytest.fixture
def ignores_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows; on other systems the disk knows one spelling of a path."""
    of_system = os.path.normcase
    monkeypatch.setattr("os.path.normcase", lambda path: of_system(path).lower())


@pytest.fixture
def project(tmp_path: Path, ignores_case: None) -> Work:
    """A window with a folder, in whose path capital letters are."""
    folder = tmp_path / "Project"
    (folder / "Docs").mkdir(parents=True)
    (folder / "Vendor" / "Lib").mkdir(parents=True)
    (folder / NAME).write_text(LINES)
    return Work(tmp_path / "Stores", [str(folder)])


def save(work: Work, name: str) -> None:
    """The person saves a file, beside which an agent writes another one."""
    path = work.path / name
    path.write_text(MINE)
    work.rounds.saved(str(path), SavedText(LINES, MINE))
    path.with_name("Agents.md").write_text("agent\n")


async def test_a_save_is_the_persons_whatever_the_case_of_its_path(project: Work):
    async with project as work:
        await work.begun()
        save(work, NAME)
        await work.until(lambda: work.rows.keys() == {"Docs/Agents.md"})
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        await work.until(lambda: not work.rows)
        assert (work.path / NAME).read_text() == MINE


async def test_a_deletion_and_a_name_in_the_side_bar_are_the_persons_whatever_the_case(project: Work):
    async with project as work:
        (work.path / "Docs" / "Old.md").write_text("old\n" * 9)
        await work.begun()
        (work.path / NAME).unlink()
        work.rounds.handled([str(work.path / NAME)], is_renamed=False)
        await work.rounds.roots.events_noted()
        work.rounds.handled([str(work.path / "Docs" / "Old.md")], is_renamed=True)
        await work.rounds.roots.events_noted()
        (work.path / "Docs" / "Old.md").rename(work.path / "Docs" / "New.md")
        (work.path / "Agents.md").write_text("agent\n")
        await work.until(lambda: "Agents.md" in work.rows)
        assert work.rows.keys() == {"Agents.md"}


async def test_a_save_in_a_nested_repository_is_noted_there_whatever_the_case(project: Work):
    nested = "Vendor/Lib/Read.me"
    (project.path / nested).write_text(LINES)
    committed(project.path / "Vendor" / "Lib")
    async with project as work:
        await work.begun()
        assert {Path(root).name for root in work.rounds.roots.folders} == {"Project", "Lib"}
        save(work, nested)
        await work.until(lambda: work.rows.keys() == {"Agents.md"})
        [row] = work.rows_of(WINDOW)
        assert row.full_path == str(work.path / "Vendor" / "Lib" / "Agents.md")


async def test_a_window_on_an_inner_folder_lists_what_is_in_it_whatever_the_case(project: Work):
    project.folders.append(str(project.path / "Docs"))
    async with project as work:
        await work.begun()
        work.known.own = work.known.own[1:]
        (work.path / NAME).write_text("agent\n")
        await work.until(lambda: work.rows)
        assert work.rows.keys() == {NAME}


async def test_what_an_agent_says_to_write_is_its_own_whatever_the_case(project: Work):
    async with project as work:
        await work.begun()
        work.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-1", "go on", 0)
        work.rounds.named("Agent", str(work.path / NAME).replace("README", "Readme"))
        (work.path / NAME).write_text("agent\n")
        await work.until(lambda: work.rows)
        assert work.rows[NAME].agents == ("Agent",)


def test_the_row_of_a_file_is_found_whatever_the_case(ignores_case: None):
    row = ChangeRow(os.path.join(os.sep, "Project"), NAME, "modified", (AGENT,), 1, 1, 1, "", "", "", "")
    listing = Listing((row,))
    assert listing.row_at(os.path.join(os.sep, "project", "docs", "readme.md")) is row
    assert listing.row_at(os.path.join(os.sep, "project", "docs")) is None


def test_the_store_of_an_inner_folder_is_found_whatever_the_case(tmp_path: Path, ignores_case: None):
    outer, inner = str(tmp_path / "Outer"), str(tmp_path / "outer" / "Inner")
    store = tmp_path / "stores" / places.store_name(inner)
    store.mkdir(parents=True)
    (store / places.ROUND).write_text(json.dumps({"root": inner}))
    assert places.related(outer, str(tmp_path / "stores")) == [inner]


@pytest.mark.parametrize(("on_disk", "found"), [("Names.py", "Names.py"), ("other.py", "names.py")])
def test_a_file_is_known_by_the_spelling_of_its_disk_and_by_no_other_name_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_disk: str, found: str
):
    """On macOS, for `subl names.py`; of a file with two hard links the system may tell the other one."""
    monkeypatch.setattr(paths, "own_spelling", lambda path: os.path.join(os.path.dirname(path), on_disk))
    assert paths.real_path(str(tmp_path / "names.py")) == os.path.join(os.path.realpath(tmp_path), found)
