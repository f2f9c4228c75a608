"""An agent points out places: what the tool takes, from an agent that means harm as well."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from companion.comments import MAX_NOTES

from ..conftest import Running
from ..wire import Cli
from .test_agent_tools import call, configure, why_not

ORDERS = "a\nb\nc\n"


@pytest.fixture
def file(project: Path) -> str:
    (project / "orders.py").write_text(ORDERS)
    return str(project / "orders.py")


def pointed(agent: Cli, path: str, /, **more: Any) -> dict[str, Any]:
    return call(agent, "pointOut", **{"path": path, "startLine": 2, "endLine": 3, "note": "look", **more})


def refused(agent: Cli, path: str, /, **more: Any) -> str:
    return why_not(agent, "pointOut", **{"path": path, "startLine": 2, "endLine": 3, "note": "look", **more})


def test_a_note_has_the_lines_the_words_and_the_name_of_its_agent(running: Running, agent: Cli, file: str):
    assert pointed(agent, file, note="  the rounding\n is mine ", order=7) == {"notes": 1}
    [note] = running.editor.notes
    assert (note.path, note.first, note.last, note.lines) == (file, 2, 3, ("b", "c"))
    assert (note.words, note.rank, note.is_due) == ("the rounding is mine", 7, False)
    assert note.by, "a comment that answers it goes to whom the editor calls so"
    assert "(" not in note.by


def test_a_range_of_thousands_of_lines_is_kept_in_part(running: Running, agent: Cli, project: Path):
    (project / "long.txt").write_text("x\n" * 9_000)
    pointed(agent, str(project / "long.txt"), startLine=1, endLine=9_000)
    [note] = running.editor.notes
    assert (note.last, len(note.lines)) == (9_000, 2_000)


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("\x1b]0;x\x07 \u202eback", r"\x1b]0;x\x07 \u202eback"),
        ("a\u2028b\x00c\x9b", r"a b\x00c\x9b"),
        ("hid\U000e0041den", r"hid\U000e0041den"),
        ("tab\tand\r\nmore", "tab and more"),
        ("<a href='x'>[y](z)</a> &lt;", "<a href='x'>[y](z)</a> &lt;"),
    ],
)
def test_a_note_is_one_line_in_which_nothing_acts_or_hides(
    running: Running, agent: Cli, file: str, note: str, words: str
):
    pointed(agent, file, note=note)
    assert running.editor.notes[-1].words == words


def test_the_words_are_few_and_there_are_some(running: Running, agent: Cli, file: str):
    pointed(agent, file, note="x" * 200)
    assert "note" in refused(agent, file, note="x" * 201)
    assert "no words" in refused(agent, file, note=" \n\t")
    assert "note" in refused(agent, file, note="")
    assert len(running.editor.notes) == 1


def test_there_is_room_for_fifty(running: Running, agent: Cli, file: str):
    for number in range(MAX_NOTES):
        assert pointed(agent, file) == {"notes": number + 1}
    assert "50 notes" in refused(agent, file)
    assert len(running.editor.notes) == MAX_NOTES == 50


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"endLine": 4}, "has no line 4"),
        ({"endLine": 2**31 - 1}, "has no line"),
        ({"endLine": 1}, "before startLine"),
        ({"startLine": 0}, "startLine"),
        ({"startLine": -1}, "startLine"),
        ({"startLine": "2"}, "startLine"),
        ({"startLine": True}, "startLine"),
        ({"startLine": 1.5}, "startLine"),
        ({"endLine": 10**30}, "endLine"),
        ({"endLine": None}, "endLine"),
        ({"note": ["x"]}, "note"),
        ({"note": {"href": "x"}}, "note"),
        ({"order": 0}, "order"),
        ({"order": "first"}, "order"),
        ({"path": "orders.py"}, "path"),
        ({"path": ["/a"]}, "path"),
        ({"path": "/a\0b"}, "path"),
    ],
)
def test_what_is_no_place_is_said(running: Running, agent: Cli, file: str, more: dict[str, Any], why: str):
    assert why in refused(agent, file, **more)
    assert running.editor.notes == []


@pytest.mark.parametrize("name", [".env", "key.pem", "secrets/a.py"])
def test_an_excluded_file_gets_no_note(running: Running, agent: Cli, project: Path, name: str):
    (project / "secrets").mkdir(exist_ok=True)
    (project / name).write_text(ORDERS)
    assert "context_exclude" in refused(agent, str(project / name))
    configure(running, context="off")
    assert "context_exclude" in refused(agent, str(project / name))
    assert running.editor.notes == []


def test_a_file_outside_the_folders_gets_no_note(running: Running, agent: Cli, file: str, tmp_path: Path):
    beside = tmp_path / "elsewhere"
    beside.mkdir(exist_ok=True)
    (beside / "a.py").write_text(ORDERS)
    for path in (beside / "a.py", Path(file).parent / ".." / beside.name / "a.py"):
        assert "in no folder" in refused(agent, str(path))
    assert "another computer" in refused(agent, "//evil.example/share/a.py") or sys.platform == "win32"
    assert running.editor.notes == []


@pytest.mark.skipif(sys.platform == "win32", reason="links want rights there")
def test_what_counts_is_where_a_link_leads(running: Running, agent: Cli, file: str, project: Path, tmp_path: Path):
    outside = tmp_path / "outside.py"
    outside.write_text(ORDERS)
    (project / ".env").write_text(ORDERS)
    (project / "out.py").symlink_to(outside)
    (project / "hidden.py").symlink_to(".env")
    (tmp_path / "in").symlink_to(project, target_is_directory=True)
    assert "in no folder" in refused(agent, str(project / "out.py"))
    assert "context_exclude" in refused(agent, str(project / "hidden.py"))
    pointed(agent, str(tmp_path / "in" / "orders.py"))
    assert [note.path for note in running.editor.notes] == [file]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize("kind", ["pipe", "folder", "missing", "binary", "sparse", "loop"])
def test_what_has_no_lines_gets_no_note(running: Running, agent: Cli, project: Path, kind: str):
    assert sys.platform != "win32"
    path = project / "x"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "binary":
            path.write_bytes(b"a\nb\n\0\n")
        case "sparse":
            with path.open("wb") as sparse:
                sparse.truncate(600 << 20)
        case "loop":
            path.symlink_to("x")
        case _:
            pass
    assert str(path) in refused(agent, str(path))
    assert running.editor.notes == []


def test_it_is_a_tool_as_the_others_are(running: Running, agent: Cli, file: str):
    configure(running, agents_tools=("openFile",))
    assert "error" in agent.tool("pointOut", path=file, startLine=1, endLine=1, note="x")
    assert running.editor.notes == []
