"""All changes of a turn in one list with their diffs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.chats.history import _changes
from companion.conversation.failures import ChatError
from companion.conversation.snapshot import Turn

from ..fake_daemon import Stream, until
from .chatting import CHAT, live
from .test_chats_past import POINTS, asked, point, wrote

LINES = "".join(f"{number}\n" for number in range(1, 31))


def diff(old: str, new: str) -> str:
    [turn] = _changes([asked("a", 1, wrote("/p/sub/a.py", old, new))], (), "/p", {})
    return turn.files[0].diff


def write(stream: Stream, number: int, path: str, old: str, new: str, status: str = "completed") -> None:
    """A tool writes a file."""
    content = [{"type": "diff", "path": path, "oldText": old, "newText": new}]
    call = {"sessionUpdate": "tool_call_update", "toolCallId": f"t{number}", "status": status, "content": content}
    stream.send("session_update", number, "p", update=call)


def test_the_files_of_each_turn_are_listed_the_latest_turn_first():
    turns = [
        asked("a", 1, wrote("/p/a.py", "", "1\n2\n")),
        asked("b", 2),
        asked("c", 3, wrote("/p/a.py", "1\n2\n", "1\n"), wrote("/elsewhere/b.py", "x\n", "y\n")),
    ]
    found = _changes(turns, (), "/p", {})
    assert [(turn.turn, turn.text, turn.inserted, turn.deleted) for turn in found] == [
        ("c", "Do c", 1, 2),
        ("a", "Do a", 2, 0),
    ]
    assert [(file.name, file.path, file.inserted, file.deleted) for file in found[0].files] == [
        ("a.py", "/p/a.py", 0, 1),
        ("/elsewhere/b.py", "/elsewhere/b.py", 1, 1),
    ]


def test_a_turn_without_a_prompt_has_changes_too():
    assert _changes([Turn("start", "done", (wrote("/p/a", "", "1"),))], (), "/p", {})[0].text == ""


def test_a_diff_has_the_changes_with_three_lines_around_them():
    new = LINES.replace("10\n", "ten\n").replace("14\n", "").replace("30\n", "30\n31\n")
    assert diff(LINES, new) == (
        "--- sub/a.py\n+++ sub/a.py\n"
        "@@ -7,11 +7,10 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n-14\n 15\n 16\n 17\n"
        "@@ -28,3 +27,4 @@\n 28\n 29\n 30\n+31\n"
    )


def test_a_new_file_and_one_that_is_gone_have_lines_of_one_kind():
    assert diff("", "1\n2\n") == "--- /dev/null\n+++ sub/a.py\n@@ -0,0 +1,2 @@\n+1\n+2\n"
    assert diff("1\n2\n", "") == "--- sub/a.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n"


def test_a_diff_has_no_control_characters():
    assert "\x1b" not in diff("a\n", "\x1b[31mb\n")


TEXTS = st.lists(st.sampled_from("abcdefgh"), max_size=30).map(lambda lines: "".join(f"{line}\n" for line in lines))


@given(TEXTS, TEXTS)
def test_git_applies_every_diff(tmp_path_factory: pytest.TempPathFactory, old: str, new: str):
    if old == new:
        return
    folder = tmp_path_factory.mktemp("p")
    file = folder / "sub" / "a.py"
    if old:
        file.parent.mkdir()
        file.write_text(old, encoding="utf-8")
    command = ["git", "apply", "-p0", "-"]
    subprocess.run(command, cwd=folder, input=diff(old, new), text=True, check=True)
    assert (file.read_text(encoding="utf-8") if file.exists() else "") == new


async def test_the_changes_of_a_conversation_are_told_with_how_many_files_the_last_turn_changed(project: Path) -> None:
    async with live(project, "session_rewind", routes={POINTS: (200, {"snapshots": [point(0, files=3)]})}) as room:
        with pytest.raises(ChatError, match="No turn has changed a file"):
            await room.chats[CHAT].changes.by_turn()
        content = {"type": "text", "text": "Write"}
        room.stream.send("session_update", 1, "p", update={"sessionUpdate": "user_message_chunk", "content": content})
        write(room.stream, 2, "/p/a", "", "1\n")
        write(room.stream, 3, "/p/a", "1\n", "2\n")
        write(room.stream, 4, "/p/b", "x", "y", "failed")
        await until(lambda: room.render.status.running)
        assert room.render.status.changed == 0
        room.stream.send("turn_complete", 5, "p", stopReason="end_turn")
        await until(lambda: room.render.status.changed == 1)
        [turn] = await room.chats[CHAT].changes.by_turn()
        assert [(file.path, file.inserted) for file in turn.files] == [("/p/a", 1)]
        assert turn.is_untold  # the daemon has counted three files
