"""The commands that start a CLI in a terminal, show it, and prepare a terminal outside the editor."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import sublime
import sublime_plugin

from ...clis import starting
from ...clis.families import FAMILIES, CliFamily
from ...clis.shell import Command, Shell, environment_commands
from ...ids import WindowId
from ...visible import ShownText, visible_name
from .. import package
from ..adapter import SCRIPT
from ..bridge import expect
from ..package_control import is_installed
from ..panels import NO_ANSWER, STARTING, PanelItem, choose, say, to_clipboard
from ..places import Menu, if_there
from . import terminals
from .terminals import Terminal
from .terminus import TERMINUS, Terminus

if TYPE_CHECKING:
    from ...clis.starting import Start


PATIENCE = 5000
"""Milliseconds to wait for the companion's answer."""
SHELL_NAMES: dict[Shell, str] = {"sh": "sh, bash, zsh", "fish": "fish", "powershell": "PowerShell"}
NOT_OPENED = "Terminus has opened no terminal for {name} yet. If it was just installed, restart Sublime Text."
NO_FOLDER = "Open a folder first: a CLI connects to the window whose folder it runs in."
OWN_MODE = "{name} writes without asking: its settings say “{mode}”."
OPENING = 10_000
"""Milliseconds after which a terminal that was not opened is told."""
NO_CLI = "No CLI runs in a terminal of this window. Run one first."


