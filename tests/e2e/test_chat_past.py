"""Going back in a chat with the real `qwen serve`: rewind, edit a prompt, fork, suggestion, effort."""

from __future__ import annotations

import asyncio
import contextlib
import re

from companion.backends.daemon import private

from .chatting import Chatting, Room
from .daemon import VERSIONS, Daemons, talk, until
from .model import Call


def write(room: Room, chat: Chatting, name: str, words: str) -> str:
    """Have a file written in a turn. Returns the sentence that ends the turn."""
    path = str(room.home.workspace / name)
    script = room.model.script([Call("write_file", {"file_path": path, "content": "x = 1\n"})])
    chat.ask(script, words, until=script.done)
    chat.wait_idle()
    return script.done


def test_a_rewind_undoes_files_and_an_earlier_prompt_is_edited(room: Room, chat: Chatting):
    chat.command("chat_mode")
    chat.choose("YOLO")
    first, second = room.home.workspace / "first.py", room.home.workspace / "second.py"
    kept = write(room, chat, first.name, "Write the first")
    chat.write("/context")
    chat.press("enter")
    chat.wait_text("Context Usage")
    chat.wait_idle()
    done = write(room, chat, second.name, "Write the second")
    chat.editor.wait("what waits for a review", lambda: re.search(r"\d files? · Review", chat.bars))
    chat.command("chat_changes")
    items = chat.wait_question("Changed after")["items"]
    assert [item["trigger"] for item in items] == ["second.py", "All of them", "Another turn…"]
    assert (items[0]["annotation"], items[0]["details"]) == ("+1 −0", [str(second)])
    chat.choose("second.py")
    diffs = chat.editor.wait(
        "diffs", lambda: [view for view in chat.state["views"] if view["name"].endswith("Changes of a Turn")]
    )
    assert diffs[0]["text"] == "--- /dev/null\n+++ second.py\n@@ -0,0 +1,1 @@\n+x = 1\n"
    chat.command("chat_rewind")
    items = chat.wait_question("Go back")["items"]
    assert [item["trigger"].partition(" (")[0] for item in items] == ["Write the second", "Write the first"]
    assert "second.py" in items[0]["details"]
    assert "first.py, second.py" in items[1]["details"]
    chat.choose(items[0]["trigger"])
    chat.wait_question("Back to before")
    chat.choose("Edit this prompt, and undo 1 file")
    chat.editor.wait("the prompt", lambda: chat.prompt.startswith("Write the second"))
    chat.editor.wait("rewound text", lambda: "Write the second" not in chat.text)
    assert kept in chat.text
    assert "Context Usage" in chat.text
    assert (first.exists(), second.exists()) == (True, False)
    chat.press("enter")
    chat.wait_text("Write the second", done)
    chat.wait_idle()
    # What was taken away stays away when the conversation is read anew.
    chat.command("chat_reconnect")
    chat.wait_live()
    chat.wait_text(done)
    assert chat.text.count("Write the second") == 1


def test_a_fork_is_a_conversation_of_its_own(room: Room, chat: Chatting):
    script = room.model.speech("To keep in both.")
    chat.ask(script, until="To keep in both.")
    chat.wait_idle()
    chat.editor.wait("session", lambda: chat.session)
    original = chat.session
    chat.command("chat_fork")
    chat.editor.wait("copy", lambda: chat.session not in {"", original})
    chat.wait_live()
    assert "To keep in both." in chat.text
    other = room.model.speech("Only in the copy.")
    chat.ask(other, until="Only in the copy.")
    chat.wait_idle()
    chat.command("chat_sessions")
    shown = chat.wait_question()["items"]
    assert sum("shown here" in item["details"] for item in shown) == 1
    chat.editor.do("answer", panel=None, window=chat.window)


def test_the_effort_is_switched_where_the_daemon_knows_efforts(room: Room, chat: Chatting):
    if room.daemons.version == VERSIONS[0]:
        assert "effort" not in chat.bars
        command = chat.editor.do("command", name="qwen_companion_chat_effort", args=None, window=chat.window)
        assert not command["enabled"]
        return
    chat.command("chat_effort")
    chat.choose("High")
    chat.editor.wait("effort", lambda: "High effort" in chat.bars)


async def test_the_agent_suggests_the_next_prompt(programs: None):
    with contextlib.closing(Daemons.make(suggests=True)) as daemons:
        daemon = await daemons.start()
        daemons.model.suggestion = "run the tests"
        try:
            async with talk(daemon.address, str(daemons.home.workspace)) as here:
                for words in ("One", "Two"):
                    await here.done(await here.ask(daemons.model.speech("Yes."), words))
                assert await until(lambda: here.conversation.status.suggestion) == "run the tests"
        finally:
            await asyncio.to_thread(daemon.end, private.STOP_LIMIT)
