"""The commands about what the editor knows."""

from __future__ import annotations

from functools import partial

import sublime
import sublime_plugin

from ...clis.mcp_configuration import CLIENTS, McpClient, configuration, install
from ...visible import ShownText
from .. import package
from ..adapter import SCRIPT
from ..panels import choose, say, to_clipboard
from .sending import NONE, Scope, send_problems


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
