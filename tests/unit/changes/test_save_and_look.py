"""A save that a scan sees before the word of it comes, and what others write beside it."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from companion.changes.change_screen import SavedText
from companion.changes.saves import Overwritten, Saves, Told
from companion.changes.state import RoundState
from companion.snapshots.entries import LARGE
from companion.snapshots.files import blob_id
from companion.snapshots.git import GitStoppedError
from companion.snapshots.objects import StoreObjects
from companion.snapshots.store_index import IndexListing, StoreIndex

from .folders import AGENT, Folder, committed, tree
from .work import LINES

SECOND = 1_000_000_000
MINE = LINES.replace("line 20\n", "mine\n")
AGENTS = LINES.replace("line 3\n", "agent\n")
BOTH = AGENTS.replace("line 20\n", "mine\n")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("a.py", LINES)
    made.write("b.py", LINES)
    made.round.begin()
    made.round.began_at = 0  # what some tests write has a time before it
    return made


def write_at(folder: Folder, path: str, text: str, at: int) -> None:
    """Write a file as if that had been at a time in nanoseconds."""
    folder.write(path, text)
    os.utime(folder.path / path, ns=(at, at))


def agents_line_waits_alone(folder: Folder) -> None:
    """The person's line is theirs, and stays when the other one is undone."""
    [row] = folder.round.rows()
    assert (row.path, row.inserted, row.deleted, row.agents) == ("a.py", 1, 1, (AGENT,))
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == MINE


def test_a_look_in_the_middle_of_a_save_makes_no_change_of_an_agent(folder: Folder):
    """An editor empties the file first, and a busy machine may stop it there for a while."""
    began = time.time_ns()
    write_at(folder, "a.py", "", began)
    folder.scan()
    write_at(folder, "a.py", MINE, began + SECOND)
    folder.scan()
    folder.saved("a.py", began, began + SECOND)
    folder.scan()
    assert folder.listed() == {}


