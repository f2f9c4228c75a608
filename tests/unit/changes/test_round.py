"""A round: what agents have written is listed, kept, undone and brought back; what the person saves is not."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest

from companion.changes import moving
from companion.changes.round import FORMATTING
from companion.review.disk import Encodings
from companion.snapshots import store, store_index
from companion.snapshots.files import WriteRefusedError

from .folders import AGENT, Folder, tree
from .work import LINES


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("a.py", LINES)
    made.write("b.txt", b"one\r\ntwo\r\nthree")
    made.write("sub/c.txt", "c\n")
    (made.path / "empty").mkdir()
    made.round.begin()
    return made


def test_what_an_agent_creates_changes_deletes_and_renames_is_listed(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "line three\n").replace("line 20\n", ""))
    folder.write("new/file.txt", "new\n")
    (folder.path / "sub/c.txt").unlink()
    (folder.path / "b.txt").rename(folder.path / "moved.txt")
    folder.scan()
    rows = {row.path: row for row in folder.round.rows()}
    assert {path: row.kind for path, row in rows.items()} == {
        "a.py": "modified",
        "moved.txt": "renamed",
        "new/file.txt": "created",
        "sub/c.txt": "deleted",
    }
    assert (rows["a.py"].inserted, rows["a.py"].deleted, rows["a.py"].changes) == (1, 2, 2)
    assert all(row.agents == (AGENT,) for row in rows.values())
    assert rows["moved.txt"].renamed_from == "b.txt"


def test_undo_all_gives_the_baseline_byte_for_byte(folder: Folder):
    before = tree(folder.path)
    folder.write("a.py", LINES.upper())
    folder.write("b.txt", b"one\r\n2\r\nthree\r\n")
    folder.write("new/deep/file.txt", "new\n")
    folder.write("empty/file.txt", "new\n")
    (folder.path / "sub/c.txt").unlink()
    folder.undo_all_to(before)


@pytest.mark.parametrize("how", ["before the prompt", "a minute before", "deep in one that was empty"])
def test_an_empty_folder_of_the_person_stays_without_the_file_of_an_agent(
    folder: Folder, how: str, monkeypatch: pytest.MonkeyPatch
):
    made = folder.path / ("empty/made" if how.startswith("deep") else "made")
    made.mkdir()
    if how == "a minute before":
        for name in ("SETTLED", "PAUSE", "UNTOUCHED"):
            monkeypatch.setattr(store_index, name, 0)
        time.sleep(0.02)
        folder.scan()
    else:
        folder.scan()
        folder.checkpoints.begin_turn(AGENT, "go", "turn", 0)
    before = tree(folder.path)
    folder.reopen()
    folder.write(f"{made.relative_to(folder.path).as_posix()}/inner/file.txt", "new\n")
    folder.undo_all_to(before)


def test_of_the_folders_that_git_leaves_out_only_the_empty_ones_are_remembered(folder: Folder):
    """What is in a virtual environment or in another repository is no matter of an undo."""
    for name in ("venv/lib/deep", "group/repository/.git/objects", "group/none"):
        (folder.path / name).mkdir(parents=True)
    folder.write("venv/.gitignore", "*\n")
    folder.write("venv/lib/code.py", "x\n")
    folder.scan()
    folder.checkpoints.begin_turn(AGENT, "go", "turn", 0)
    assert folder.round.state.empty == ["empty/", "group/none/", "venv/lib/deep/"]


def test_a_folder_that_an_agent_has_just_made_goes_with_its_file(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    before = tree(folder.path)
    for name in ("SETTLED", "PAUSE"):
        monkeypatch.setattr(store_index, name, 0)
    (folder.path / "made").mkdir()
    time.sleep(0.02)
    folder.scan()
    folder.write("made/file.txt", "new\n")
    folder.undo_all_to(before)


def test_an_undo_can_be_taken_back(folder: Folder):
    folder.write("a.py", LINES.upper())
    folder.write("new.bin", bytes(range(256)))
    (folder.path / "sub/c.txt").unlink()
    folder.scan()
    written = tree(folder.path)
    folder.undo_all()
    folder.redo()
    assert {path: found for path, found in tree(folder.path).items() if found[0] != 1} == {
        path: found for path, found in written.items() if found[0] != 1
    }
    assert set(folder.listed()) == {"a.py", "new.bin", "sub/c.txt"}
    assert all(row.agents == (AGENT,) for row in folder.round.rows())


def test_one_change_is_kept_and_another_one_undone(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "line three\n").replace("line 20\n", "line twenty\n"))
    folder.scan()
    first, second = folder.keys("a.py")
    folder.keep_change("a.py", first)
    assert folder.read("a.py").count(b"line three") == 1
    assert len(folder.keys("a.py")) == 1
    folder.undo("a.py", folder.keys("a.py")[0])
    assert folder.read("a.py").decode() == LINES.replace("line 3\n", "line three\n")
    assert folder.listed() == {}
    assert second


def test_selected_lines_of_a_change_are_undone(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\nline 4\nline 5\n", "x\ny\nz\n"))
    folder.scan()
    folder.undo("a.py", folder.keys("a.py")[0], (3, 3))
    assert folder.read("a.py").decode() == LINES.replace("line 3\nline 4\nline 5\n", "x\nline 4\nz\n")


def test_selected_lines_are_those_of_the_moment_when_they_were_selected(folder: Folder):
    """Something above has moved the change since: the key is that of before, and so are the lines."""
    agents = LINES.replace("line 3\nline 4\nline 5\n", "x\ny\nz\n")
    folder.write("a.py", agents)
    folder.scan()
    (key,) = folder.keys("a.py")
    folder.write("a.py", f"above\n{agents}")
    folder.scan()
    folder.undo("a.py", key, (3, 3))
    assert folder.read("a.py").decode() == "above\n" + LINES.replace("line 3\nline 4\nline 5\n", "x\nline 4\nz\n")


def test_selected_lines_of_a_created_file_are_undone_and_the_others_kept(folder: Folder):
    folder.write("new.py", "one\ntwo\nthree\n")
    folder.scan()
    [key] = folder.keys("new.py")
    folder.undo("new.py", key, (1, 1))
    assert folder.read("new.py") == b"one\nthree\n"
    assert folder.listed() == {"new.py": "created"}
    assert folder.undoing.unsent_notes() == []
    folder.redo()
    assert folder.read("new.py") == b"one\ntwo\nthree\n"
    folder.keep_change("new.py", key, (1, 1))
    [above, below] = folder.keys("new.py")
    assert folder.undo("new.py", below) == []
    assert folder.undo("new.py", above) == []
    assert folder.read("new.py") == b"two\n"
    assert folder.listed() == {}


@pytest.mark.parametrize("what", ["keep", "undo"])
def test_all_lines_of_a_created_file_are_the_file(folder: Folder, what: str):
    folder.write("new.py", "one\ntwo\n")
    folder.scan()
    [key] = folder.keys("new.py")
    if what == "keep":
        folder.keep_change("new.py", key, (0, 1))
    else:
        folder.undo("new.py", key, (0, 1))
    assert (folder.path / "new.py").exists() == (what == "keep")
    assert folder.listed() == {}


@pytest.mark.parametrize("what", ["keep", "undo"])
@pytest.mark.parametrize("then", ["grown", "deleted", "binary"])
def test_a_change_that_is_there_no_more_decides_nothing_else_of_its_file(folder: Folder, then: str, what: str):
    path = "new.py" if then == "grown" else "a.py"
    changed = LINES.replace("line 3\n", "three\n").replace("line 20\n", "twenty\n")
    folder.write(path, "one\n" if then == "grown" else changed)
    folder.scan()
    key = folder.keys(path)[0]
    match then:
        case "grown":
            folder.write(path, "one\nunseen\n")
        case "deleted":
            (folder.path / path).unlink()
        case "renamed":
            (folder.path / path).rename(folder.path / "b.py")
            path = "b.py"
        case _:
            folder.write(path, b"\0\xff")
    folder.scan()
    before = folder.listed(), tree(folder.path)
    with pytest.raises(WriteRefusedError, match=f"{path} (has changed since|can only be kept or undone as a whole)"):
        folder.keep_change(path, key) if what == "keep" else folder.undo(path, key)
    assert (folder.listed(), tree(folder.path)) == before


@pytest.mark.parametrize("what", ["keep", "undo"])
@pytest.mark.parametrize("kind", ["created", "deleted", "renamed", "binary", "mode"])
def test_the_one_change_of_a_file_is_the_file(folder: Folder, kind: str, what: str):
    """Without a key, it has none."""
    before = tree(folder.path)
    path = {"created": "new.py", "renamed": "b.py"}.get(kind, "a.py")
    match kind:
        case "created":
            folder.write(path, "one\n")
        case "deleted":
            (folder.path / path).unlink()
        case "renamed":
            (folder.path / "a.py").rename(folder.path / path)
            folder.write(path, LINES.replace("line 3\n", "three\n"))
        case "binary":
            folder.write(path, b"\0\xff")
        case _:
            (folder.path / path).chmod(0o755)
    folder.scan()
    assert folder.listed() == {path: kind}
    now = tree(folder.path)
    key = next(iter(folder.keys(path)), "")
    folder.keep_change(path, key) if what == "keep" else folder.undo(path, key)
    assert tree(folder.path) == (now if what == "keep" else before)
    assert folder.listed() == {}


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_one_of_two_changes_of_a_text_in_utf_16_is_undone(folder: Folder, codec: str):
    mark = "\N{ZERO WIDTH NO-BREAK SPACE}"
    folder.write("wide.txt", f"{mark}{LINES}".encode(codec))
    folder.round.begin()
    folder.write("wide.txt", f"{mark}{LINES}".replace("line 3\n", "x\n").replace("line 20\n", "y\n").encode(codec))
    folder.scan()
    first, _ = folder.keys("wide.txt")
    folder.undo("wide.txt", first)
    assert folder.read("wide.txt") == f"{mark}{LINES}".replace("line 20\n", "y\n").encode(codec)


def test_a_file_that_is_changed_again_shows_only_what_is_new_since_it_was_kept(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "line three\n"))
    folder.scan()
    folder.keep("a.py")
    assert folder.listed() == {}
    folder.write("a.py", LINES.replace("line 3\n", "line three\n").replace("line 9\n", "line nine\n"))
    folder.scan()
    (row,) = folder.round.rows()
    assert (row.inserted, row.deleted) == (1, 1)


def test_keep_all_empties_the_list(folder: Folder):
    folder.write("a.py", "")
    folder.write("x", "x")
    folder.scan()
    folder.keep_all()
    assert folder.listed() == {}
    assert folder.read("a.py") == b""


def test_what_the_person_saves_is_never_offered(folder: Folder):
    folder.save("a.py", LINES.replace("line 7\n", "mine\n"))
    folder.save("own.txt", "mine\n")
    assert folder.listed() == {}


def test_a_save_beside_an_agents_change_is_merged_into_the_baseline(folder: Folder):
    agents = LINES.replace("line 3\n", "agent\n")
    folder.write("a.py", agents)
    folder.scan()
    folder.save("a.py", agents.replace("line 25\n", "mine\n"))
    (row,) = folder.round.rows()
    assert (row.inserted, row.deleted, row.note) == (1, 1, "")
    folder.undo("a.py")
    assert folder.read("a.py").decode() == LINES.replace("line 25\n", "mine\n")


def test_a_save_inside_of_an_agents_change_leaves_it_waiting_and_says_so(folder: Folder):
    agents = LINES.replace("line 3\n", "agent\n")
    folder.write("a.py", agents)
    folder.scan()
    folder.save("a.py", agents.replace("agent\n", "agent and me\n"))
    (row,) = folder.round.rows()
    assert row.note == "with your edit"


def test_what_a_formatter_writes_is_the_persons_however_late_it_is(folder: Folder):
    """It changes the text of the tab, and saves that."""
    mine, formatted = LINES.replace("line 7\n", "mine\n"), LINES.replace("line 7\n", "mine, formatted\n")
    folder.edit("a.py", LINES, mine)
    folder.scan()
    folder.edit("a.py", mine, formatted)
    folder.scan()
    assert folder.listed() == {}


def test_what_is_written_just_after_a_save_is_nobodys_for_sure_and_stays(folder: Folder):
    """A formatter of three seconds, or an agent."""
    mine = LINES.replace("line 7\n", "mine\n")
    folder.edit("a.py", LINES, mine)
    folder.write("a.py", mine.replace("line 20\n", "whose?\n"))
    folder.scan()
    (row,) = folder.round.rows()
    assert row.agents == (f"you or {AGENT}",)
    assert folder.protected() == ["a.py, line 20: “line 20”", "a.py, line 20: “whose?”"]
    folder.reopen()
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == mine.replace("line 20\n", "whose?\n")
    assert folder.listed() == {}
    folder.redo()
    writes, _ = folder.undoing.plan(folder.round.waiting(), is_all=True)
    assert folder.apply(writes) == []
    assert folder.read("a.py").decode() == mine


def test_an_older_file_that_is_moved_over_one_long_after_its_save_is_the_agents(folder: Folder):
    """It has the time at which its text was written, before the save."""
    mine = LINES.replace("line 7\n", "mine\n")
    folder.write("old.py", LINES.replace("line 20\n", "agent\n"))
    os.utime(folder.path / "old.py", (0, 1_000_000_000))
    folder.scan()
    folder.edit("a.py", LINES, mine)
    folder.round.saved_at["a.py"] -= 2 * FORMATTING  # it was saved so long ago
    folder.scan()
    (folder.path / "old.py").replace(folder.path / "a.py")
    folder.scan()
    assert folder.protected() == []
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == mine


def test_a_change_by_an_agent_that_has_named_the_file_is_its_own_even_after_a_save(folder: Folder):
    folder.save("a.py", LINES.replace("line 7\n", "mine\n"))
    folder.write("a.py", LINES.replace("line 7\n", "agent\n"))
    folder.round.named = {"a.py": "Gemini CLI"}
    folder.round.at_work = {}
    folder.round.scan()
    (row,) = folder.round.rows()
    assert row.agents == ("Gemini CLI",)


def test_a_proposal_that_was_accepted_is_reviewed_once_it_is_on_the_disk(folder: Folder):
    content = LINES.replace("line 3\n", "accepted\n")
    folder.saves.reviewed("a.py", LINES, content, Encodings())
    folder.write("a.py", content)
    folder.scan()
    assert folder.listed() == {"a.py": "modified"}
    folder.saves.reviewed("a.py", LINES, content, Encodings())
    folder.write("made.txt", "made\n")
    folder.saves.reviewed("made.txt", None, "made\n", Encodings())
    assert folder.listed() == {}


@pytest.mark.parametrize(
    ("codec", "encodings", "word"),
    [
        ("utf-8", Encodings(), "ä"),
        ("utf-16", Encodings(), "ä"),
        ("cp1252", Encodings(), "ä"),
        ("cp1251", Encodings("Cyrillic (Windows 1251)"), "д"),
    ],
)
def test_an_accepted_proposal_beside_changes_that_wait_leaves_them(
    folder: Folder, codec: str, encodings: Encodings, word: str
):
    lines = LINES.replace("\n", f" {word}\r\n")
    folder.write("a.py", lines.encode(codec))
    folder.round.begin()
    before = lines.replace("line 3 ", "agent ")
    folder.write("a.py", before.encode(codec))
    folder.scan()
    after = before.replace("line 25 ", "accepted ")
    folder.write("a.py", after.encode(codec))
    folder.scan()
    folder.saves.reviewed("a.py", before, after, encodings)
    [row] = folder.round.rows()
    assert (row.inserted, row.deleted, row.note) == (1, 1, "")
    folder.undo_all()
    assert folder.read("a.py").decode(codec) == lines.replace("line 25 ", "accepted ")


def test_accepted_proposals_are_changes_of_the_turn_however_late_the_first_one_is_on_the_disk(folder: Folder):
    """An agent that writes by itself does so after the answer."""
    number = folder.checkpoints.add(AGENT, "change two lines", "turn-1")
    first = LINES.replace("line 3\n", "first\n")
    folder.saves.reviewed("a.py", LINES, first, Encodings())
    folder.write("a.py", first)
    second = first.replace("line 25\n", "second\n")
    folder.write("a.py", second)
    folder.scan()
    folder.saves.reviewed("a.py", first, second, Encodings())
    [row] = folder.round.rows()
    assert (row.inserted, row.deleted) == (1, 1)  # the first one
    folder.checkpoints.end("turn-1")
    changed = folder.checkpoints.of_turn("turn-1")
    assert changed == [("a.py", LINES.encode(), second.encode())]
    writes, _, left = folder.checkpoints.plan(number)
    assert [(write.path, folder.undoing.data(write)) for write in writes] == [("a.py", LINES.encode())]
    assert left == []


def test_a_change_while_nobody_is_at_work_names_no_agent(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "outside\n"))
    folder.round.at_work = {}
    folder.round.scan()
    (row,) = folder.round.rows()
    assert row.agents == ()


def test_a_round_goes_on_after_a_restart_of_the_editor(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "agent\n"))
    folder.scan()
    folder.reopen()
    assert folder.round.is_open
    assert folder.listed() == {"a.py": "modified"}
    folder.write("b.txt", "agent\n")
    folder.scan()
    folder.undo_all()
    assert (folder.read("a.py").decode(), folder.read("b.txt")) == (LINES, b"one\r\ntwo\r\nthree")


def test_nothing_is_undone_against_a_file_that_has_changed_since(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "agent\n"))
    folder.scan()
    writes = folder.plan("a.py")
    folder.write("a.py", "something else\n")
    with pytest.raises(WriteRefusedError, match="has changed since"):
        folder.undoing.write(writes[0])
    assert folder.read("a.py") == b"something else\n"


def test_links_modes_and_binary_files_are_rows_that_can_be_undone(folder: Folder):
    folder.write("pixels.png", b"\x89PNG\0\1\2")
    os.symlink("a.py", folder.path / "link")
    folder.write("script.sh", "echo\n")
    folder.round.begin()
    before = tree(folder.path)
    folder.write("pixels.png", b"\x89PNG\0\3")
    (folder.path / "link").unlink()
    os.symlink("b.txt", folder.path / "link")
    (folder.path / "script.sh").chmod(0o755)
    folder.scan()
    assert folder.listed() == {"link": "link", "pixels.png": "binary", "script.sh": "mode"}
    folder.undo_all_to(before)


def test_a_deleted_file_comes_back_with_its_permissions(folder: Folder):
    folder.write("secret.txt", "mine\n")
    (folder.path / "secret.txt").chmod(0o600)
    folder.write("tool", "#!/bin/sh\n")
    (folder.path / "tool").chmod(0o750)
    folder.round.begin()
    (folder.path / "secret.txt").unlink()
    (folder.path / "tool").unlink()
    folder.scan()
    folder.undo_all()
    assert (folder.path / "secret.txt").stat().st_mode & 0o777 == 0o600
    assert (folder.path / "tool").stat().st_mode & 0o777 == 0o750


def test_a_folder_in_the_place_of_a_file_is_undone(folder: Folder):
    before = tree(folder.path)
    (folder.path / "b.txt").unlink()
    folder.write("b.txt/inside.txt", "x\n")
    folder.undo_all_to(before)


def test_a_file_in_the_place_of_a_folder_is_undone(folder: Folder):
    before = tree(folder.path)
    (folder.path / "sub/c.txt").unlink()
    (folder.path / "sub").rmdir()
    folder.write("sub", "x\n")
    folder.undo_all_to(before)


def test_a_folder_moved_behind_a_link_is_undone(folder: Folder):
    before = tree(folder.path)
    (folder.path / "sub").rename(folder.path / "elsewhere")
    os.symlink("elsewhere", folder.path / "sub")
    folder.undo_all_to(before)


def test_a_checkpoint_is_restored_with_the_persons_saves_since_then(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "first\n"))
    folder.scan()
    number = folder.checkpoints.add(AGENT, "second prompt")
    second = LINES.replace("line 3\n", "first\n").replace("line 12\n", "second\n")
    folder.write("a.py", second)
    folder.write("extra.txt", "extra\n")
    folder.scan()
    folder.save("a.py", second.replace("line 25\n", "mine\n"))
    folder.keep_all()
    writes, base, left = folder.checkpoints.plan(number)
    assert left == []
    for write in writes:
        folder.undoing.write(write)
    assert folder.checkpoints.finish_restore(writes, base) == []
    assert folder.read("a.py").decode() == LINES.replace("line 3\n", "first\n").replace("line 25\n", "mine\n")
    assert not (folder.path / "extra.txt").exists()
    assert folder.listed() == {"a.py": "modified"}
    folder.redo()
    assert folder.read("a.py").decode() == second.replace("line 25\n", "mine\n")
    assert folder.listed() == {}


def test_the_changes_of_a_turn_are_those_until_its_end(folder: Folder):
    folder.checkpoints.add(AGENT, "one", "first")
    for word in ("draft", "final"):
        folder.write("a.py", LINES.replace("line 3\n", f"{word}\n"))
        folder.scan()
    folder.checkpoints.end("first")
    folder.checkpoints.add(AGENT, "two", "second")
    folder.write("b.txt", "later\n")
    folder.scan()
    [(path, before, after)] = folder.checkpoints.of_turn("first") or []
    assert (path, before.decode()) == ("a.py", LINES)
    assert b"final" in after
    [(path, _, after)] = folder.checkpoints.of_turn("second") or []
    assert (path, after) == ("b.txt", b"later\n")


def in_turn(folder: Folder, name: str, path: str, text: str) -> None:
    """An agent has a turn, in which it writes one file."""
    folder.checkpoints.add(AGENT, name, name)
    folder.write(path, text)
    folder.scan()
    folder.checkpoints.end(name)


def turns_of(folder: Folder, *paths: str) -> dict[str, list[str]]:
    return {path: [point.turn for point in found] for path, found in folder.checkpoints.turns_of(paths).items()}


def test_the_prompts_of_two_roots_are_in_the_order_in_which_they_were_sent(tmp_path: Path):
    """What another root had came last, and so a file was listed below an earlier prompt than its own."""
    outer = Folder(tmp_path)
    outer.write("inner/a.py", LINES)
    outer.begin_copied()
    inner = Folder(outer.path, "inner")
    inner.store_path.rename(tmp_path / "inner-store")
    inner.store_path = tmp_path / "inner-store"
    inner.reopen()
    inner.begin_copied()
    inner.checkpoints.begin_turn(AGENT, "go", "first", 0)
    outer.checkpoints.begin_turn(AGENT, "go on", "second", 0)
    inner.write("a.py", "agent\n")
    inner.scan()
    outer.scan()
    moving.take_over(outer.round, moving.handed_over(inner.round, str(outer.path)))
    assert turns_of(outer, "inner/a.py") == {"inner/a.py": ["second"]}


def test_a_file_is_of_each_turn_that_has_changed_it_the_last_one_first(folder: Folder):
    first = LINES.replace("line 3\n", "first\n")
    in_turn(folder, "one", "a.py", first)
    in_turn(folder, "two", "b.txt", "b\n")
    in_turn(folder, "three", "a.py", first.replace("line 25\n", "third\n"))
    expected = {"a.py": ["three", "one"], "b.txt": ["two"]}
    assert [turns_of(folder, "a.py", "b.txt") for _ in range(2)] == [expected, expected]
    folder.save("a.py", first.replace("line 25\n", "third\n").replace("line 9\n", "mine\n"))
    assert turns_of(folder, "a.py", "b.txt") == expected


def test_what_is_written_between_two_turns_is_of_no_turn_that_has_ended_before(folder: Folder):
    in_turn(folder, "one", "b.txt", "b\n")
    folder.write("a.py", first := LINES.replace("line 3\n", "first\n"))
    folder.scan()
    in_turn(folder, "two", "a.py", first.replace("line 25\n", "second\n"))
    assert turns_of(folder, "a.py", "b.txt") == {"a.py": ["two"], "b.txt": ["one"]}


def test_a_turn_of_whose_file_all_was_kept_is_over(folder: Folder):
    first = LINES.replace("line 3\n", "first\n")
    in_turn(folder, "one", "a.py", first)
    folder.keep("a.py")
    in_turn(folder, "two", "a.py", first.replace("line 25\n", "second\n"))
    assert turns_of(folder, "a.py") == {"a.py": ["two"]}


@pytest.mark.parametrize(
    ("kept", "expected"),
    [([0], ["two", "one"]), ([1], ["two", "one"]), ([2], ["one"]), ([0, 1], ["two"]), ([0, 2], ["one"])],
)
def test_a_file_is_of_each_turn_of_which_something_waits_in_it(folder: Folder, kept: list[int], expected: list[str]):
    """Whatever else of it was kept: the first turn has made two changes, the second one the third."""
    first = LINES.replace("line 3\n", "first\n").replace("line 14\n", "")
    in_turn(folder, "one", "a.py", first)
    in_turn(folder, "two", "a.py", first.replace("line 25\n", "second\n"))
    assert turns_of(folder, "a.py") == {"a.py": ["two", "one"]}
    keys = folder.keys("a.py")
    for number in reversed(kept):
        folder.keep_change("a.py", keys[number])
    assert turns_of(folder, "a.py") == {"a.py": expected}


def test_many_files_of_which_a_part_was_kept_take_git_no_longer_than_one(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    git_of_store: Any = vars(folder.store)["_git"]
    run, runs = git_of_store.run, list[str]()

    def counted(*arguments: str, **named: Any) -> bytes:
        runs.append(arguments[0])
        return run(*arguments, **named)

    monkeypatch.setattr(git_of_store, "run", counted)
    names = [f"{number}.py" for number in range(6)]
    for name in names:
        folder.write(name, LINES)
    folder.scan()
    folder.keep_all()
    in_turn(folder, "one", names[0], LINES.replace("line 3\n", "first\n").replace("line 14\n", ""))
    needed: list[int] = []
    for name in names:
        folder.write(name, LINES.replace("line 3\n", "first\n").replace("line 14\n", f"{name}\n"))
        folder.scan()
        folder.keep_change(name, folder.keys(name)[0])
        runs.clear()
        folder.checkpoints.turns_of(folder.listed())
        needed.append(len(runs))
    assert needed[-1] == needed[1]


def test_a_file_of_which_nothing_is_known_to_wait_is_of_the_last_turn(folder: Folder):
    in_turn(folder, "one", "a.bin", "\0one")
    folder.keep("a.bin")
    in_turn(folder, "two", "a.bin", "\0two")
    folder.keep("a.bin")
    folder.write("a.bin", "\0three")
    folder.scan()
    assert turns_of(folder, "a.bin") == {"a.bin": ["two"]}


def test_the_changes_after_a_quiet_minute_are_those_until_the_next_prompt(folder: Folder):
    folder.checkpoints.add(AGENT, "")
    folder.write("a.py", LINES.replace("line 3\n", "first\n"))
    folder.scan()
    folder.checkpoints.add(AGENT, "")
    folder.write("a.py", LINES.replace("line 3\n", "second\n"))
    folder.scan()
    keys = [folder.checkpoints.key_of(point) for point in folder.round.state.checkpoints]
    [[(_, before, first)], [(_, again, second)]] = [folder.checkpoints.of_turn(key) or [] for key in keys]
    assert (before.decode(), again) == (LINES, first)
    assert b"first" in first
    assert b"second" in second


def test_a_read_only_file_is_left_alone_and_named(folder: Folder):
    folder.write("a.py", "agent\n")
    (folder.path / "a.py").chmod(0o444)
    folder.scan()
    with pytest.raises(WriteRefusedError, match="read-only"):
        folder.undo("a.py")
    assert folder.read("a.py") == b"agent\n"
    assert "a.py" in folder.listed()


def test_a_full_disk_loses_nothing(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.write("a.py", "agent\n")
    folder.scan()
    before = tree(folder.path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("companion.platforms.files.FolderEntry.create", full)
        with pytest.raises(WriteRefusedError, match="No space left"):
            folder.undo("a.py")
    assert tree(folder.path) == before
    assert folder.listed() == {"a.py": "modified"}
    folder.undo("a.py")
    assert folder.read("a.py").decode() == LINES


def test_an_undo_through_an_editor_that_changes_bytes_is_written_as_it_was(folder: Folder):
    """A format or a trim on save."""
    folder.write("b.txt", b"agent\n")
    folder.scan()
    (write,) = folder.plan("b.txt")
    folder.undoing.check(write)
    folder.write("b.txt", b"one\ntwo\nthree\n")  # what the editor has saved
    folder.undoing.force(write)
    assert folder.undoing.finish([write]) == []
    assert folder.read("b.txt") == b"one\r\ntwo\r\nthree"


@pytest.mark.parametrize("tells_moves", [True, False])
def test_a_file_that_an_agent_moves_before_the_first_look_since_it_came_is_its_own(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tells_moves: bool
):
    """Also where a file doesn't know when it was moved. What was moved before is not."""
    monkeypatch.setattr(store, "_TELLS_MOVES", tells_moves and os.name != "nt")
    folder.write("other/d.txt", "d\n")
    folder.round.at_work = {}
    folder.round.scan()
    folder.round.follow_all()
    for path in ("a.py", "b.txt", "sub/c.txt", "other/d.txt"):
        os.utime(folder.path / path, (1, 1))
    (folder.path / "other/d.txt").rename(folder.path / "other/e.txt")
    time.sleep(0.05)
    folder.round.at_work = {AGENT: time.time_ns()}
    time.sleep(0.05)
    (folder.path / "b.txt").rename(folder.path / "sub/b.txt")
    folder.round.scan()
    found = {row.path: row.agents for row in folder.round.rows()}
    assert found == {"sub/b.txt": (AGENT,), "other/e.txt": ()}


def test_a_kill_in_the_first_look_after_a_restart_forgets_nobody_who_had_worked(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    folder.scan()
    folder.write("a.py", "agent\n")
    folder.reopen()
    folder.round.at_work = {}
    monkeypatch.setattr(folder.store, "scan", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.round.scan()
    folder.reopen()
    folder.round.at_work = {}
    folder.round.scan()
    assert [row.agents for row in folder.round.rows()] == [(AGENT,)]
    folder.reopen()
    folder.round.at_work = {}
    folder.write("b.txt", "mine\n")
    folder.round.scan()
    assert {row.path: row.agents for row in folder.round.rows()} == {"a.py": (AGENT,), "b.txt": ()}


def killed(*_: object) -> None:
    raise KeyboardInterrupt
