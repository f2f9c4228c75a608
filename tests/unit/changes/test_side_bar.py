"""What the person deletes or renames in the editor's side bar is theirs, and what an agent deletes is not."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from companion.changes import rounds
from companion.snapshots.store_index import IndexListing, StoreIndex

from .folders import AGENT, Folder
from .work import AGENT as CLI
from .work import LINES, WINDOW, Work

AGENTS = LINES.replace("line 3\n", "agent\n")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    for path in ("a.py", "sub/b.py", "sub/deep/c.py"):
        made.write(path, LINES.replace("line 1\n", f"{path}\n"))
    made.round.begin()
    return made


def test_a_file_that_the_person_deletes_is_not_listed(folder: Folder):
    (folder.path / "a.py").unlink()
    folder.saves.handled("a.py", is_renamed=False)
    assert folder.listed() == {}
    folder.write("a.py", "agent\n")
    folder.scan()
    assert folder.listed() == {"a.py": "created"}
    assert folder.undo_all() == []
    assert not (folder.path / "a.py").exists()


def test_a_file_that_an_agent_had_deleted_before_the_person_deletes_its_new_text_is_listed(folder: Folder):
    """No scan has seen that the agent had made it again."""
    (folder.path / "a.py").unlink()
    folder.scan()
    folder.write("a.py", "agent\n")
    since = time.time_ns()
    (folder.path / "a.py").unlink()
    folder.saves.handled("a.py", is_renamed=False, since=since)
    assert folder.listed() == {"a.py": "deleted"}


async def test_the_word_of_a_deletion_says_when_its_command_began(work: Work):
    await work.begun(CLI)
    path = work.path / "a.py"
    path.unlink()
    await work.until(lambda: "a.py" in work.rows)
    work.rounds.handled([str(path)], is_renamed=False, since=time.time_ns())
    await work.rounds.roots.events_noted()
    assert "a.py" in work.rows


def test_a_folder_that_the_person_deletes_is_not_listed(folder: Folder):
    shutil.rmtree(folder.path / "sub")
    folder.scan()  # it comes before the word of that
    folder.saves.handled("sub", is_renamed=False)
    assert folder.listed() == {}


def test_a_deletion_that_the_person_has_not_confirmed_leaves_the_file_to_whoever_deletes_it(folder: Folder):
    folder.saves.handled("a.py", is_renamed=False)
    (folder.path / "a.py").unlink()
    folder.scan()
    assert folder.listed() == {"a.py": "deleted"}


def test_what_an_agent_has_deleted_in_a_folder_that_stays_is_listed(folder: Folder):
    (folder.path / "sub/b.py").unlink()
    folder.scan()
    folder.saves.handled("sub", is_renamed=False)
    assert folder.listed() == {"sub/b.py": "deleted"}


def test_what_an_agent_has_deleted_in_a_folder_that_the_person_deletes_later_is_listed(folder: Folder):
    (folder.path / "sub/b.py").unlink()
    folder.scan()
    shutil.rmtree(folder.path / "sub")
    folder.write("a.py", "agent\n")
    folder.scan()  # it comes before the word of that
    folder.saves.handled("sub", is_renamed=False)
    assert folder.listed() == {"a.py": "modified", "sub/b.py": "deleted"}
    assert folder.undo_all() == []
    assert (folder.path / "sub/b.py").exists()
    assert not (folder.path / "sub/deep").exists()


def test_a_file_that_an_agent_deletes_beside_one_of_the_person_is_listed(folder: Folder):
    (folder.path / "a.py").unlink()
    (folder.path / "sub/b.py").unlink()
    folder.saves.handled("a.py", is_renamed=False)
    assert folder.listed() == {"sub/b.py": "deleted"}


@pytest.mark.parametrize("what", ["a.py", "sub"])
def test_what_the_person_renames_is_not_listed_and_what_waits_in_it_waits_there(folder: Folder, what: str):
    path = "a.py" if what == "a.py" else "sub/b.py"
    text = folder.read(path).decode()
    folder.write(path, text.replace("line 3\n", "agent\n"))
    folder.scan()
    folder.saves.handled(what, is_renamed=True)  # the name is typed after that
    (folder.path / what).rename(folder.path / "new")
    folder.scan()
    assert folder.listed() == {path.replace(what, "new", 1): "modified"}
    assert folder.undo_all() == []
    assert folder.read(path.replace(what, "new", 1)).decode() == text
    assert not (folder.path / path).exists()


def test_a_rename_of_another_file_is_the_agents(folder: Folder):
    folder.saves.handled("a.py", is_renamed=True)
    (folder.path / "sub/b.py").rename(folder.path / "sub/new.py")
    folder.scan()
    assert folder.listed() == {"sub/new.py": "renamed"}


def test_a_file_that_an_agent_moves_elsewhere_is_not_the_one_that_the_person_renames(folder: Folder):
    """The side bar renames within a folder."""
    folder.saves.handled("a.py", is_renamed=True)
    (folder.path / "a.py").rename(folder.path / "sub/a.py")
    folder.scan()
    assert folder.listed() == {"sub/a.py": "renamed"}


def test_a_restore_brings_nothing_back_that_the_person_has_deleted_since(folder: Folder):
    number = folder.checkpoints.add(AGENT, "")
    (folder.path / "a.py").unlink()
    folder.saves.handled("a.py", is_renamed=False)
    assert folder.checkpoints.plan(number)[0] == []


async def test_the_word_of_a_deletion_comes_from_the_editor(work: Work):
    await work.begun(CLI)
    (work.path / "a.py").unlink()
    await work.until(lambda: "a.py" in work.rows)
    work.rounds.handled([str(work.path / "a.py")], is_renamed=False)
    await work.until(lambda: not work.rows)


@pytest.mark.parametrize("text", ["", "agent\n"])
def test_a_file_that_an_agent_has_renamed_and_the_person_deletes_is_not_listed(folder: Folder, text: str):
    (folder.path / "a.py").rename(folder.path / "b.py")
    folder.write("b.py", folder.read("b.py").decode() + text)
    folder.scan()
    (folder.path / "b.py").unlink()
    folder.saves.handled("b.py", is_renamed=False)
    folder.scan()
    assert folder.listed() == {}
    assert folder.undo_all() == []
    assert not (folder.path / "a.py").exists()


@pytest.mark.parametrize("is_seen", ["under neither name", "under both"])
@pytest.mark.parametrize("what", ["a.py", "sub"])
def test_what_the_person_renames_in_the_middle_of_a_scan_is_not_listed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, what: str, is_seen: str
):
    """What is gone and what is new are looked for at the same time."""
    folder.saves.handled(what, is_renamed=True)
    listing, old, new = StoreIndex.listing, folder.path / what, folder.path / "new"

    def torn(index: StoreIndex, rules: bytes) -> IndexListing:
        if not old.exists():
            return listing(index, rules)
        if is_seen == "under neither name":
            before = listing(index, rules).untracked
            old.rename(new)
            return replace(listing(index, rules), untracked=before)
        found = listing(index, rules)
        old.rename(new)
        return replace(found, untracked=listing(index, rules).untracked)

    monkeypatch.setattr(StoreIndex, "listing", torn)
    folder.scan()
    folder.scan()
    assert folder.listed() == {}
    assert folder.undo_all() == []
    assert new.exists()


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_link_that_the_person_renames_or_deletes_is_theirs_and_not_what_it_leads_to(
    work: Work, *, is_deleted: bool
):
    link = work.path / "link.py"
    link.symlink_to("a.py")
    await work.begun(CLI)
    if is_deleted:
        link.unlink()
        await work.until(lambda: "link.py" in work.rows)
        work.rounds.handled([str(link)], is_renamed=False)
    else:
        work.rounds.handled([str(link)], is_renamed=True)
        await work.rounds.roots.events_noted()
        link.rename(work.path / "other.py")
        work.rounds.scan(WINDOW)
    (work.path / "new.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"new.py"})


async def test_what_waits_in_a_file_that_the_person_renames_is_listed_there_at_once(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    """It was listed by its old name until nobody waited for a name any more, and could not be kept or undone."""
    monkeypatch.setattr(rounds, "NAMING", 3600.0)
    await work.begun(CLI)
    path = work.path / "a.py"
    path.write_text(f"{path.read_text()}agent\n")
    await work.until(lambda: "a.py" in work.rows)
    work.rounds.handled([str(path)], is_renamed=True)
    await work.rounds.roots.events_noted()
    path.rename(work.path / "b.py")
    await work.until(lambda: set(work.rows) == {"b.py"})


@pytest.mark.parametrize("how", ["escape", "time", "another", "used"])
async def test_once_the_person_types_no_name_any_more_a_file_that_is_renamed_is_the_agents(
    work: Work, monkeypatch: pytest.MonkeyPatch, how: str
):
    monkeypatch.setattr(rounds, "NAMING", 0.1 if how == "time" else 3600.0)
    (work.path / "c.py").write_text("another one\n" * 9)
    await work.begun(CLI)
    folder = work.known.folders[work.folders[0]]
    work.rounds.handled([str(work.path / "a.py")], is_renamed=True)
    await work.rounds.roots.events_noted()
    if how == "escape":
        work.rounds.naming_over()
    elif how == "another":
        work.rounds.handled([str(work.path / "c.py")], is_renamed=True)
    elif how == "used":
        (work.path / "a.py").rename(work.path / "b.py")
        await work.until(lambda: not folder.round.renaming)
        (work.path / "b.py").rename(work.path / "a.py")
    else:
        await work.until(lambda: not folder.round.renaming)
    await work.rounds.roots.events_noted()
    if how == "used":
        await work.until(lambda: "a.py" in work.rows)
    else:
        (work.path / "a.py").rename(work.path / "b.py")
        await work.until(lambda: "b.py" in work.rows)


async def test_a_name_that_the_person_has_typed_is_theirs_though_nobody_looks_until_the_time_is_over(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rounds, "NAMING", 0.3)
    await work.begun(CLI)
    folder = work.known.folders[work.folders[0]]
    work.rounds.clis(WINDOW, ())
    await work.until(lambda: work.known.watching and work.known.watching.done())
    work.rounds.handled([str(work.path / "a.py")], is_renamed=True)
    await work.rounds.roots.events_noted()
    (work.path / "a.py").rename(work.path / "b.py")
    await work.until(lambda: not folder.round.renaming)
    assert folder.round.waiting() == []


def test_what_the_person_has_deleted_just_before_the_editor_ended_is_not_listed(folder: Folder):
    shutil.rmtree(folder.path / "sub")
    folder.scan()
    folder.reopen()
    folder.saves.handled("sub", is_renamed=False)
    assert folder.listed() == {}
