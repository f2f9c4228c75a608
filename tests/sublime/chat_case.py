"""What the tests of the chat share: a chat on the screen, and no daemon. What the companion is told is written down."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from inspect import iscoroutinefunction, signature
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, at_once, loaded, text_of

MARK = "\n❯\u00a0"


PARTS = {
    "approvals": "permissions.Approvals",
    "changes": "history.ChatChanges",
    "connection": "connection.ChatConnection",
    "history": "history.ChatHistory",
    "renderer": "chat.Renderer",
    "sessions": "history.ChatSessions",
    "sign_in": "sign_in.ChatSignIn",
    "tasks": "tasks.ChatTasks",
}
"""The classes of a chat's parts."""


class _Part:
    """Stands in for the chats, for one of them, or for one of its parts."""

    def __init__(self, recorder: Recorder, kind: str, prefix: str = "", *about: Any) -> None:
        module, _, name = kind.partition(".")
        self._recorder = recorder
        self._kind = getattr(loaded(f"chats.{module}"), name)
        self._prefix = prefix
        self._about = about

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._kind, name)
        is_question, form = iscoroutinefunction(method), signature(method)

        def call(*args: Any, **named: Any) -> Any:
            form.bind(None, *args, **named)  # what the real ones would refuse is refused here
            return self._recorder.call(f"{self._prefix}{name}", (*self._about, *args), named, is_question=is_question)

        return call


