"""Where the agent of a chat reads and writes, told to the editor once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from companion.chats import watch as watches
from companion.chats.watch import VisitWatch
from companion.conversation.snapshot import Diff, Location, Message, Permission, Snapshot, Status, Tool, Turn
from companion.editor import MOST_VISITS, RecentFiles, Visit
from companion.platforms.files import is_elsewhere

from ..memory_editor import MemoryEditor
from .chatting import CHAT, WINDOW

READ = Tool("t1", "read_file", "Read", "read", "in_progress", locations=(Location("a.py", 3),))


def snapshot(*items: Any, running: str | None = "turn") -> Snapshot:
    turn = Turn("turn", "running" if running else "done", (Message("answer", "x"), *items))
    return Snapshot(("turn",), (turn,), Status(running=running))


def watching() -> tuple[VisitWatch, MemoryEditor]:
    editor = MemoryEditor()
    absolute = lambda path: path if path.startswith("/") else f"/p/{path}"  # noqa: E731
    return VisitWatch(CHAT, WINDOW, editor, absolute), editor


def seen(*snapshots: Snapshot) -> list[tuple[str, int | None, str]]:
    editor = MemoryEditor()
    watch = VisitWatch(CHAT, WINDOW, editor, lambda path: f"/p/{path}")
    for each in snapshots:
        watch.seen(each, "Qwen Code")
    assert all(window == WINDOW for window, _ in editor.visits)
    assert {(visit.agent, visit.chat) for _, visit in editor.visits} <= {("Qwen Code", CHAT)}
    return [(visit.path, visit.line, visit.what) for _, visit in editor.visits]


def test_a_place_is_told_once_and_again_when_it_moves():
    moved = replace(READ, locations=(Location("a.py", 9),))
    assert seen(snapshot(READ), snapshot(READ), snapshot(moved)) == [("/p/a.py", 3, "read"), ("/p/a.py", 9, "read")]


def test_an_edit_is_at_its_first_changed_line_and_told_again_once_it_is_written():
    diff = Diff("b.py", "1\n2\n3\n", "1\nx\n3\n")
    edit = Tool("t2", "edit", "Edit", "edit", "pending", diffs=(diff,), locations=(Location("b.py"),))
    done = replace(edit, status="completed")
    assert seen(snapshot(edit), snapshot(edit), snapshot(done)) == [("/p/b.py", 2, "edit")] * 2
    assert seen(snapshot(replace(edit, locations=()))) == [("/p/b.py", 2, "edit")]


def test_what_is_no_place_in_a_file_and_what_ran_before_is_not_told():
    runs = replace(READ, kind="execute")
    nowhere = replace(READ, locations=(Location(""),))
    assert seen(snapshot(runs), snapshot(nowhere), snapshot(READ, running=None)) == []


def test_each_file_is_listed_once_the_latest_first_and_not_for_ever():
    recent = RecentFiles()
    recent.add(Visit(f"/p/{number}", None, "Codex", "read") for number in range(MOST_VISITS + 2))
    recent.add([Visit("/p/5", 7, "Codex", "edit")])
    assert len(recent) == MOST_VISITS
    found = list(recent)
    assert (found[0].path, found[0].line, found[1].path, found[-1].path) == ("/p/5", 7, f"/p/{MOST_VISITS + 1}", "/p/2")


@pytest.mark.parametrize("path", ["//evil.example/a.py", "/etc/passwd", "/p/../etc/passwd", "/project/x.py"])
def test_what_waits_to_be_allowed_outside_the_folder_is_not_told_before_it_is_allowed(path: str):
    watch, editor = watching()
    asked = Tool("t", "read", "Read", "read", "pending", locations=(Location(path), Location("/p/in.py")))
    open_question = Permission("p", "turn", "t", "Read", "read", ())
    for each in (asked, replace(asked, status="in_progress", permissions=(open_question,))):
        watch.seen(snapshot(each), "Qwen Code")
        assert [visit.path for _, visit in editor.visits] == ["/p/in.py"]
    watch.seen(snapshot(replace(asked, status="in_progress")), "Qwen Code")
    assert [visit.path for _, visit in editor.visits] == ["/p/in.py", path]


def test_the_texts_of_an_edit_are_compared_once_and_not_with_each_piece_of_an_answer(monkeypatch: pytest.MonkeyPatch):
    compared: list[Diff] = []
    first_changed = watches._first_changed
    monkeypatch.setattr(watches, "_first_changed", lambda diff: compared.append(diff) or first_changed(diff))
    watch, _ = watching()
    edit = Tool("t2", "edit", "Edit", "edit", "in_progress", diffs=(Diff("b.py", "1\n", "2\n"),))
    for _ in range(5):
        watch.seen(snapshot(edit), "Qwen Code")
    assert len(compared) == 1
    watch.seen(snapshot(replace(edit, status="completed")), "Qwen Code")
    assert len(compared) == 2


def test_a_path_of_another_computer_is_told_from_one_of_a_folder_there():
    assert is_elsewhere("//host/share/a.py")
    assert is_elsewhere("\\\\host\\share\\a.py", ["/p"])
    assert is_elsewhere("\\\\?\\UNC\\host\\share\\a.py", ["/p"])
    assert is_elsewhere("\\??\\UNC\\host\\share\\a.py", ["/p"])
    assert is_elsewhere("\\\\host\\shared\\a.py", ["\\\\host\\share"])
    assert not is_elsewhere("\\\\host\\share\\a.py", ["\\\\host\\share"])
    assert not is_elsewhere("\\\\host\\share\\p", ["\\\\host\\share\\p"])
    assert not is_elsewhere("/p/a.py")
