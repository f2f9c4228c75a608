"""Runs an action: asks for what is missing, and brings the prompt to its target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import sublime

from ...actions import Action
from ...ids import WindowId
from ...visible import ShownText
from ..chat.opening import have_chat
from ..panels import PanelItem, choose, say, to_clipboard
from ..prompts.delivery import paste
from ..prompts.recipients import Recipient, meant, recipients
from ..terminal import terminals
from ..terminal.terminals import Terminal
from ..windows import is_code
from .questions import ask
from .values import PromptValues, selected_rows

if TYPE_CHECKING:
    from ...problems.diagnostic import Diagnostic
    from ...problems.shown import ShownProblems
    from ..adapter import Adapter
    from ..chat.view import ChatView

NO_VIEW = "Open a file first: an action is about the file that you look at."
NO_PROBLEMS = "{name} has no problems that the editor knows of."
IN_CLIPBOARD = "The prompt is in the clipboard."


def shown_view(adapter: Adapter, window: sublime.Window) -> sublime.View | None:
    """The tab that an action is about: the active one, else the last one of the person's own."""
    view = window.active_view()
    return view if view and is_code(view) else adapter.focus.last_code(window)


def run(adapter: Adapter, window: sublime.Window, action: Action) -> None:
    """Run an action about what the person looks at."""
    view = shown_view(adapter, window)
    path = view.file_name() if view else None
    if view is None:
        say(window, NO_VIEW)
    elif path and (why := adapter.refusal(window, [path])):
        say(window, why)
    elif not action.uses("problems"):
        _ask(adapter, window, action, view, ())
    else:

        def read(problems: Sequence[Diagnostic]) -> None:
            if problems:
                _ask(adapter, window, action, view, problems)
            else:
                name = PurePath(path).name if path else view.name() or "This tab"
                say(window, NO_PROBLEMS.format(name=name))

        _problems(adapter, window, view, read)


def _problems(
    adapter: Adapter, window: sublime.Window, view: sublime.View, done: Callable[[Sequence[Diagnostic]], object]
) -> None:
    """The problems of a file, of the selected lines if there are any."""
    rows, path = selected_rows(view), view.file_name()
    if path is None:
        done(())
        return

    def shown(found: ShownProblems | None) -> None:
        if found is None:
            done(())
        else:
            adapter.on_another_thread(found.diagnostics, sorted_out)

    def sorted_out(problems: Sequence[Diagnostic]) -> None:
        done([each for each in problems if rows is None or each.touches(rows.start, rows.stop - 1)])

    adapter.problems.read(WindowId(window.id()), [path], shown)


def _ask(
    adapter: Adapter, window: sublime.Window, action: Action, view: sublime.View, problems: Sequence[Diagnostic]
) -> None:
    """Ask for the question, if there is one, and send."""

    def send(question: str = "") -> None:
        _Sending(adapter, window, action, PromptValues(view, problems, question)).begin()

    if action.uses("question"):
        ask(window, action.name.removesuffix("…"), send)
    else:
        send()


class _Sending:
    """A prompt on its way to the target of its action."""

    def __init__(self, adapter: Adapter, window: sublime.Window, action: Action, values: PromptValues) -> None:
        self._adapter = adapter
        self._window = window
        self._action = action
        self._values = values

    def begin(self) -> None:
        """Find the target, ask which one, or offer to start one."""
        found = recipients(self._adapter.chats, self._window)
        match self._action.target:
            case "cli":
                self._choose([one for one in found if isinstance(one.target, Terminal)], self._offer_clis)
            case "chat":
                self._choose([one for one in found if not isinstance(one.target, Terminal)], self._open_chat)
            case "new_chat":
                self._new_chat()
            case _:
                has_chat = self._adapter.settings.value("chat_enabled") or bool(self._adapter.consent.last)
                self._choose(found, self._open_chat if has_chat else self._offer_clis)

    def _choose(self, found: list[Recipient], otherwise: Callable[[], object]) -> None:
        choices = meant(found)
        if not choices:
            otherwise()
        elif len(choices) == 1:
            self._give(choices[0])
        else:
            items: list[PanelItem] = [(f"Send to {one.title}", one.folder, partial(self._give, one)) for one in choices]
            choose(self._window, items, f"Send “{self._action.name}” to")

    def _give(self, recipient: Recipient) -> None:
        if isinstance(recipient.target, Terminal):
            self._paste(recipient.target)
        else:
            self._send(recipient.target)

    def _paste(self, target: Terminal) -> None:
        text = ShownText(self._action.filled(self._values.in_terminal(target)))

        def done(why: str) -> None:
            if why:
                to_clipboard(text)
                say(self._window, f"{why} {IN_CLIPBOARD}")

        paste(target, self._window, text, done)

    def _send(self, chat: ChatView) -> None:
        values, excerpts = self._values.in_chat(chat)
        self._adapter.chats.go_to(chat)
        self._adapter.chats.sender.send(chat, self._action.filled(values), excerpts=excerpts)

    def _open_chat(self) -> None:
        have_chat(self._window, lambda _, chat: self._send(chat))

    def _new_chat(self) -> None:
        if chat := self._adapter.chats.of(self._window):
            self._send(self._adapter.chats.open(self._window, chat.folder, chat.agent_key, is_new=True))
        else:
            self._open_chat()

    def _offer_clis(self) -> None:
        choose(self._window, terminals.offers_to_run(self._window), "No CLI was started in this window")