class Recorder:
    """Stands in for the companion's chats: keeps every call, answers the questions with what a test has put there.

    A call of a chat begins with its id. One of a part has the part's name before its own, as "sessions.rename".
    """

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.answers: dict[str, Any] = {"environment": dict(os.environ)}
        self._own = _Part(self, "chats.Chats")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return getattr(self._own, name)

    def __getitem__(self, chat: int) -> _Part:
        """A chat with its parts."""
        found = _Part(self, "chat.Chat", "", chat)
        for name, kind in PARTS.items():
            setattr(found, name, _Part(self, kind, f"{name}.", chat))
        return found

    def tell(self, chat: int, call: Callable[[Any], Any]) -> None:
        """Have a chat do something."""
        if work := call(self[chat]):
            work.close()

    def open_sessions(self) -> set[str]:
        """None is left to the chats."""
        return set()

    def call(self, name: str, args: tuple[Any, ...], named: dict[str, Any], *, is_question: bool) -> Any:
        """Keep a call, and answer it."""
        self.calls.append((name, *args, *([named] if named else [])))
        return self._answer(name) if is_question else None

    async def _answer(self, name: str) -> Any:
        answer = self.answers.get(name)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def of(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of the calls of one method."""
        return [call[1:] for call in self.calls if call[0] == name]


class ChatCase(CompanionCase):
    """A window with a chat that has shown one frame."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.chats = Recorder()
        yield from self.on_companion(self._replace)
        self.set_setting("chat_enabled", True)
        # Of no interest to the other tests, in which a file is open.
        self.set_setting("chat_context", False)
        self.view_values, self.renders, self.prompts = (
            loaded("conversation.snapshot"),
            loaded("chats.transcript.render"),
            loaded("chats.prompt"),
        )
        self.transcript = loaded("chats.transcript.transcript").Transcript()
        self.adapter = loaded("sublime_text.package").adapter()
        self.now = 1000.0
        clock = patch.object(loaded("sublime_text.chat.permissions"), "monotonic", lambda: self.now)
        clock.start()
        self.addCleanup(clock.stop)
        yield from self.open_chat()

    def on_companion(self, call: Callable[[Any], object]) -> Steps:
        """Do something with the companion on its own thread, and wait for that."""
        done: Future[Any] = Future()
        self.adapter = loaded("sublime_text.package").adapter()
        self.adapter.thread.post(lambda companion: done.set_result(call(companion)))
        yield from self.done(done)

    def _replace(self, companion: Any) -> None:
        own, companion.chats = companion.chats, self.chats
        thread = self.adapter.thread
        self.addCleanup(lambda: thread.post(lambda companion: setattr(companion, "chats", own)))

    def open_chat(self) -> Steps:
        """Open the window's chat, and show it empty: self.chat, the package's own, and self.view."""
        self.window.run_command("qwen_companion_chat")
        yield lambda: self.adapter.chats.of(self.window)
        self.chat = self.adapter.chats.of(self.window)
        self.code, self.view = self.view, self.chat.view
        yield from self.told("open")
        self.show()

    def told(self, name: str) -> Steps:
        """Wait until the companion has been told something."""
        yield {"condition": lambda: self.chats.of(name), "timeout": 60_000}

    def show(
        self,
        *items: Any,
        state: str = "running",
        replaces_all: bool = False,
        session: str = "session-1",
        chosen_mode: str = "",
        **status: Any,
    ) -> Any:
        """Show a conversation of one turn with these items, for which the person may have chosen a mode."""
        values = self.view_values
        turns = (values.Turn("turn", state, items),) if items else ()
        status = {"connection": values.ConnectionStatus("live"), **status}
        if replaces_all:
            self.transcript.reset()
        view = values.Snapshot(tuple(turn.key for turn in turns), turns, values.Status(**status))
        render = self.transcript.update(view, self.locality(), session)
        if chosen_mode:
            render = replace(render, chosen={"session": session, "mode": chosen_mode})
        self.assertTrue(at_once(self.adapter.chats.show_chat, self.chat.id, render))
        return render

    def locality(self) -> Any:
        """This computer, in the folder."""
        return self.view_values.Locality(
            "this computer", str(self.folder), "0.24.4", is_private=True, agent="Qwen Code"
        )

    def message(self, text: str, speaker: str = "answer") -> Any:
        """Something said."""
        return self.view_values.Message(speaker, text)

    def permission(self, *kinds: str, **more: Any) -> Any:
        """A permission that offers options of these kinds; their ids tell nothing."""
        options = tuple(
            self.view_values.PermissionOption(f"id{at}", f"Option {at}", kind) for at, kind in enumerate(kinds)
        )
        return self.view_values.Permission("p1", "turn", "tool", "Run it?", "execute", options, **more)

    def tool(self, permission: Any = None, **more: Any) -> Any:
        """A tool call."""
        values = {"id": "tool", "name": "run", "title": "Run it", "kind": "execute", "status": "pending", **more}
        return self.view_values.Tool(**values, permissions=(permission,) if permission else ())

    def ask(self, *kinds: str, **more: Any) -> Any:
        """Show a permission that waits."""
        permission = self.permission(*kinds, **more)
        self.show(self.tool(permission), permissions=(permission,))
        return permission

    def wait(self, seconds: float) -> None:
        """Let time pass for a person who sees what is asked."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + 0.2)
            self.chat.attention.look()

    @property
    def shown(self) -> str:
        """The transcript."""
        return text_of(self.view)[: self.chat.text.length]

    @property
    def prompt(self) -> str:
        """What is in the input."""
        return text_of(self.view)[self.chat.text.length :]

    def type(self, text: str) -> None:
        """Type at the carets."""
        self.view.run_command("insert", {"characters": text})

    def choose(self, *captions: str) -> Steps:
        """Pick these, each in the panel that has opened after the one before."""
        shown = 0
        for caption in captions:
            yield lambda shown=shown: len(self.screen.panels) > shown
            shown = len(self.screen.panels)
            self.screen.pick(caption)

    def answer_page(self, *sessions: dict[str, Any], cursor: str = "") -> None:
        """Have the companion answer with a page of these conversations, in the daemon's words."""
        listing = loaded("backends.agent")
        found = tuple(map(listing.SessionInfo.model_validate, sessions))
        self.chats.answers["sessions.page"] = listing.SessionPage(sessions=found, cursor=cursor)

    def recall_and_edit(self) -> None:
        """Send “one” and “two”, begin “draft”, recall and edit “two”, then recall “one”."""
        for text in ("one", "two"):
            self.type(text)
            self.press("enter")
        self.type("draft")
        self.press("up")
        self.type(" edited")
        self.press("up")

    def put_caret(self, *points: int) -> None:
        """Put the carets at points, negative ones from the end, as a click does."""
        self.view.sel().clear()
        self.view.sel().add_all([point if point >= 0 else self.view.size() + 1 + point for point in points])

    def enter_at(self, point: int) -> Steps:
        """Press Enter at a point."""
        self.put_caret(point)
        yield from self.settled()
        self.press("enter")

    def settled(self) -> Steps:
        """Wait until the listeners have heard of the carets."""
        yield 60

    def applies(self, key: str) -> bool:
        """Whether the context of a key binding holds."""
        answer = self.listener().on_query_context(self.view, key, sublime.QueryOperator.EQUAL, True, False)
        self.assertIsNotNone(answer)
        return bool(answer)

    def press(self, key: str) -> str:
        """Run what this package binds a key to where its own contexts hold; a later binding goes before an earlier.

        Returns the command's name, nothing if none applies.
        """
        package = (__package__ or "").partition(".")[0]
        keymap = sublime.load_resource(f"Packages/{package}/Default.sublime-keymap")
        bindings: Any = sublime.decode_value(keymap)
        for binding in reversed(bindings):
            own = [each["key"] for each in binding["context"] if each["key"].startswith("qwen_companion.chat")]
            if binding["keys"] == [key] and own and all(self.applies(each) for each in own):
                self.window.focus_view(self.view)
                self.window.run_command(binding["command"], binding.get("args"))
                return str(binding["command"])
        return ""

    def listener(self) -> Any:
        """What hears of the chats' views."""
        return loaded("sublime_text.chat.listener").QwenCompanionChatListener()


class AnswersCase(ChatCase):
    """A question of the agent, and its answers."""

    def panel(self, count: int) -> Steps:
        """Wait for a panel: self.items."""
        yield lambda: len(self.screen.panels) == count
        self.items = [(item.trigger, item.details) for item in self.screen.panels[-1][0]]

    def voted(self, *expected: Any) -> Steps:
        """Wait until the one question was answered so."""
        yield from self.told("approvals.give")
        self.assertEqual(self.chats.of("approvals.give"), [(self.chat.id, "p1", *expected)])
