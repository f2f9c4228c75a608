"""What the person is told and asked: in the status bar, in the console, in dialogs and by the system.

A text that would be lost is kept in a tab.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import sublime

from ..chats.transcript.plain import flat, spelled
from ..editor import WindowId
from ..platforms import programs
from ..review.review_screen import QuestionClosedError
from .bridge import asked, posted
from .chat.permissions import ask_form
from .panels import NOTICES, Notice, named
from .review.answers import open_kept
from .windows import find_window

if TYPE_CHECKING:
    from ..conversation.forms import Form, Values
    from .adapter import Adapter

QUIET = 2.0
"""Seconds without a key after which a question may come."""
NOTIFY_LIMIT = 15.0
"""Seconds for the program that shows a notification of the system."""
TITLE = "Sublime Text"
_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
_TOAST = """
$ErrorActionPreference = 'Stop'
[void][Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$kind = [Windows.UI.Notifications.ToastTemplateType]::ToastText02
$toast = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent($kind)
$texts = $toast.GetElementsByTagName('text')
[void]$texts.Item(0).AppendChild($toast.CreateTextNode($env:QWEN_COMPANION_TITLE))
[void]$texts.Item(1).AppendChild($toast.CreateTextNode($env:QWEN_COMPANION_TEXT))
$shown = [Windows.UI.Notifications.ToastNotification]::new($toast)
$program = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe'
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier($program).Show($shown)
"""


class Messenger:
    """Tells the person something: `companion.editor.Messages`. Lives on the UI thread, but for what is posted to it.

    It keeps the messages that need an action until that is done or the person has seen them.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._adapter = adapter
        self._open: list[Notice] = []

    @posted
    def mention(self, message: str, window: WindowId) -> None:
        if target := find_window(window):
            NOTICES.add(message, target)

    @posted
    def say(self, message: str, window: WindowId | None = None) -> None:
        self.tell(message, window)

    def tell(self, message: str, window: WindowId | None) -> None:
        """As `say`, at once. The same message again replaces the first."""
        target = find_window(window) if window is not None else None
        notice = _note(message, target, needs_action=True)
        same = (notice.text, notice.window)
        self._open = [*(one for one in self._open if (one.text, one.window) != same), notice]
        self._adapter.status_bar.draw()

    @posted
    def settle(self, message: str) -> None:
        self.settled([message])

    @posted
    def solved(self, message: str, problems: Sequence[str]) -> None:
        """These problems are over, and `message` says how."""
        self.settled(problems)
        _note(message, None)

    def settled(self, messages: Collection[str]) -> None:
        """What these messages asked for is done."""
        self._keep(lambda one: one.text not in messages)

    def seen(self, window: sublime.Window) -> None:
        """The person has read the messages of a window."""
        self._keep(lambda one: one.window not in (None, window.id()))

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._keep(lambda one: one.window != window.id())

    def within(self, window: sublime.Window) -> list[Notice]:
        """Those of a window that need an action, and those of all windows."""
        return [one for one in self._open if one.window in (None, window.id())]

    def _keep(self, wanted: Callable[[Notice], bool]) -> None:
        before, self._open = self._open, [one for one in self._open if wanted(one)]
        if len(before) != len(self._open):
            self._adapter.status_bar.draw()

    @posted
    def keep_text(
        self, window: WindowId | None, title: str, text: str, why: str, syntax: sublime.Syntax | None = None
    ) -> None:
        target = (find_window(window) if window is not None else None) or sublime.active_window()
        if not target.is_valid():  # the last one has closed
            sublime.run_command("new_window")
            target = sublime.active_window()
        focus = self._adapter.focus.last(target)
        open_kept(target, title, text, syntax)
        if focus and focus.is_valid():
            self._adapter.focus.give(target, focus)
        _note(why, target)


def _note(message: str, window: sublime.Window | None, *, needs_action: bool = False) -> Notice:
    print(named(message))  # noqa: T201 - Sublime's console
    return NOTICES.add(message, window, needs_action=needs_action)


class EditorQuestions:
    """Dialogs and panels: `QuestionDialogs`. Their answers are waited for as long as it takes."""

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._focus = adapter.focus

    async def confirm(self, window: WindowId, question: str, yes: str, no: str = "") -> bool:
        """As `QuestionDialogs` has it."""
        import asyncio  # noqa: PLC0415 - it would stall the UI thread

        while True:
            if (left := self._focus.typed_at + QUIET - time.monotonic()) <= 0:
                break
            await asyncio.sleep(left)
        if (answer := await self._confirm(question, yes, no)) is None:
            raise QuestionClosedError
        return answer

    @asked(waits=True)
    def _confirm(self, question: str, yes: str, no: str) -> bool | None:
        question = flat(question, 1_000)  # it may name a folder
        if not no:
            return sublime.ok_cancel_dialog(question, yes)
        answer = sublime.yes_no_cancel_dialog(question, yes, no)
        return None if answer == sublime.DialogResult.CANCEL else answer == sublime.DialogResult.YES

    @asked(waits=True)
    def may_touch(self, agent: str, path: str, *, writes: bool) -> bool:
        verb = "write to" if writes else "read"
        question = (
            f"{flat(agent, 80)} wants to {verb} a file outside the folder of the chat:\n\n    {spelled(path)}\n\n"
            "Your answer counts for the folder of that file, until the chat ends."
        )
        return sublime.ok_cancel_dialog(question, "Allow", "QwenCompanion")

    async def elicit(self, window: WindowId, agent: str, message: str, form: Form) -> tuple[str | None, Values]:
        """As `QuestionDialogs` has it."""

        def begin(done: Callable[[tuple[str | None, Values]], None]) -> None:
            ask_form(
                sublime.Window(window),
                agent,
                message,
                form,
                form.defaults,
                lambda option, values: done((option, values)),
                lambda: done((None, {})),
            )

        return await self.bridge.ask(begin, waits=True)


def notification(system: str, text: str) -> tuple[list[str], Mapping[str, str]]:
    """The command that shows a notification on a system, and the variables that it needs. Texts are never code."""
    match system:
        case "osx":
            lines = [argument for line in _SCRIPT for argument in ("-e", line)]
            return ["osascript", *lines, TITLE, text], {}
        case "windows":
            variables = {"QWEN_COMPANION_TITLE": TITLE, "QWEN_COMPANION_TEXT": text}
            return ["powershell", "-NoProfile", "-NonInteractive", "-Command", _TOAST], variables
        case _:
            return ["notify-send", "--app-name", TITLE, "--", TITLE, text], {}


def notify(text: str) -> threading.Thread:
    """Show a notification of the system, from a thread of its own: the program may take seconds.

    Each system has a program for that; where there is none, nothing happens. The text says that something waits, never
    what: it is on the screen while nobody is there.
    """
    words, variables = notification(sublime.platform(), text)
    thread = threading.Thread(target=_run, args=(words, variables), name="QwenCompanion notification", daemon=True)
    thread.start()
    return thread


def _run(words: list[str], variables: Mapping[str, str]) -> None:
    program = programs.find(words[0], os.environ)
    if program is None:
        return
    with suppress(OSError, subprocess.SubprocessError):
        programs.run([program, *words[1:]], {**os.environ, **variables}, NOTIFY_LIMIT)