def test_a_look_in_the_middle_of_a_save_of_a_file_that_waits_keeps_what_waits(folder: Folder):
    write_at(folder, "a.py", AGENTS, time.time_ns() - SECOND)
    folder.scan()
    began = time.time_ns()
    write_at(folder, "a.py", BOTH[:40], began)
    folder.scan()
    write_at(folder, "a.py", BOTH, began + SECOND // 4)
    folder.saved("a.py", began, began + SECOND // 4)
    agents_line_waits_alone(folder)


def test_a_save_is_the_persons_also_if_later_looks_have_found_other_files(folder: Folder):
    began = time.time_ns()
    folder.write("a.py", MINE)
    folder.scan()
    for number in range(3):
        folder.write("b.py", f"{number}\n")
        folder.scan()
    folder.saved("a.py", began, time.time_ns())
    assert folder.listed() == {"b.py": "modified"}
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == MINE


def test_what_an_agent_writes_long_after_a_save_is_its_own_if_looks_have_seen_both(folder: Folder):
    """The word of the save comes last."""
    began = time.time_ns() - 10 * SECOND
    write_at(folder, "a.py", MINE, began)
    folder.scan()
    write_at(folder, "a.py", BOTH, began + 8 * SECOND)
    folder.scan()
    folder.saved("a.py", began, began)
    agents_line_waits_alone(folder)


@pytest.mark.parametrize("theirs", [BOTH, f"\0{BOTH}"])
@pytest.mark.parametrize("named", [{}, {"a.py": AGENT}])
def test_a_save_that_no_look_has_seen_is_not_undone_with_what_an_agent_has_written_after_it(
    folder: Folder, named: dict[str, str], theirs: str
):
    """The person has typed on at once, so its text isn't known either; perhaps the editor has ended meanwhile."""
    began = time.time_ns() - 60 * SECOND
    write_at(folder, "a.py", MINE, began)
    write_at(folder, "a.py", theirs, began + 30 * SECOND)
    folder.round.named = named
    folder.saved("a.py", began, began, loaded=LINES)
    assert any(line in folder.protected() for line in ("a.py", "a.py, line 20: “mine”"))
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == theirs


@pytest.mark.parametrize("found", [None, AGENTS])
@pytest.mark.parametrize("is_known", [True, False])
def test_the_first_of_two_saves_that_no_look_has_seen_is_not_undone_unasked(
    folder: Folder, found: str | None, *, is_known: bool
):
    """Perhaps an agent has written in between what the second one has replaced."""
    began = time.time_ns() - 60 * SECOND
    again = began + 30 * SECOND
    write_at(folder, "a.py", more := f"{MINE}more\n", again)
    folder.saved("a.py", began, began, loaded=LINES)
    theirs = None if found is None else found.encode()
    folder.note("a.py", SavedText(MINE, more if is_known else None, theirs, since=again, until=again))
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == more


@pytest.mark.parametrize("is_restarted", [True, False])
@pytest.mark.parametrize("is_seen", [True, False])
def test_a_file_that_an_agent_deletes_after_a_save_is_listed(folder: Folder, *, is_seen: bool, is_restarted: bool):
    """The text that was saved is not known: the save seemed to have deleted the file."""
    began = time.time_ns() - 60 * SECOND
    write_at(folder, "a.py", MINE, began)
    if is_seen:
        folder.scan()
    (folder.path / "a.py").unlink()
    if is_restarted:
        folder.reopen()
    folder.saved("a.py", began, began, loaded=LINES)
    assert folder.listed() == {"a.py": "deleted"}
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == (MINE if is_seen else LINES)


def test_what_an_agent_has_named_is_its_own_directly_after_a_save_too(folder: Folder):
    began = time.time_ns()
    folder.write("a.py", MINE)
    until = time.time_ns()
    folder.scan()
    write_at(folder, "a.py", BOTH, until + SECOND)
    folder.round.named = {"a.py": AGENT}
    folder.round.scan()
    folder.saved("a.py", began, until)
    agents_line_waits_alone(folder)


def test_what_an_agent_writes_after_a_save_below_new_edits_is_still_told(folder: Folder):
    """The word of the save comes after both looks, and the person has typed again by then."""
    began = time.time_ns() - 10 * SECOND
    write_at(folder, "a.py", MINE, began)
    folder.scan()
    before = folder.round.state.now
    write_at(folder, "a.py", BOTH, began + 8 * SECOND)
    folder.scan()
    folder.saved("a.py", began, began)
    below = folder.saves.written_below("a.py", before)
    assert below == ((AGENT,), MINE.encode())


def test_who_is_told_of_a_file_that_was_not_there_is_told_of_no_empty_one(folder: Folder):
    """A tab may have its path already. Else its text would be merged with an empty one."""
    before = folder.round.state.now
    folder.write("c.py", "agent\n")
    folder.write("d.py", "")
    folder.scan()
    assert folder.saves.written_below("c.py", before) == ((AGENT,), None)
    before = folder.round.state.now
    folder.write("d.py", "agent\n")
    folder.scan()
    assert folder.saves.written_below("d.py", before) == ((AGENT,), b"")


def test_a_save_while_a_look_reads_an_agents_write_is_the_persons(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    """The scan has listed the file for what the agent has written; it reads what the person has saved."""
    began = time.time_ns()
    write_at(folder, "a.py", AGENTS, began - SECOND)
    update = StoreIndex.update

    def saved_first(index: StoreIndex, listing: IndexListing, remove: Collection[str], add: Sequence[str]) -> list[str]:
        write_at(folder, "a.py", BOTH, began)
        return update(index, listing, remove, add)

    monkeypatch.setattr(StoreIndex, "update", saved_first)
    folder.scan()
    monkeypatch.undo()
    folder.saved("a.py", began, began, loaded=AGENTS)
    agents_line_waits_alone(folder)


def test_a_save_that_a_look_has_seen_half_has_overwritten_nothing(folder: Folder):
    """The tab was still unsaved then, as below an agent's write."""
    write_at(folder, "a.py", AGENTS, time.time_ns() - SECOND)
    folder.scan()
    before, began = folder.round.state.now, time.time_ns()
    write_at(folder, "a.py", BOTH[:40], began)
    folder.scan()
    write_at(folder, "a.py", BOTH, began + SECOND // 4)
    assert folder.saved("a.py", began, began + SECOND // 4) is None
    assert folder.saves.written_below("a.py", before) is None
    assert folder.saved("a.py", time.time_ns()) is None


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("is_ignored", [True, False])
def test_a_save_of_a_file_that_is_excluded_or_ignored_lists_nothing_and_leaves_no_text_in_the_store(
    tmp_path: Path, *, is_ignored: bool, is_there: bool
):
    folder = Folder(tmp_path, excludes=lambda path: not is_ignored and path == ".env")
    folder.write(".gitignore", ".env\n" if is_ignored else "")
    committed(folder.path)
    before = "KEY=old\nMORE=\n" if is_there else ""
    if is_there:
        folder.write(".env", before)
    folder.begin_copied()
    texts = [before, "KEY=mine\nMORE=\n", "KEY=mine\nMORE=too\n"]
    assert folder.edit(".env", texts[0], texts[1], found=b"KEY=theirs\n") is None
    folder.edit(".env", texts[1], texts[2])
    assert folder.listed() == {}
    folder.scan()
    assert folder.listed() == {}
    (folder.path / ".env").unlink()
    folder.saved(".env", loaded=texts[2])  # its word comes when the file has gone
    secrets = [blob_id(text.encode()) for text in [*texts, "KEY=theirs\n"] if text]
    assert folder.round.objects.read(secrets) == {}


def test_what_an_agent_has_written_in_an_excluded_file_waits_after_a_save(tmp_path: Path):
    folder = Folder(tmp_path, excludes=lambda path: path == ".env")
    folder.write(".env", "KEY=old\n")
    folder.begin_copied()
    write_at(folder, ".env", "KEY=theirs\n", time.time_ns() - SECOND)
    folder.scan()
    folder.edit(".env", "KEY=theirs\n", "KEY=theirs too\n")
    [row] = folder.round.rows()
    assert (row.kind, row.agents) == ("excluded", (AGENT,))


def test_a_save_of_a_large_file_is_the_persons(folder: Folder):
    folder.write("large.txt", old := "a" * LARGE + "old\n")
    folder.begin_copied()
    folder.edit("large.txt", old, new := "a" * LARGE + "mine\n")
    assert folder.listed() == {}
    assert folder.round.objects.read([blob_id(new.encode())]) == {}


NAMES = ("alone.py", "agents.py", ".gitignore", "old.py", "lossy.py", "later.py")


def saved_at_once(folder: Folder) -> tuple[object, ...]:
    """The person saves several files, beside some of which an agent has written: what is known after that."""
    for name in NAMES:
        folder.write(name, LINES)
    folder.begin_copied()
    before = time.time_ns() - SECOND
    write_at(folder, "agents.py", AGENTS, before)
    write_at(folder, "lossy.py", AGENTS, before)
    (folder.path / "old.py").rename(folder.path / "new.py")
    folder.scan()
    since = time.time_ns()
    saved = SavedText(LINES, MINE, since=since, until=since + SECOND)
    words = {name: Told(name, saved) for name in (*NAMES, "made.py")}
    words["agents.py"].saved = replace(saved, loaded=AGENTS, text=BOTH)
    words["lossy.py"].saved = replace(saved, found=AGENTS.encode())
    words["made.py"].saved = replace(saved, loaded=None)
    for name, word in words.items():
        write_at(folder, name, word.saved.text or "", since)
    folder.scan()
    write_at(folder, "later.py", MINE + "agent\n", since + 10 * SECOND)
    lost = folder.saves.saved(words)
    assert all(word.is_noted for word in words.values())
    state = folder.round.state
    saves = sorted(repr((each.path, each.before, each.after)) for each in state.saves)
    return lost, folder.listed(), state.base, state.known, saves, folder.undo_all(), tree(folder.path)


def test_saves_that_are_noted_together_do_what_each_does_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Most are of files that nobody else has written: those are followed at once."""
    one_by_one: list[str] = []
    follow = Saves._saved

    def followed(saves: Saves, path: str, *rest: Any) -> Overwritten | None:
        one_by_one.append(path)
        return follow(saves, path, *rest)

    monkeypatch.setattr(Saves, "_saved", followed)
    for name in ("together", "apart"):
        (tmp_path / name).mkdir()
    together = saved_at_once(Folder(tmp_path / "together"))
    assert {*NAMES, "made.py"} - {*one_by_one} == {"alone.py"}
    monkeypatch.setattr(Saves, "_saved_alone", lambda *_: ())
    assert saved_at_once(Folder(tmp_path / "apart")) == together


def test_what_was_reviewed_with_a_new_round_does_not_wait_again_when_the_word_of_a_save_comes(folder: Folder):
    since = time.time_ns()
    folder.write("a.py", loaded := LINES.replace("line 3\n", "agent\n"))
    folder.write("a.py", saved := loaded.replace("line 9\n", "mine\n"))
    folder.scan()
    folder.round.begin()
    folder.note("a.py", SavedText(loaded, saved, since=since, until=time.time_ns()))
    assert folder.listed() == {}


def test_a_save_that_a_look_has_seen_before_the_editor_ended_is_the_persons(folder: Folder):
    """Also if nobody has told its text, as of a long one."""
    since = time.time_ns()
    folder.write("a.py", LINES.replace("line 3\n", "mine\n"))
    until = time.time_ns()
    folder.scan()
    folder.write("b.py", "agent\n")
    folder.scan()
    assert set(folder.listed()) == {"a.py", "b.py"}
    folder.reopen()
    folder.saved("a.py", since, until)
    assert set(folder.listed()) == {"b.py"}


@pytest.mark.parametrize("agents", ["agent\n", "mine\nagent\n"])
def test_a_save_before_a_new_round_is_in_its_baseline_whoever_has_written_its_lines_since(folder: Folder, agents: str):
    """Its word comes later: it had lines wait that nobody has written since the round began."""
    mine = LINES.replace("line 9\n", "mine\n")
    saved = SavedText(LINES, mine, since=time.time_ns())
    folder.write("a.py", mine)
    saved = replace(saved, until=time.time_ns())
    time.sleep(0.03)
    folder.write("a.py", theirs := mine.replace("mine\n", agents))
    folder.round.begin()
    folder.write("new.py", "agent\n")
    folder.note("a.py", saved)
    folder.scan()
    assert folder.listed() == {"new.py": "created"}
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == theirs


def test_a_save_whose_word_could_not_be_noted_at_once_is_the_persons(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    """Nobody may know its text: then only what the scan had seen before it tells."""
    since = time.time_ns()
    folder.write("a.py", LINES.replace("line 3\n", "mine\n"))
    saved = SavedText(since=since, until=time.time_ns())
    folder.scan()

    def full(*_: object, **__: object) -> None:
        raise GitStoppedError("No space left on device")

    told = {"a.py": Told("a.py", saved)}
    with monkeypatch.context() as patched:
        patched.setattr(StoreObjects, "with_entries", full)
        folder.saves.saved(told)
    assert not told["a.py"].is_noted
    folder.saves.saved(told)
    assert told["a.py"].is_noted
    assert folder.listed() == {}


def test_a_save_is_noted_though_the_clock_was_set_back_after_the_round_had_begun(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    folder.round.begin()
    now, hour = time.time_ns(), 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: now - hour)
    mine = LINES.replace("line 9\n", "mine\n")
    folder.write("a.py", mine)
    os.utime(folder.path / "a.py", ns=(now - hour, now - hour))
    folder.note("a.py", SavedText(LINES, mine, since=now - hour, until=now - hour))
    folder.scan()
    assert folder.listed() == {}


@pytest.mark.parametrize("waits", [True, False])
def test_a_save_whose_word_could_not_be_written_down_is_noted_as_it_was(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, *, waits: bool
):
    """What the scan has seen is still there, and so are the words that both have written."""
    loaded = LINES.replace("line 3\n", "agent\n") if waits else LINES
    text = loaded.replace("agent\n", "agent and me\n") if waits else loaded.replace("line 20\n", "mine\n")
    folder.write("a.py", loaded)
    folder.scan()
    saved = SavedText(loaded, text, since=time.time_ns())
    folder.write("a.py", text)
    folder.scan()
    told = {"a.py": Told("a.py", replace(saved, until=time.time_ns()))}
    before = folder.round.rows()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(RoundState, "write", full)
        with contextlib.suppress(OSError):
            folder.saves.saved(told)
        assert not told["a.py"].is_noted
        assert folder.round.rows() == before
    folder.saves.saved(told)
    assert told["a.py"].is_noted
    assert folder.protected() == (["a.py, line 3: “agent and me”"] if waits else [])
    assert len(folder.round.state.saves) == 1
