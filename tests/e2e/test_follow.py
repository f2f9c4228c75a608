"""Following a real agent: the files that it reads and writes are shown beside the chat."""

from __future__ import annotations

import json

from .chatting import Chatting, Room
from .model import Call

LINES = "".join(f"line {number}\n" for number in range(1, 100))


def test_what_the_agent_reads_and_writes_is_shown_beside_and_listed(room: Room, chat: Chatting):
    read, written = room.home.write("read.txt", LINES), room.home.write("written.txt", LINES)
    chat.command("follow")
    script = room.model.script(
        [Call("read_file", {"file_path": str(read)})],
        [Call("read_file", {"file_path": str(written)})],
        [Call("edit", {"file_path": str(written), "old_string": "line 70\n", "new_string": "line seventy\n"})],
    )
    chat.ask(script)
    shown = lambda: [view["file"] for view in chat.state["views"] if view["file"]]  # noqa: E731
    chat.editor.wait("the file that is read", lambda: str(read) in shown() or str(written) in shown())
    chat.editor.wait("focus in the chat", lambda: chat.state["active_view"] == chat.view["id"])
    chat.editor.accept(chat.wait_diff())
    chat.wait_text(script.done)
    chat.editor.wait("the file that was written", lambda: str(written) in shown())
    chat.command("recent_files")
    rows = [item["trigger"] for item in chat.wait_question()["items"]]
    assert {row.partition(":")[0] for row in rows} == {"read.txt", "written.txt"}, json.dumps(rows)
