"""The chat as a person uses it: the package in the headless editor, the real `qwen serve`, a scripted model."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psutil
import pytest

from companion.backends.agent import AgentSession
from companion.backends.daemon.client import DaemonAgent
from companion.conversation.snapshot import Turn

from ..parts import closing
from .chatting import Chatting, Room, opened, write_settings
from .clis import NEWEST_QWEN
from .daemon import NEWEST_FIRST, processes, said, talk, written_turn
from .editor import Editor
from .model import Call
from .qwen import Home
from .session import GREET, GREET_BETTER

WORDS = ("word 0", *(f", word {number}" for number in range(1, 60)))
#: A package that makes the editor take 100 ms for each render of a chat.
SLOW = """
import time

import sublime


def plugin_loaded():
    sublime.set_timeout(patch)  # once the other packages are loaded


def patch():
    from QwenCompanion.companion.sublime_text.chat.view import ChatView

    show = ChatView.show

    def slowly(*args, **options):
        print("slowly")
        time.sleep(0.1)
        return show(*args, **options)

    ChatView.show = slowly
"""
QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}


def test_an_answer_streams_and_thoughts_fold(room: Room, chat: Chatting):
    script = room.model.speech(*WORDS, "\n\n```python\nx = 1\n```\n", thoughts=("Let me ", "think."), pause=0.03)
    chat.ask(script)
    early = chat.wait_text("❯ You", f"Please {script.tag}", "◆ Qwen Code", WORDS[3])
    assert WORDS[-1] not in early
    assert "■ Cancel" in chat.bars
    chat.wait_text("".join(WORDS), "x = 1")
    chat.wait_idle()
    assert [text for text in chat.folded() if "Let me think." in text]
    assert "Scripted" in chat.bars
    chat.editor.wait("meter", lambda: "% of 200k" in chat.bars)
    assert chat.prompt == ""
    chat.click("Copy")
    assert chat.editor.state()["clipboard"].strip() == "x = 1"


def test_a_tool_call_is_one_line_that_unfolds(room: Room, chat: Chatting):
    path = room.home.write("greet.py", GREET)
    script = room.model.script([Call("read_file", {"file_path": str(path)})])
    chat.ask(script)
    chat.wait_text(script.done, "✓ Read greet.py")
    [details] = [text for text in chat.folded() if "greet" in text or "file_path" in text or "print" in text]
    view = chat.view
    point = view["text"].index("✓\u00a0Read")
    chat.editor.do("select", view=view["id"], regions=[[point, point]])
    chat.press("enter")
    assert details not in chat.folded()


@pytest.mark.parametrize("accepts", [True, False])
def test_a_change_is_shown_as_a_diff_before_it_is_written(room: Room, chat: Chatting, accepts: bool):
    """Accepting or rejecting the diff is the answer."""
    path = room.home.write(f"change-{accepts}.py", GREET)
    read = Call("read_file", {"file_path": str(path)})
    script = room.model.script([read], [Call("write_file", {"file_path": str(path), "content": GREET_BETTER})])
    chat.ask(script)
    proposal = chat.wait_diff()
    assert proposal["text"] == GREET_BETTER
    chat.wait_text("? Qwen Code asks", f"{path.name} +", "The diff is open in another tab.")
    assert path.read_text(encoding="utf-8") == GREET
    (chat.editor.accept if accepts else chat.editor.reject)(proposal)
    chat.wait_text("✓ Allowed once" if accepts else "✗ Rejected")
    chat.wait_no_diff()
    chat.wait_idle()
    assert path.read_text(encoding="utf-8") == (GREET_BETTER if accepts else GREET)


@pytest.mark.parametrize(("key", "answer"), [("y", "✓ Allowed once"), ("n", "✗ Rejected")])
def test_a_command_needs_permission(room: Room, chat: Chatting, key: str, answer: str):
    made = room.home.workspace / f"made-{key}.txt"
    call = Call("run_shell_command", {"command": f"touch {made.name}", "description": "x", "is_background": False})
    chat.ask(room.model.script([call]))
    chat.wait_text("? Qwen Code asks", f"$ touch {made.name}")
    assert not made.exists()
    chat.answer(key)
    chat.wait_text(answer)
    chat.wait_idle()
    assert made.exists() == (key == "y")
    assert chat.prompt == ""


def test_a_question_is_shown_as_a_form(room: Room, chat: Chatting):
    script = room.model.script([Call("ask_user_question", {"questions": [QUESTION]})])
    chat.ask(script)
    chat.wait_text("Which colour?", "Blue — cold")
    chat.click("Answer")
    chat.wait_question("Which colour?")
    chat.choose("Blue")
    chat.wait_text("✓ Answered", script.done)
    assert "Blue" in str(room.model.requests_of(script)[-1].messages[-1])


def test_escape_cancels_and_the_queue_continues(room: Room, chat: Chatting):
    """Waiting prompts are shown and can be removed."""
    chat.ask(room.model.speech(*WORDS, pause=0.1), until=WORDS[1])
    following, removed = room.model.speech("Next."), room.model.speech("Never.")
    chat.ask(following)
    chat.editor.wait("prompt that waits", lambda: f"waits: Please {following.tag}" in chat.bars)
    chat.ask(removed, "Not this")
    chat.editor.wait("prompt that waits", lambda: f"waits: Not this {removed.tag}" in chat.bars)
    chat.click("remove", -1)
    chat.editor.wait("prompt back", lambda: chat.prompt == f"Not this {removed.tag}")
    chat.press("escape")
    text = chat.wait_text("— Cancelled —", "Next.")
    assert WORDS[-1] not in text
    chat.wait_idle()
    assert "Never." not in chat.text


def test_a_message_for_the_running_turn_is_shown_and_can_be_taken_back(room: Room, chat: Chatting):
    """Ctrl+Enter."""
    chat.ask(room.model.speech(*WORDS, pause=0.1), until=WORDS[1])
    chat.write("Take me back")
    chat.press("ctrl+enter")
    chat.editor.wait("message that waits", lambda: "waits: Take me back" in chat.bars)
    assert chat.prompt == ""
    chat.click("remove")
    chat.editor.wait("message back", lambda: chat.prompt == "Take me back")
    chat.editor.wait("bar without it", lambda: "waits:" not in chat.bars)
    chat.press("escape")
    chat.wait_idle()
    assert "Take me back" not in chat.text


def test_a_chat_reconnects_by_itself_to_a_daemon_that_was_away(room: Room, chat: Chatting):
    """Whatever the person does in the meantime. Unsent prompts are shown and can be taken back."""
    chat.ask(room.model.speech("Before."), until="Before.")
    chat.wait_idle()
    assert room.proxy
    room.proxy.open = False
    try:
        room.cut()
        chat.wait_text("The next try is in")
        chat.click("Reconnect")
        later = room.model.speech("Later.")
        chat.ask(later)
        chat.ask(room.model.speech("Never."), "Not this")
        chat.editor.wait("unsent prompts", lambda: "not sent yet: Not this" in chat.bars)
        chat.click("remove", -1)
        chat.editor.wait("prompt back", lambda: chat.prompt.startswith("Not this"))
        chat.wait_text("The next try is in")
    finally:
        room.proxy.open = True
    chat.wait_text("Before.", "Later.")
    chat.wait_idle()
    assert "not sent yet" not in chat.bars
    assert "Never." not in chat.text


def test_a_failure_of_the_model_is_reported(room: Room, chat: Chatting):
    chat.ask(room.model.speech(failure="the model says no"))
    chat.wait_text("— Failed:", "the model says no")


def test_a_model_that_is_switched_to_becomes_the_default(room: Room, chat: Chatting):
    chat.command("chat_model")
    chat.choose("Scripted-B")
    chat.editor.wait("word of the default", lambda: "default model" in chat.state["status_message"])
    chat.editor.wait("other model", lambda: "Scripted-B" in chat.bars)
    script = room.model.speech("Me.")
    chat.ask(script, until="Me.")
    assert room.model.requests_of(script)[0].body["model"] == "scripted-b"

    def default() -> str:
        return json.loads((room.home.qwen_home / "settings.json").read_text(encoding="utf-8"))["model"]["name"]

    assert default() == "scripted-b"
    chat.command("chat_model")
    chat.choose("Scripted")
    chat.editor.wait("default of before", lambda: default() == "scripted" and "Scripted-B" not in chat.bars)


def test_the_mode_is_switched(room: Room, chat: Chatting):
    path = room.home.workspace / "unasked.txt"
    chat.command("chat_mode")
    chat.choose("Auto Edit")
    chat.editor.wait("other mode", lambda: "Auto Edit" in chat.bars)
    script = room.model.script([Call("write_file", {"file_path": str(path), "content": "x"})])
    chat.ask(script, until=script.done)
    assert path.exists()


def test_nothing_is_lost_or_repeated_when_the_connection_drops(room: Room, chat: Chatting):
    """Compared with the daemon's own transcript on disk."""
    chat.ask(room.model.speech(*WORDS, thoughts=("Hm.",) * 5, pause=0.05))
    for part in (5, 20, 40):
        chat.wait_text(WORDS[part])
        room.cut()
    text = chat.wait_text("".join(WORDS))
    chat.wait_idle()
    assert (text.count(WORDS[30]), text.count("Hm.Hm.Hm.Hm.Hm.")) == (1, 1)

    async def written() -> Turn:
        async with closing(DaemonAgent(room.address)) as client:
            session = AgentSession(id=chat.session, folder=await client.connect(str(room.home.workspace)))
            return await written_turn(client, session, lambda turn: WORDS[-1] in said(turn))

    turn = room.loop.run(written())
    assert said(turn) in text
    assert said(turn) == "".join(WORDS)


