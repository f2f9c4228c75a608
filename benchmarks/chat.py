"""How soon the first piece of an answer is on the screen, and how much UI-thread time a long answer takes."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from companion.backends.daemon.decoder import decode
from companion.chats.transcript.transcript import Transcript
from companion.conversation.conversation import Conversation
from companion.conversation.snapshot import Locality
from tests.unit.fake_daemon import TOKEN

from .daemon import piece, turn
from .editor import ROOT, Editor, sublime, views

ANSWERS = 15
FRAMES = 100
CHUNKS = 10_000
TOOLS = 200
LOOK = 0.001
"""Seconds between two looks at the companion's loop."""
PAUSE = 0.002
"""Seconds between two pieces. That makes 500 a second, more than any model sends."""


class Held:
    """The total time that the UI thread was busy, in seconds."""

    def __init__(self, editor: Editor) -> None:
        self.seconds = 0.0
        self._ran = editor.app.loop.stopwatch.ran
        editor.app.loop.stopwatch.ran = self._add  # type: ignore[method-assign]

    def _add(self, seconds: float) -> None:
        self.seconds += seconds
        self._ran(seconds)


class Chat:
    """The window's chat, and a daemon in a process of its own."""

    def __init__(self, editor: Editor, folder: str) -> None:
        self.editor = editor
        self.prompts = 0
        command = [sys.executable, "-m", "benchmarks.daemon", os.path.realpath(folder)]
        self.daemon = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.daemon.stdout
        self._told: IO[str] = self.daemon.stdout
        address = f"http://127.0.0.1:{self._read()['port']}"
        os.environ["QWEN_SERVER_TOKEN"] = TOKEN
        settings = {"chat_enabled": True, "daemon.url": address}
        file = Path(sublime.packages_path(), "User", "QwenCompanion.sublime-settings")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings), encoding="utf-8")

    def _read(self) -> dict[str, Any]:
        return json.loads(self._told.readline())

    def open(self) -> None:
        """Open the chat and wait until it is connected."""
        window = sublime.windows()[0]
        window.run_command("qwen_companion_chat")
        self.editor.wait(lambda: views("chat"))
        self.view = views("chat")[0]
        self.editor.wait(lambda: "Files, commands and keys" in self.text)

    @property
    def text(self) -> str:
        """The text of the chat's view."""
        return self.view.substr(sublime.Region(0, self.view.size()))

    def ask(self, chunks: int, pause: float) -> str:
        """Send a prompt that the daemon answers with `chunks` pieces, and return the prompt's id."""
        self.prompts += 1
        window = self.view.window()
        assert window
        wish = json.dumps({"chunks": chunks, "pause": pause})
        window.run_command("qwen_companion_chat_send", {"text": f"Say {wish}"})
        return f"p{self.prompts}"

    def ask_tools(self, count: int, pause: float) -> None:
        """Send a prompt that the daemon answers with calls of tools."""
        self.prompts += 1
        window = self.view.window()
        assert window
        window.run_command("qwen_companion_chat_send", {"text": f"Do {json.dumps({'tools': count, 'pause': pause})}"})

    def resume(self, session: str) -> None:
        """Show another session."""
        package = sys.modules["QwenCompanion.companion.sublime_text.package"]
        number = self.view.id()
        package.adapter().thread.post(lambda companion: companion.chats.show(number, session))

    def begun(self) -> float:
        """When the daemon began its latest answer, in seconds of the performance counter."""
        return self._read()["begun"]

    def close(self) -> None:
        """End the daemon."""
        self.daemon.kill()
        self.daemon.wait()


def first_chunk(chat: Chat) -> float:
    """Send a prompt, and return the ms from the daemon's first piece until it is on the screen."""
    prompt = chat.ask(1, 0)
    begins = f"{prompt} begins."
    before = chat.view.size()
    # Searching the whole text every millisecond would distort the measurement.
    chat.editor.wait(lambda: chat.view.size() != before and begins in chat.text[-500:])
    shown = time.perf_counter()
    took = (shown - chat.begun()) * 1000
    chat.editor.rest(0.2)
    return took


def long_answer(chat: Chat, held: Held) -> float:
    """The UI-thread time of an answer of 10,000 pieces, in ms."""
    chat.editor.rest(1)
    before = held.seconds
    chat.ask(CHUNKS, PAUSE)
    last = piece(CHUNKS - 1).strip()
    chat.editor.wait(lambda: last in chat.view.substr(sublime.Region(chat.view.size() - 500, chat.view.size())))
    chat.begun()
    chat.editor.rest(0.5)
    took = (held.seconds - before) * 1000
    if "".join(piece(number) for number in range(1, CHUNKS)).strip() not in chat.text:
        raise RuntimeError("the text is not whole")
    return took


