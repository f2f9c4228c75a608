"""The commands that start a CLI in a terminal, type into its prompt, and prepare a terminal outside the editor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

import sublime
import sublime_plugin

from ...clis.families import FAMILIES, CliFamily
from ...clis.shell import Lines, Shell, environment_commands, mention
from .. import package
from ..panels import NO_ANSWER, STARTING, choose, say
from ..windows import is_code
from . import terminals
from .terminals import Terminal

PATIENCE = 5000
"""Milliseconds until a person who has asked for something hears that the companion doesn't answer."""
SHELL_NAMES: dict[Shell, str] = {"sh": "sh, bash, zsh", "fish": "fish", "powershell": "PowerShell"}
NO_TERMINUS = "Terminus is not installed: run “Package Control: Install Package” and choose Terminus."
NO_FOLDER = "Open a folder first: a CLI connects to the window whose folder it runs in."


class QwenCompanionRunCommand(sublime_plugin.WindowCommand):
    """Run a CLI in a terminal of the window."""

    def run(self, cli: str, resume: bool = False) -> None:
        """`cli` is "qwen" or "gemini"; `resume` takes up the folder's last conversation."""
        family = terminals.family_of(cli)
        if family is None:
            names = ", ".join(f"“{each.launch.key}”" for each in FAMILIES)
            say(self.window, f"There is no CLI “{cli}”. Those that can be run: {names}.")
        elif not terminals.is_installed():
            self._without_terminus(family)
        elif running := [one for one in terminals.running(self.window) if one.family == family]:
            self._ask_again(family, running, resume=resume)
        else:
            self._run(family, resume=resume)

    def _without_terminus(self, family: CliFamily) -> None:
        say(self.window, NO_TERMINUS)
        install = "Needed to run a CLI here: “Package Control: Install Package”, then Terminus"
        copy = f"To run {family.name} in a terminal outside Sublime Text"
        choose(
            self.window,
            [
                ("Install Terminus…", install, self._install_terminus),
                (
                    "Copy Terminal Environment…",
                    copy,
                    lambda: self.window.run_command("qwen_companion_copy_environment"),
                ),
            ],
            f"{family.name} runs in the package Terminus, which is not installed",
        )

    def _install_terminus(self) -> None:
        self.window.run_command(
            "show_overlay", {"overlay": "command_palette", "text": "Package Control: Install Package"}
        )

    def _ask_again(self, family: CliFamily, running: Sequence[Terminal], *, resume: bool) -> None:
        shows = [(f"Show {one.title}", one.folder, partial(terminals.show, one, self.window)) for one in running]
        again = (f"Run Another {family.name}", "", lambda: self._run(family, resume=resume))
        choose(self.window, [*shows, again], f"{family.name} is running in this window")

    def _run(self, family: CliFamily, *, resume: bool) -> None:
        def answered(folders: tuple[str, ...], variables: dict[str, str]) -> None:
            def start(folder: str) -> None:
                self._start(family, folder, variables, resume=resume)

            if not folders:
                say(self.window, NO_FOLDER)
            elif len(folders) == 1:
                start(folders[0])
            else:
                items = [(PurePath(folder).name or folder, folder, partial(start, folder)) for folder in folders]
                choose(self.window, items, f"The folder to run {family.name} in")

        _ask(self.window, answered, own_terminal=True)

    def _start(self, family: CliFamily, folder: str, variables: dict[str, str], *, resume: bool) -> None:
        adapter = package.adapter()
        if adapter is None:
            return
        try:
            command = terminals.command_of(
                family, adapter.settings.value(f"{family.launch.key}_command"), resume=resume
            )
        except LookupError as missing:
            say(self.window, str(missing))
            return
        location = adapter.settings.of(self.window, "terminal_location")
        terminals.open_terminal(self.window, family, folder, variables, command, location)


class QwenCompanionTerminalOpenedCommand(sublime_plugin.TextCommand):
    """Terminus runs this in a terminal that it has opened for us."""

    def run(self, edit: sublime.Edit, mark: dict[str, Any]) -> None:
        """`mark` is what we want to remember of the terminal."""
        terminals.opened(self.view, mark)

    def is_visible(self) -> bool:
        """Not in a menu."""
        return False


class QwenCompanionTerminalListener(sublime_plugin.EventListener):
    """Hears which terminal has the focus, and which one closes."""

    def on_activated(self, view: sublime.View) -> None:
        """A view got the focus."""
        terminals.activated(view)

    def on_pre_close(self, view: sublime.View) -> None:
        """A tab is about to close."""
        terminals.closing(view)


