"""The commands about what the editor knows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import sublime
import sublime_plugin

from ...clis.mcp_configuration import CLIENTS, McpClient, configuration, install
from ...clis.shell import below
from ...comments.message import markdown
from ...ids import WindowId
from ...problems.message import problems_text
from ...visible import ShownText
from .. import package
from ..adapter import SCRIPT
from ..panels import choose, say, to_clipboard
from ..prompts import Recipient, add_to_prompt, choose_recipient, meant, named_in, paste, recipients
from ..terminal.terminals import Terminal
from ..windows import is_code, selected_lines

if TYPE_CHECKING:
    from ...problems.diagnostic import Diagnostic
    from ...problems.shown import ShownProblems
    from ..adapter import Adapter


Scope = Literal["file", "selection", "window"]

NO_FILE = "This tab has no file yet, so no language server has looked at it."
NONE = {
    "file": "This file has no problems that the editor knows of.",
    "selection": "There is no problem in these lines that the editor knows of.",
    "window": "No file of this window has problems that the editor knows of.",
}
IN_CLIPBOARD = "The problems are in the clipboard."
NOBODY = f"There is no CLI or chat to take the problems. {IN_CLIPBOARD}"


def send_problems(adapter: Adapter, window: sublime.Window, scope: Scope) -> None:
    """Put the problems into a prompt. The person adds what they like and submits it."""
    view = window.active_view()
    view = view if view and is_code(view) else adapter.focus.last_code(window)
    path = view.file_name() if view else None
    if scope != "window" and (view is None or path is None):
        say(window, NO_FILE)
        return
    if path and scope != "window" and (why := adapter.refusal(window, [path])):
        say(window, why)
        return
    rows = selected_lines(view) if view and scope == "selection" else None
    sharing = adapter.settings.sharing(window)

    def listed(problems: Sequence[Diagnostic]) -> None:
        found = [each for each in problems if rows is None or any(each.touches(*row) for row in rows)]
        if found:
            _give(adapter, window, found)
        else:
            say(window, NONE[scope])

    def read(found: ShownProblems | None) -> None:
        if found:
            adapter.on_another_thread(lambda: found.diagnostics(sharing), listed)

    adapter.problems.read(WindowId(window.id()), None if scope == "window" or path is None else [path], read)


def _give(adapter: Adapter, window: sublime.Window, problems: Sequence[Diagnostic]) -> None:
    choices = meant(recipients(adapter.chats, window))
    if not choices:
        _copy(problems)
        say(window, NOBODY)
    else:
        choose_recipient(window, choices, partial(_give_to, adapter, window, problems), "Send the problems to")


def _give_to(adapter: Adapter, window: sublime.Window, problems: Sequence[Diagnostic], recipient: Recipient) -> None:
    target = recipient.target
    if not isinstance(target, Terminal):
        add_to_prompt(target, problems_text(problems, lambda path, _: below(path, target.folder)), [])
        adapter.chats.go_to(target)
        return

    def done(why: str) -> None:
        if why:
            _copy(problems)
            say(window, f"{why} {IN_CLIPBOARD}")

    paste(target, window, ShownText(problems_text(problems, partial(named_in, target))), done)


def _copy(problems: Sequence[Diagnostic]) -> None:
    to_clipboard(ShownText(problems_text(problems, lambda path, lines: markdown(path, lines) if lines else path)))


class QwenCompanionSendProblemsCommand(sublime_plugin.WindowCommand):
    """Put the problems that the editor shows into the prompt of a CLI or a chat."""

    def run(self, scope: Scope = "file") -> None:
        """`scope` is "file", "selection" or "window"."""
        adapter = package.adapter()
        if adapter is None:
            return
        if scope in NONE:
            send_problems(adapter, self.window, scope)
        else:
            say(self.window, f"There is no scope “{scope}”. Choose one of {', '.join(f'“{each}”' for each in NONE)}.")

    def is_visible(self, scope: Scope = "file") -> bool:
        """Whether anything here could know of problems."""
        adapter = package.adapter()
        return adapter is not None and adapter.problems.has_provider(self.window)


class QwenCompanionCopyMcpConfigurationCommand(sublime_plugin.WindowCommand):
    """Copy what a CLI needs in its configuration so that its model may use this editor's tools.

    It holds no token: a script finds the window. It is written here, among the user's data.
    """

    def is_visible(self, **_args: object) -> bool:
        """Not in a diff or a chat, whose palette is about them."""
        return package.is_set_up_here(self.window.active_view())

    def run(self, cli: str | None = None, hook: bool = True) -> None:
        """`cli` is "qwen", "gemini", "claude" or "codex", or None to ask; with `hook` problems come by themselves."""
        adapter = package.adapter()
        chosen = next((client for client in CLIENTS if client.key == cli), None)
        if adapter is None:
            return
        if chosen:
            self._copy(chosen, hook=hook)
        elif cli is None:
            items = [(client.name, client.file, partial(self._copy, client, hook=hook)) for client in CLIENTS]
            choose(self.window, items, "The CLI whose model may use this editor")
        else:
            names = ", ".join(f"“{client.key}”" for client in CLIENTS)
            say(self.window, f"There is no CLI “{cli}”. Choose one of {names}.")

    def _copy(self, client: McpClient, *, hook: bool) -> None:
        adapter = package.adapter()
        if adapter is None:
            return
        script = sublime.load_binary_resource(SCRIPT)
        is_on = adapter.settings.value("agents_use_editor")

        def installed(path: str) -> None:
            to_clipboard(ShownText(configuration(client, path, with_hook=hook)))
            off = "" if is_on else " Turn on the setting “agents_use_editor”, too."
            say(self.window, f"Copied for {client.name}. Add it to {client.file}.{off}")

        def written() -> tuple[str, str]:
            try:
                return install(script), ""
            except OSError as error:
                return "", f"The script for {client.name} could not be written: {error}"

        def done(result: tuple[str, str]) -> None:
            path, why = result
            if path:
                installed(path)
            else:
                say(self.window, why)

        adapter.on_another_thread(written, done)