def test_prompts_and_answers_of_another_client_are_shown(room: Room, chat: Chatting):
    """The diff closes, and a message says who answered."""
    first = room.model.speech("For both.")
    chat.ask(first, until="For both.")
    chat.editor.wait("session", lambda: chat.session)
    path = room.home.workspace / "shared.txt"
    script = room.model.script([Call("write_file", {"file_path": str(path), "content": "shared\n"})])

    async def other() -> None:
        async with talk(room.address, str(room.home.workspace), session_id=chat.session) as there:
            assert said(there.conversation.turns[-1]) == "For both."
            key = await there.ask(script, "From elsewhere")
            asked = await there.asked()
            await asyncio.to_thread(chat.wait_diff)
            await there.vote(asked, "allow_once")
            await there.done(key)

    room.loop.run(other())
    chat.wait_text(f"From elsewhere {script.tag}", "✓ Allowed once by another client", script.done)
    chat.wait_no_diff()
    assert path.read_text(encoding="utf-8") == "shared\n"


def test_sessions_are_listed_renamed_exported_resumed_and_deleted(room: Room, chat: Chatting):
    script = room.model.speech("To keep.")
    chat.ask(script, until="To keep.")
    chat.wait_idle()
    chat.editor.wait("session", lambda: chat.session)
    kept = chat.session

    def listed() -> list[str]:
        chat.command("chat_sessions")
        rows = [item["trigger"] for item in chat.wait_question()["items"]]
        chat.editor.do("answer", panel=None, window=chat.window)
        return rows

    def pick(title: str, action: str) -> None:
        # The daemon answers from what it has read, up to 2 s ago (docs/protocols/qwen-serve.md#session-list).
        chat.editor.wait(f"row {title}", lambda: title in listed())
        chat.command("chat_sessions")
        chat.choose(title)
        chat.choose(action)

    chat.command("chat_sessions")
    title = next(item["trigger"] for item in chat.wait_question()["items"] if "shown here" in item["details"])
    chat.choose(title)
    chat.choose("Rename…")
    chat.wait_question("Title")
    chat.type(f"Mine {kept}")
    chat.editor.wait("new title", lambda: "Renamed" in chat.state["status_message"])

    pick(f"Mine {kept}", "Export…")
    chat.choose("Markdown")
    exported = chat.editor.wait(
        "export", lambda: [view for view in chat.state["views"] if view["name"] == f"Mine {kept}.md"]
    )
    assert "To keep." in exported[0]["text"]

    chat.command("chat_new")
    chat.editor.wait("new conversation", lambda: "To keep." not in chat.text)
    chat.wait_live()
    pick(f"Mine {kept}", "Open")
    chat.wait_text("To keep.", f"Please {script.tag}")
    assert chat.text.count("To keep.") == 1

    chat.editor.do("dialogs", answers=[True])
    pick(f"Mine {kept}", "Delete…")
    chat.editor.wait("new conversation", lambda: "To keep." not in chat.text)
    chat.wait_live()
    chat.editor.wait("deleted row", lambda: f"Mine {kept}" not in listed())