def tools(chat: Chat, held: Held) -> float:
    """The UI-thread time of 200 calls of tools in one turn, in ms."""
    chat.editor.rest(1)
    before = held.seconds
    chat.ask_tools(TOOLS, PAUSE)
    chat.editor.wait(lambda: f"file{TOOLS - 1}.py" in chat.view.substr(sublime.Region(chat.view.size() - 2000, 10**9)))
    chat.begun()
    chat.editor.rest(0.5)
    return (held.seconds - before) * 1000


def opened(chat: Chat) -> tuple[float, float, float]:
    """The ms until the end of a history of 3,000 turns is on the screen, and the longest steps of UI and companion."""
    gaps = Gaps()
    chat.editor.rest(0.5)
    chat.editor.take_stall_ms()
    gaps.begin()
    begun = time.perf_counter()
    chat.resume("long")
    chat.editor.wait(lambda: "number 2999." in chat.text)
    took = (time.perf_counter() - begun) * 1000
    chat.editor.rest(0.3)
    return took, chat.editor.take_stall_ms(), gaps.end()


def scrolled(chat: Chat) -> float:
    """The longest step of the UI thread, in ms, while the person scrolls up through 10 pages of earlier turns."""
    chat.editor.rest(0.5)
    chat.editor.take_stall_ms()
    window = chat.view.window()
    assert window
    for _ in range(10):
        before = chat.view.size()
        window.run_command("qwen_companion_chat_earlier")
        chat.editor.wait(lambda before=before: chat.view.size() > before)
    return chat.editor.take_stall_ms()


class Gaps:
    """The longest time in which the companion's loop did nothing else."""

    def __init__(self) -> None:
        self._longest = 0.0
        self._last = 0.0
        self._is_over = False

    def begin(self) -> None:
        """Look every ms from now on."""
        package = sys.modules["QwenCompanion.companion.sublime_text.package"]
        package.adapter().thread.post(lambda _: self._look())

    def end(self) -> float:
        """The longest time, in ms."""
        self._is_over = True
        return self._longest * 1000

    def _look(self) -> None:
        now = time.perf_counter()
        self._longest = max(self._longest, now - self._last - LOOK if self._last else 0.0)
        self._last = now
        if not self._is_over:
            asyncio.get_running_loop().call_later(LOOK, self._look)


def conversation(turns: int) -> Conversation:
    """A conversation of that many turns, each with a thought, an answer with a code block, and a tool call."""
    made = Conversation()
    events = (event for each in range(turns) for event in turn(each))
    for number, event in enumerate(events, 1):
        made.apply(decode({"id": number, **event}))
    return made


def frame(turns: int) -> float:
    """The median ms of a frame for a piece of an answer after that many turns."""
    made, transcript, took = conversation(turns), Transcript(), list[float]()
    transcript.update(made.whole_snapshot(), Locality())
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "word "}}
    for _ in range(FRAMES):
        made.apply(decode({"type": "session_update", "promptId": "last", "data": {"update": update}}))
        begun = time.perf_counter()
        transcript.update(made.snapshot(), Locality())
        took.append((time.perf_counter() - begun) * 1000)
    return statistics.median(took)


def figures() -> dict[str, float]:
    """The median of 15 first pieces; one answer of 10,000; frames in chats of several lengths."""
    frames = {"chat.frame_ms.10": frame(10), "chat.frame_ms.200": frame(200), "chat.frame_ms.3000": frame(3000)}
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(folder)
        chat = Chat(editor, folder)
        try:
            held = Held(editor)
            editor.start()
            chat.open()
            first = [first_chunk(chat) for _ in range(ANSWERS)]
            print(json.dumps({"first": first}), file=sys.stderr)
            ten = long_answer(chat, held)
            calls = tools(chat, held)
            begun, step, loop = opened(chat)
            pages = scrolled(chat)
        finally:
            chat.close()
        editor.leave()
    return {
        "chat.first_chunk_ms": statistics.median(first),
        "chat.10k_chunks_ui_ms": ten,
        "chat.tools_200_ui_ms": calls,
        "chat.open_3000_ms": begun,
        "chat.open_3000_stall_ms": step,
        "chat.open_3000_loop_ms": loop,
        "chat.earlier_stall_ms": pages,
        **frames,
    }