class _SendCommand(sublime_plugin.TextCommand):
    """Put a mention of the file, and of lines in it, into the prompt of a running CLI. Enter is left to the person.

    The CLI reads the file from the disk, so that a tab without a file can't be sent, and unsaved changes are not part
    of it; the person is told of either.
    """

    def run(self, edit: sublime.Edit) -> None:
        """Send it to the CLI of the window that had the focus last."""
        window = self.view.window()
        adapter = package.adapter()
        if window is None or adapter is None:
            return
        view = self.view if is_code(self.view) else adapter.focus.last_code(window)
        path = view.file_name() if view else None
        if view is None or path is None:
            say(window, "This tab has no file yet. Save it first: a CLI reads files from the disk.")
            return
        lines = self.lines(view)
        if lines is None:
            say(window, "Nothing is selected.")
            return

        def send(target: Terminal) -> None:
            _send(window, target, view, path, lines)

        running = terminals.running(window)
        if running and (len(running) == 1 or running[0].focused_at):
            send(running[0])
        else:
            self._ask(window, running or terminals.others(window), send, nothing_runs=not running)

    def lines(self, view: sublime.View) -> list[Lines] | None:
        """The lines to name, none for the whole file; None if there is nothing to send."""
        raise NotImplementedError

    def _ask(
        self, window: sublime.Window, targets: list[Terminal], send: Callable[[Terminal], object], *, nothing_runs: bool
    ) -> None:
        items = [(f"Send to {one.title}", one.folder, partial(send, one)) for one in targets]
        if nothing_runs:
            items += [
                (
                    f"Run {family.name}",
                    "",
                    lambda key=family.launch.key: window.run_command("qwen_companion_run", {"cli": key}),
                )
                for family in FAMILIES
            ]
        why = "No CLI was started in this window" if nothing_runs else "The CLI to send it to"
        choose(window, items, why)


class QwenCompanionSendFileCommand(_SendCommand):
    """Mention the file in the prompt of the running CLI."""

    def lines(self, view: sublime.View) -> list[Lines]:
        """The whole file."""
        return []


class QwenCompanionSendLineCommand(_SendCommand):
    """Mention the lines of the carets in the prompt of the running CLI."""

    def lines(self, view: sublime.View) -> list[Lines]:
        """Those of the carets, whatever is selected."""
        rows = sorted({view.rowcol(region.b)[0] + 1 for region in view.sel()})
        return [(row, row) for row in rows]


class QwenCompanionSendSelectionCommand(_SendCommand):
    """Mention the selected lines in the prompt of the running CLI."""

    def lines(self, view: sublime.View) -> list[Lines] | None:
        """Those that hold selected characters."""
        found: list[Lines] = []
        for region in view.sel():
            if region.empty():
                continue
            # A selection up to the beginning of a line has nothing of that line.
            first, last = view.rowcol(region.begin())[0] + 1, view.rowcol(region.end() - 1)[0] + 1
            if found and first <= found[-1][1] + 1:
                found[-1] = (found[-1][0], max(last, found[-1][1]))
            else:
                found.append((first, last))
        return found or None


class QwenCompanionCopyEnvironmentCommand(sublime_plugin.WindowCommand):
    """Copy the commands that make a terminal outside the editor one of this window.

    Gemini CLI's token is among them: it is the person's own clipboard. It is never said or logged.
    """

    def run(self, shell: str | None = None) -> None:
        """`shell` is "sh", "fish" or "powershell"; without it the person is asked."""
        chosen: Shell | None = next((key for key in SHELL_NAMES if key == shell), None)
        if chosen:
            self._copy(chosen)
        elif shell is None:
            items = [(name, "", partial(self._copy, key)) for key, name in SHELL_NAMES.items()]
            choose(self.window, items, "The shell of your terminal")
        else:
            names = ", ".join(f"“{key}”" for key in SHELL_NAMES)
            say(self.window, f"There is no environment for the shell “{shell}”, only for {names}.")

    def _copy(self, kind: Shell) -> None:
        def answered(folders: tuple[str, ...], variables: dict[str, str]) -> None:
            sublime.set_clipboard(environment_commands(variables, kind))
            where = f" a folder of this window ({PurePath(folders[0]).name})" if folders else " the terminal"
            say(self.window, f"Copied for {SHELL_NAMES[kind]}. Paste it into a terminal, and start the CLI in{where}.")

        _ask(self.window, answered)


def _ask(
    window: sublime.Window, answered: Callable[[tuple[str, ...], dict[str, str]], object], *, own_terminal: bool = False
) -> None:
    """Ask the companion for the folders and the variables of a window; the answer comes at a later turn."""
    adapter = package.adapter()
    if adapter is None:
        return
    waiting = [True]

    def answer(told: tuple[tuple[str, ...], dict[str, str]] | None) -> None:
        if not waiting:
            return
        waiting.clear()
        if told is None:
            say(window, "This window is not served. Restart Sublime Text if that stays so.")
        else:
            answered(*told)

    def late() -> None:
        if waiting and adapter.is_starting:
            say(window, STARTING)
            sublime.set_timeout(late, PATIENCE)
        elif waiting:
            waiting.clear()
            say(window, NO_ANSWER)

    identifier = window.id()
    adapter.ask(lambda companion: companion.terminal_environment(identifier, own=own_terminal), answer)
    if adapter.is_starting:
        say(window, STARTING)
    sublime.set_timeout(late, PATIENCE)


def _send(window: sublime.Window, target: Terminal, view: sublime.View, path: str, lines: Sequence[Lines]) -> None:
    text = mention(path, target.folder, target.family.launch if target.family else None, lines)
    if text is None:
        say(window, "The name of this file has control characters, which would press keys in the terminal.")
        return
    terminals.send(target, window, text)
    if view.is_dirty():
        say(window, f"{PurePath(path).name} has unsaved changes: the CLI reads it as it is on the disk.")