def test_the_page_about_the_daemon_says_where_everything_is(room: Room, chat: Chatting):
    chat.command("daemon")
    page = chat.editor.wait(
        "whole page", lambda: next((view for view in chat.state["views"] if "## Checks" in view["text"]), None)
    )
    assert page
    for words in (
        "Host: this computer",
        f"Qwen Code: {room.daemons.version}",
        "## MCP servers",
        "Scripted (current)",
        "## Trust\n\n- This folder: trusted, Qwen Code's setting for trusting folders is off\n",
        "## Permission rules\n\nNone.\n",
    ):
        assert words in page["text"]
    assert str(room.home.workspace) in page["text"]
    chat.editor.do("close_view", view=page["id"])


def test_a_conversation_survives_a_reload_and_a_restart(room: Room):
    """Once while a turn is running."""
    chat = room.window()
    chat.wait_live()
    slow = room.model.speech(*WORDS, pause=0.05)
    chat.ask(slow, until=WORDS[2])
    chat.write("What I am writing")
    room.editor.do("reload_package")
    text = chat.wait_text("".join(WORDS))
    assert text.count("Files, commands and keys") == text.count(f"Please {slow.tag}") == text.count(WORDS[1] + ",") == 1
    assert chat.prompt == "What I am writing"
    chat.wait_idle()
    chat.wait_live()
    before, session = chat.text, chat.session
    again = room.restart(chat)
    again.wait_text("".join(WORDS))
    again.wait_live()
    assert again.session == session
    # The daemon has timed the turn itself, so it may have another number of seconds.
    assert re.sub(r"— \d+ s ", "— s ", again.text) == re.sub(r"— \d+ s ", "— s ", before)
    script = room.model.speech("Still here.")
    again.write(script.tag)
    again.press("enter")
    again.wait_text("Still here.")