class QwenCompanionRunCommand(sublime_plugin.WindowCommand):
    """Run a CLI in a terminal of the window: in a new conversation, or in the last one of the folder."""

    def run(self, cli: str, resume: bool | None = None, **menu: Any) -> None:
        """`cli` is a family's key, such as "qwen".

        `resume` continues the folder's last conversation; None asks if there is one.

        `menu` is what the side bar's menu gives: the CLI runs in the folder that it was opened on, or in the folder of
        the file.
        """
        paths, family, adapter = Menu.of(menu).paths, terminals.family_of(cli), package.adapter()
        if family is None:
            names = ", ".join(f"“{each.launch.key}”" for each in FAMILIES)
            say(self.window, f"There is no CLI “{cli}”. Choose one of {names}.")
        elif paths and adapter:
            begin = partial(self._begin, family, resume=resume)
            if_there(adapter.on_another_thread, self.window, paths, lambda found: begin(_folder_of(paths[0], found)))
        else:
            self._begin(family, None, resume=resume)

    def _begin(self, family: CliFamily, here: str | None, *, resume: bool | None) -> None:
        if not is_installed(TERMINUS):
            run = partial(self._run, family, here, resume=resume)
            Terminus(self.window, family.name, (family.launch.key, here), run).offer()
        elif here:
            self._run(family, here, resume=resume)
        elif running := [one for one in terminals.running(self.window) if one.family == family]:
            self._ask_again(family, running, resume=resume)
        else:
            self._run(family, resume=resume)

    def is_visible(self, cli: str = "", resume: bool | None = None, **menu: Any) -> bool:
        """Whether it can be run; *Run Qwen Code* also says how to install it. In the side bar, on one thing.

        In the palette not in a diff or a chat.
        """
        adapter = package.adapter()
        if adapter and cli not in ("", FAMILIES[0].launch.key) and not adapter.runnable.has(cli):
            return False
        if (paths := Menu.of(menu).paths) is None:
            return package.is_set_up_here(self.window.active_view())
        return len(paths) == 1 and is_installed(TERMINUS)

    def _ask_again(self, family: CliFamily, running: Sequence[Terminal], *, resume: bool | None) -> None:
        shows = [(f"Show {one.title}", one.folder, partial(terminals.show, one, self.window)) for one in running]
        again = (f"Run Another {family.name}", "", lambda: self._run(family, resume=resume))
        choose(self.window, [*shows, again], f"{family.name} is running in this window")

    def _run(self, family: CliFamily, here: str | None = None, *, resume: bool | None) -> None:
        def answered(folders: tuple[str, ...], variables: dict[str, str]) -> None:
            def start(folder: str) -> None:
                self._look(family, folder, variables, resume=resume)

            if here and not any(PurePath(here).is_relative_to(folder) for folder in folders):
                say(self.window, f"{here} is in no folder of this window, so a CLI there would not connect to it.")
            elif here:
                start(here)
            elif not folders:
                say(self.window, NO_FOLDER)
            elif len(folders) == 1:
                start(folders[0])
            else:
                items = [(PurePath(folder).name or folder, folder, partial(start, folder)) for folder in folders]
                selected = _index_of_active_file(self.window, folders)
                choose(self.window, items, f"The folder to run {family.name} in", selected=selected)

        _ask(self.window, answered, family)

    def _look(self, family: CliFamily, folder: str, variables: dict[str, str], *, resume: bool | None) -> None:
        """Look at what is there before it is started; ask whether to go on with the last conversation."""
        adapter = package.adapter()
        if adapter is None:
            return
        setting: Command = adapter.settings.value(f"{family.launch.key}_command")

        def looked(found: Start) -> None:
            start = partial(self._start, family, folder, variables, setting, found)
            if resume is None and found.can_resume:
                last = "The last one in this folder"
                choices: list[PanelItem] = [
                    ("New Conversation", "", lambda: start(resume=False)),
                    ("Resume Conversation", last, lambda: start(resume=True)),
                ]
                choose(self.window, choices, f"The conversation to run {family.name} in")
            else:
                start(resume=bool(resume))

        script = sublime.load_binary_resource(SCRIPT) if adapter.settings.value("agents_use_editor") else b""
        adapter.on_another_thread(lambda: starting.look(family, setting, folder, os.environ, script), looked)

    def _start(
        self,
        family: CliFamily,
        folder: str,
        variables: dict[str, str],
        setting: Command,
        found: Start,
        *,
        resume: bool,
    ) -> None:
        adapter = package.adapter()
        if adapter is None:
            return
        asks = adapter.settings.of(self.window, "review") == "before"
        is_decided = not asks or found.approval is not None

        def look() -> tuple[list[str], str]:
            try:
                return terminals.command_of(family, setting, resume=resume, is_decided=is_decided, mcp=found.mcp), ""
            except LookupError as missing:
                return [], str(missing)

        def run(looked: tuple[list[str], str]) -> None:
            command, missing = looked
            if missing:
                say(self.window, missing)
                return
            if asks and found.approval is not None and found.mode in family.silent_modes:
                say(self.window, OWN_MODE.format(name=family.name, mode=found.mode))
            location = adapter.settings.of(self.window, "terminal_location")
            self._open(family, folder, variables, command, location)

        adapter.on_another_thread(look, run)

    def _open(
        self, family: CliFamily, folder: str, variables: dict[str, str], command: list[str], location: str
    ) -> None:
        name = terminals.open_terminal(self.window, family, folder, variables, command, location)

        def look() -> None:
            if self.window.is_valid() and not terminals.has_begun(name):
                say(self.window, NOT_OPENED.format(name=family.name))

        sublime.set_timeout(look, OPENING)


class QwenCompanionShowTerminalCommand(sublime_plugin.WindowCommand):
    """Show the CLI's terminal that had the focus last, or leave it if it has the focus."""

    def is_visible(self) -> bool:
        """Whether a CLI runs in one; a key offers to run one, too."""
        return bool(terminals.running(self.window))

    def run(self) -> None:
        """Toggle between the terminal and the text."""
        adapter, running = package.adapter(), terminals.running(self.window)
        if adapter is None:
            return
        if not running:
            say(self.window, NO_CLI)
            choose(self.window, terminals.offers_to_run(self.window), "No CLI runs in a terminal of this window")
        elif adapter.focus.last(self.window) == running[0].view:
            terminals.leave(running[0], self.window, adapter.focus.last_code(self.window))
        else:
            terminals.show(running[0], self.window)


class QwenCompanionTerminalOpenedCommand(sublime_plugin.TextCommand):
    """Terminus runs this in a terminal that it opened for us."""

    def run(self, edit: sublime.Edit, mark: dict[str, Any]) -> None:
        """`mark` is what the package remembers about the terminal."""
        terminals.opened(self.view, mark)

    def is_visible(self) -> bool:
        """It is never in a menu."""
        return False


