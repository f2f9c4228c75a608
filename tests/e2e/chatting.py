"""A chat in the headless editor with a real `qwen serve`, and what a person does in it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import psutil

from companion.backends.daemon import private
from companion.backends.daemon.address import Address

from .cli import STEP
from .daemon import Daemons, Proxy
from .demo import plain
from .editor import Editor, Told
from .model import Script
from .own import kind_of, value
from .qwen import Home

T = TypeVar("T")

MARK = "\n❯\u00a0"


class Loop:
    """An event loop on a thread of its own, so that it continues while a test waits for the editor."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(5 * STEP)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STEP)
        self._loop.close()


def write_settings(home: Home, **settings: Any) -> None:
    """Write the person's settings for the package. A "." in a key is spelled "__"."""
    file = home.home / ".config" / "sublime-text" / "Packages" / "User" / "QwenCompanion.sublime-settings"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({key.replace("__", "."): value for key, value in settings.items()}), encoding="utf-8")


class Chatting:
    """A window with a chat, and what a person does in it. `tab` is the id of its view if the window has several."""

    def __init__(self, editor: Editor, window: int, tab: int | None = None) -> None:
        self.editor = editor
        self.window = window
        self.tab = tab

    # What is seen

    @property
    def state(self) -> Told:
        """The state of the window, with the texts of its views."""
        found = [told for told in self.editor.state(text=True)["windows"] if told["id"] == self.window]
        assert found, f"there is no window {self.window}"
        return found[0]

    @property
    def view(self) -> Told:
        """The chat's view."""
        views = [view for view in self.state["views"] if kind_of(self.editor.home, view) == "chat"]
        [view] = [view for view in views if self.tab in {None, view["id"]}]
        return view

    @property
    def text(self) -> str:
        """The transcript, as it looks: the chat's own lines have a no-break space behind their sign."""
        return self.view["text"].rpartition(MARK)[0].replace("\u00a0", " ")

    @property
    def prompt(self) -> str:
        """The text of the prompt."""
        return self.view["text"].rpartition(MARK)[2]

    @property
    def bars(self) -> str:
        """The text of the phantoms."""
        return "\n".join(plain(phantom["html"]) for phantom in self.view["phantoms"])

    @property
    def session(self) -> str:
        """The id of the session that is shown; empty until there is something in it."""
        return str(value(self.editor.home, self.view, "session") or "")

    @property
    def diffs(self) -> list[Told]:
        """The proposals that are open in this window."""
        return [view for view in self.state["views"] if kind_of(self.editor.home, view) == "proposal"]

    def folded(self) -> list[str]:
        """The texts that are folded."""
        view = self.view
        return [view["text"][start:end] for start, end in view["folds"]]

    def wait_text(self, *texts: str, limit: float = STEP) -> str:
        """Wait until the transcript holds all of these texts, and return the transcript."""

        def found() -> str:
            text = self.text
            return text if all(part in text for part in texts) else ""

        return self.editor.wait(f"{texts} in the chat, which was:\n{self.text}\n{self.bars}\n", found, limit)

    def wait_live(self) -> None:
        """Wait until the chat is connected."""
        self.editor.wait(
            f"connection of the chat, which is:\n{self.text}\n",
            lambda: (bars := self.bars) and "Scripted" in bars and "Reconnect" not in bars,
        )

    def wait_idle(self) -> None:
        """Wait until no turn runs."""
        self.editor.wait("end of the turn", lambda: "■ Cancel" not in self.bars)

    def wait_question(self, caption: str = "") -> Told:
        """Wait until a panel asks something."""

        def asked() -> Told | None:
            question = self.state["question"]
            return question if question and caption in question["caption"] else None

        question = self.editor.wait(f"panel {caption}", asked)
        assert question
        return question

    def wait_diff(self) -> Told:
        """Wait for a diff in this window, and return its proposal."""
        [proposal] = self.editor.wait("diff", lambda: self.diffs)
        return proposal

    def wait_no_diff(self) -> None:
        self.editor.wait("closed diff", lambda: not self.diffs)

    # What is done

    def command(self, name: str, **arguments: Any) -> None:
        """Run one of the chat's commands, by the part of its name after the common prefix."""
        self.editor.do("focus", window=self.window)
        told = self.editor.do("command", name=f"qwen_companion_{name}", args=arguments or None, window=self.window)
        assert told["enabled"], name

    def press(self, *keys: str) -> None:
        """Press keys in the chat."""
        self.editor.do("focus", view=self.view["id"])
        for key in keys:
            self.editor.do("press", keys=key, view=self.view["id"])

    def answer(self, key: str) -> None:
        """Answer a question of the chat with a key.

        Keys count only once the question has been visible for a second, during which the editor must not have hung. One
        that has come too early is a letter in the prompt: it is removed, and pressed again later.
        """
        self.editor.do("focus", view=self.view["id"])  # the second begins

        def answered() -> bool:
            time.sleep(1.1)
            view = self.view["id"]
            self.editor.do("focus", view=view)
            if self.editor.do("press", keys=key, view=view)["command"]:
                return True
            self.editor.do("command", name="left_delete", view=view)
            return False

        self.editor.wait(f"answer {key}", answered)

    def write(self, text: str) -> None:
        """Type into the prompt."""
        self.editor.do("focus", view=self.view["id"])
        self.editor.do("insert", text=text, view=self.view["id"])

    def ask(self, script: Script, words: str = "Please", until: str = "") -> None:
        """Write a prompt and send it, and wait until the transcript holds a text."""
        self.write(f"{words} {script.tag}")
        self.press("enter")
        if until:
            self.wait_text(until)

    def choose(self, row: str) -> None:
        """Choose the row of the panel that has this caption."""
        number = [item["trigger"] for item in self.wait_question()["items"]].index(row)
        self.editor.do("answer", panel=number, window=self.window)

    def type(self, text: str) -> None:
        """Answer the panel with a text."""
        self.editor.do("answer", panel=text, window=self.window)

    def click(self, words: str, at: int = 0) -> None:
        """Click a button of the chat. `at` is its index among those with these words."""
        view = self.view
        found = [
            part.partition('"')[0]
            for phantom in view["phantoms"]
            for part in phantom["html"].split('href="')[1:]
            if words in plain(part.partition(">")[2].partition("</a>")[0])
        ]
        assert found, (words, self.bars)
        self.editor.do("click", view=view["id"], href=found[at])

    def close(self) -> None:
        self.editor.do("close_window", window=self.window)