def test_a_new_conversation_survives_a_reload(room: Room, chat: Chatting):
    before = room.model.speech("In the first.")
    chat.ask(before, until="In the first.")
    chat.wait_idle()
    first = chat.editor.wait("session", lambda: chat.session)
    chat.command("chat_new")
    chat.editor.wait("new conversation", lambda: "In the first." not in chat.text and not chat.session)
    room.editor.do("reload_package")
    chat.wait_live()
    after = room.model.speech("In the second.")
    chat.ask(after)
    assert "In the first." not in chat.wait_text("In the second.")
    assert chat.editor.wait("session", lambda: chat.session) != first


def test_the_token_is_in_no_view_no_log_and_no_list_of_processes(room: Room, chat: Chatting):
    """After everything that the tests above have done."""
    token = room.address.token
    assert token
    state = json.dumps(room.editor.state(text=True))
    logged = "\n".join(editor.everything() for editor in room.editors)
    assert "Files, commands and keys" in chat.text
    assert "Files, commands and keys" in state
    assert logged
    for text in (state, logged, processes()):
        assert token.reveal() not in text


def test_a_wrong_token_and_a_wrong_folder_are_reported(room: Room):
    """In the chat itself, without retries."""
    elsewhere = room.home.root / "elsewhere"
    elsewhere.mkdir()
    chat = room.new_window(elsewhere)
    chat.wait_text(f"works in {room.home.workspace}", str(elsewhere))
    assert "Reconnect" in chat.bars
    chat.close()
    assert room.proxy
    write_settings(room.home, chat_enabled=True, daemon__url=room.proxy.address.url)
    editor = room.start(token="wrong-secret")
    chat = opened(editor, editor.state()["windows"][0]["id"])
    text = chat.wait_text("refuses the token")
    assert "wrong-secret" not in text + chat.bars + editor.everything()
    editor.quit()