class QwenCompanionTerminalListener(sublime_plugin.EventListener):
    """Notices which terminal gets the focus and which one closes."""

    def on_activated(self, view: sublime.View) -> None:
        """A view got the focus."""
        terminals.activated(view)

    def on_pre_close(self, view: sublime.View) -> None:
        """A tab is about to close."""
        terminals.closing(view)


class QwenCompanionCopyEnvironmentCommand(sublime_plugin.WindowCommand):
    """Copy the commands that connect a terminal outside the editor to this window.

    They include Gemini CLI's token. It goes into the clipboard only, never into a message or a log.
    """

    def is_visible(self, **_args: object) -> bool:
        """Not in a diff or a chat, whose palette is about them."""
        return package.is_set_up_here(self.window.active_view())

    def run(self, shell: str | None = None) -> None:
        """`shell` is "sh", "fish" or "powershell", or None to ask."""
        chosen: Shell | None = next((key for key in SHELL_NAMES if key == shell), None)
        if chosen:
            self._copy(chosen)
        elif shell is None:
            items = [(name, "", partial(self._copy, key)) for key, name in SHELL_NAMES.items()]
            choose(self.window, items, "The shell of your terminal")
        else:
            names = ", ".join(f"“{key}”" for key in SHELL_NAMES)
            say(self.window, f"The shell “{shell}” is unknown. Choose one of {names}.")

    def _copy(self, kind: Shell) -> None:
        def answered(folders: tuple[str, ...], variables: dict[str, str]) -> None:
            values = {name: visible_name(value) for name, value in variables.items()}
            to_clipboard(ShownText(environment_commands(values, kind)))
            where = f" a folder of this window ({PurePath(folders[0]).name})" if folders else " the terminal"
            told = [each for each in FAMILIES if each.port_variable in values]  # the others need no variables
            starts = " or ".join(" ".join([each.launch.key, *each.launch.ask]) for each in told)
            start = f"start the CLI in{where}, so that it asks before it changes a file: {starts}"
            say(self.window, f"Copied for {SHELL_NAMES[kind]}. Paste it into a terminal, and {start}.")

        _ask(self.window, answered)


def _ask(
    window: sublime.Window,
    answered: Callable[[tuple[str, ...], dict[str, str]], object],
    family: CliFamily | None = None,
) -> None:
    """Ask the companion for the folders and the variables of a window. The answer comes later.

    `family` is that of a CLI that we run ourselves.
    """
    adapter = package.adapter()
    if adapter is None:
        return
    waiting = [True]

    def answer(result: tuple[tuple[str, ...], dict[str, str]] | None) -> None:
        if not waiting:
            return
        waiting.clear()
        if result is None:
            say(window, "This window has no server yet. If that does not change, restart Sublime Text.")
        else:
            answered(*result)

    def silent() -> None:
        waiting.clear()
        say(window, NO_ANSWER)

    def starting() -> None:
        say(window, STARTING)

    identifier = WindowId(window.id())
    adapter.ask(lambda companion: companion.terminal_environment(identifier, family), answer)
    if adapter.is_starting:
        starting()
    expect(
        lambda: not waiting,
        lambda: adapter.is_starting,
        patience=lambda: PATIENCE,
        starting=starting,
        silent=silent,
    )


def _folder_of(path: str, folders: Collection[str]) -> str:
    """The path of a folder, or the folder of a file."""
    return str(PurePath(path) if path in folders else PurePath(path).parent)


def _index_of_active_file(window: sublime.Window, folders: Sequence[str]) -> int:
    """The folder that has the active file, the innermost if there are several; -1 if none has it."""
    adapter = package.adapter()
    view = adapter.focus.last_code(window) if adapter else None
    path = view.file_name() if view else None
    around = [folder for folder in folders if path and PurePath(path).is_relative_to(folder)]
    return folders.index(max(around, key=len)) if around else -1