def opened(editor: Editor, window: int) -> Chatting:
    """Open the chat of a window."""
    chatting = Chatting(editor, window)
    chatting.command("chat")
    editor.wait("chat", lambda: any(kind_of(editor.home, view) == "chat" for view in chatting.state["views"]))
    return chatting


class Room:
    """A home with an editor. Its chats use one running daemon, or a private one each.

    Args:
        managed: whether the package starts the daemons.
        settings: further settings of the package; they override the usual ones.
    """

    def __init__(self, version: str, *, managed: bool = False, **settings: Any) -> None:
        self.daemons = Daemons.make(version)
        self.home = self.daemons.home
        self.model = self.daemons.model
        self.loop = Loop()
        self.daemon: private.Daemon | None = None
        self.proxy: Proxy | None = None
        self.editors: list[Editor] = []
        """All editors that were started."""
        try:
            chosen: dict[str, Any] = {"chat_enabled": True, "qwen_command": self.daemons.command, "debug": True}
            if not managed:
                self.daemon = self.loop.run(self.daemons.start())
                self.proxy = self.loop.run(Proxy(self.daemon.address).__aenter__())
                chosen |= {"daemon__url": self.proxy.address.url}
            write_settings(self.home, **chosen | settings)
            self.editor = self.start()
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> Address:
        """The address of the daemon itself, not of the proxy in front of it."""
        assert self.daemon
        return self.daemon.address

    def start(self, *also: Path, token: str | None = None) -> Editor:
        """Start an editor, perhaps with further packages, with the token of the daemon or another one."""
        known = self.home.environment()
        variables = {name: value for name, value in self.daemons.environment.items() if name not in known}
        own = self.daemon.address.token.reveal() if self.daemon and self.daemon.address.token else ""
        if told := own if token is None else token:
            variables["QWEN_SERVER_TOKEN"] = told
        editor = Editor(self.home, [self.home.workspace], also=also, variables=variables)
        self.editors.append(editor)
        return editor

    def restart(self, chat: Chatting) -> Chatting:
        """Quit the editor and start it again with the chat's view."""
        view = chat.view
        self.editor.quit()
        self.editor = self.start()
        window = self.editor.state()["windows"][0]["id"]
        self.editor.do("new_file", window=window, text=view["text"], settings=view["settings"])
        # After a restart the package finds the view when it is loaded.
        self.editor.do("reload_package")
        return Chatting(self.editor, window)

    def window(self) -> Chatting:
        """The editor's first window, with its chat open."""
        return opened(self.editor, self.editor.state()["windows"][0]["id"])

    def new_window(self, folder: Path | None = None) -> Chatting:
        """Open one more window, on the project's folder or on another, with a chat of its own."""
        folders = [str(folder or self.home.workspace)]
        return opened(self.editor, self.editor.do("new_window", folders=folders)["window"])

    def cut(self) -> None:
        """Cut all connections to the daemon."""

        async def cut() -> None:
            assert self.proxy
            self.proxy.cut()

        self.loop.run(cut())

    def private_daemons(self) -> list[psutil.Process]:
        """The daemons that the package has started, whatever their state."""
        return [process for process in psutil.process_iter() if self._is_private(process)]

    def _is_private(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            line = process.cmdline()
            return "serve" in line and str(self.home.workspace) in line and self._is_not_ours(process)
        return False

    def _is_not_ours(self, process: psutil.Process) -> bool:
        return self.daemon is None or process.pid != self.daemon.pid

    def close(self) -> None:
        for editor in self.editors:
            editor.kill()
        for process in self.private_daemons():
            private.Daemon(process.pid, process.create_time(), "", Address("http://127.0.0.1:1")).end()
        if self.proxy:
            self.loop.run(self.proxy.__aexit__())
        if self.daemon:
            self.daemon.end()
        self.loop.close()
        self.daemons.close()