class NotADaemon(BaseHTTPRequestHandler):
    """Another server, which answers every request with 404."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name is the base class's)
        pass


@pytest.fixture
def stranger() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), NotADaemon)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_server_that_is_no_daemon_is_reported(stranger: str):
    cases = {
        f"{stranger} is not `qwen serve`": {"daemon__url": stranger},
        "http://127.0.0.1:9": {"daemon__url": "http://127.0.0.1:9"},
        "no-such-qwen": {"qwen_command": ["no-such-qwen"]},
    }
    for words, settings in cases.items():
        with Home.make() as home:
            write_settings(home, chat_enabled=True, **settings)
            with Editor(home, [home.workspace]) as editor:
                opened(editor, editor.state()["windows"][0]["id"]).wait_text("⚠", words)


@pytest.mark.parametrize("version", NEWEST_FIRST)
def test_a_private_daemon_lives_as_long_as_its_window(programs: None, version: str):
    """It survives a reload, and is started again if it is killed in the middle of a turn."""
    with contextlib.closing(Room(version, managed=True)) as room:
        chat = room.new_window()
        chat.wait_live()
        [first] = room.private_daemons()
        secrets = [first.environ()["QWEN_SERVER_TOKEN"]]
        chat.ask(room.model.speech("First."), until="First.")
        room.editor.do("reload_package")
        chat.wait_live()
        chat.wait_text("First.")
        assert room.private_daemons() == [first]

        interrupted = room.model.speech(*WORDS, pause=0.1)
        chat.ask(interrupted, until=WORDS[1])
        first.kill()
        text = chat.wait_text("First.", interrupted.tag, "— Interrupted:")
        assert text.count("First.") == text.count(interrupted.tag) == 1
        chat.wait_live()
        [second] = room.private_daemons()
        secrets.append(second.environ()["QWEN_SERVER_TOKEN"])
        third = room.model.speech("Third.")
        chat.ask(third, until="Third.")

        assert "`qwen serve` has ended unexpectedly. It is started again." in room.editor.everything()
        shown = json.dumps(room.editor.state(text=True)) + room.editor.everything() + processes()
        assert "Third." in shown
        assert [secret for secret in secrets if secret in shown] == []
        chat.close()
        room.editor.wait("end of the daemon", lambda: not room.private_daemons())


def test_no_private_daemon_outlives_its_editor(programs: None):
    """It ends when the editor quits, or with the next start if the editor was killed."""
    with contextlib.closing(Room(NEWEST_QWEN, managed=True)) as room:
        room.window().wait_live()
        assert len(room.private_daemons()) == 1
        room.editor.quit()
        assert room.private_daemons() == []

        room.editor = room.start()
        room.window().wait_live()
        [left] = room.private_daemons()
        room.editor.crash()
        assert room.private_daemons() == [left]
        room.editor = room.start()
        chat = room.window()
        chat.editor.wait("end of what was left", lambda: left not in room.private_daemons())
        chat.wait_live()


def test_a_slow_editor_gets_the_whole_text(room: Room):
    """10,000 pieces and 100 ms for each render; the reader isn't delayed and the memory doesn't grow."""
    pieces = [f"{number:06d} " for number in range(10_000)]
    slow = room.home.root / "ZSlow"
    slow.mkdir(exist_ok=True)
    (slow / "slow.py").write_text(SLOW, encoding="utf-8")
    write_settings(room.home, chat_enabled=True, daemon__url=room.address.url)
    editor = room.start(slow)
    chat = opened(editor, editor.state()["windows"][0]["id"])
    chat.wait_live()
    process = psutil.Process(editor.pid)
    before = process.memory_info().rss
    script = room.model.speech(*pieces)
    started = time.monotonic()
    chat.ask(script)
    text = chat.wait_text(pieces[-1])
    assert "".join(pieces).rstrip() in text
    # A render for each piece would take 1,000 s.
    assert time.monotonic() - started < 120
    assert process.memory_info().rss - before < 100_000_000
    assert editor.everything().count("slowly") > 5
    editor.quit()


def test_an_excluded_file_never_reaches_the_model(room: Room, chat: Chatting):
    """Neither by itself while it is active and selected, nor if the person names it."""
    secret = room.home.write(".env", "PASSWORD=hunter2\n")
    view = chat.editor.open_file(secret, window=chat.window)
    chat.editor.do("select", view=view, regions=[[0, 16]])
    script = room.model.script()
    chat.ask(script, until=script.done)
    chat.wait_idle()
    refused = room.model.script()
    chat.write(f"Read @.env {refused.tag}")
    chat.press("enter")
    chat.editor.wait(
        "refusal", lambda: any(".env stays here" in each["text"] for each in chat.editor.state()["messages"])
    )
    chat.editor.wait("prompt", lambda: "@.env" in chat.prompt)
    assert "❯ You\nRead" not in chat.text
    told = [json.dumps(request.messages) for request in room.model.requests]
    assert not any("hunter2" in one or str(secret) in one for one in told)
    assert room.model.requests_of(refused) == []
    said = [request.last_user_text() for request in room.model.requests_of(script)]
    assert said
    assert not any(".env" in one for one in said)
