"""The commands for CLIs in terminals: start one, show it, name files in its prompt, and connect one elsewhere."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

import sublime
import sublime_plugin

from ...clis import starting
from ...clis.elsewhere import ONLY_HERE, PLACES, STARTS, Elsewhere, Instruction, Place, steps
from ...clis.families import FAMILIES, CliFamily
from ...clis.shell import Command, Lines, Shell, environment_commands, mention
from ...editor import WindowId
from ...settings import PROJECT_KEY
from ...visible import ShownText, visible_name
from .. import package
from ..actions import done_or_copied, paste
from ..bridge import expect
from ..buffers import edit, smallest_edit, text_of
from ..package_control import is_installed
from ..panels import NO_ANSWER, STARTING, PanelItem, choose, say, to_clipboard
from ..places import Menu, if_there
from ..window_tools import SCRIPT
from ..windows import is_code
from . import terminals
from .terminals import TERMINUS, Terminal, Terminus

if TYPE_CHECKING:
    from ...clis.starting import Start
    from ...companion import Companion
    from ...server.window_screen import ElsewhereOffer, ElsewhereState

T = TypeVar("T")

PATIENCE = 5000
"""Milliseconds to wait for the companion's answer."""
SHELL_NAMES: dict[Shell, str] = {"sh": "sh, bash, zsh", "fish": "fish", "powershell": "PowerShell"}
NO_FOLDER = "Open a folder first: a CLI connects to the window whose folder it runs in."
OWN_MODE = "{name} writes without asking: its settings say “{mode}”."
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
            if_there(adapter, self.window, paths, lambda found: begin(_folder_of(paths[0], found)))
        else:
            self._begin(family, None, resume=resume)

    def _begin(self, family: CliFamily, here: str | None, *, resume: bool | None) -> None:
        if not is_installed(TERMINUS):
            run = partial(self._run, family, here, resume=resume)
            Terminus(self.window, family.name, (family.launch.key, here), run).offer()
        elif not here and (running := [one for one in terminals.running(self.window) if one.family == family]):
            self._ask_again(family, running, resume=resume)
        else:
            self._run(family, here, resume=resume)

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
        asks = adapter.settings.of(self.window, "review") == "before"
        script = sublime.load_binary_resource(SCRIPT) if adapter.settings.value("agents_use_editor") else b""

        def look() -> tuple[Start, tuple[list[str], list[str]] | str]:
            """What is there, and the commands for a new and for the last conversation, or why there are none."""
            found = starting.look(family, setting, folder, os.environ, script)
            how: dict[str, Any] = {"is_decided": not asks or found.approval is not None, "mcp": found.mcp}
            try:
                return found, (
                    terminals.command_of(family, setting, resume=False, **how),
                    terminals.command_of(family, setting, resume=True, **how),
                )
            except LookupError as missing:
                return found, str(missing)

        def looked(result: tuple[Start, tuple[list[str], list[str]] | str]) -> None:
            found, commands = result
            if isinstance(commands, str):
                say(self.window, commands)
                return

            def start(command: list[str]) -> None:
                if asks and found.approval is not None and found.mode in family.silent_modes:
                    say(self.window, OWN_MODE.format(name=family.name, mode=found.mode))
                location = adapter.settings.of(self.window, "terminal_location")
                terminals.open_terminal(self.window, family, folder, variables, command, location)

            anew, again = commands
            if resume is None and found.can_resume:
                last = "The last one in this folder"
                choices: list[PanelItem] = [
                    ("New Conversation", "", lambda: start(anew)),
                    ("Resume Conversation", last, lambda: start(again)),
                ]
                choose(self.window, choices, f"The conversation to run {family.name} in")
            else:
                start(again if resume else anew)

        adapter.on_another_thread(look, looked)


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
    identifier = WindowId(window.id())
    _ask_server(
        window,
        lambda companion: companion.terminal_environment(identifier, family),
        lambda found: answered(*found),
    )


def _ask_server(
    window: sublime.Window, question: Callable[[Companion], T | None], answered: Callable[[T], object]
) -> None:
    """Ask the companion about the server of a window; say so if that has none, or if no answer comes."""
    adapter = package.adapter()
    if adapter is None:
        return
    waiting = [True]

    def answer(result: T | None) -> None:
        if not waiting:
            return
        waiting.clear()
        if result is None:
            say(window, "This window has no server yet. If that does not change, restart Sublime Text.")
        else:
            answered(result)

    def silent() -> None:
        waiting.clear()
        say(window, NO_ANSWER)

    starting = partial(say, window, STARTING)
    adapter.ask(question, answer)
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


IN_CLIPBOARD = "The text is in the clipboard."
NO_FILE = "This tab has no file yet. Save it first: a CLI reads files from the disk."


class _Named(NamedTuple):
    """A file or a folder to name."""

    path: str
    lines: Sequence[Lines] = ()
    """Empty for the whole file."""


What = Literal["", "file", "line", "selection"]
"""What to mention of the active file. Empty: the selected lines if there are any, else the whole file."""


class QwenCompanionSendCommand(sublime_plugin.WindowCommand):
    """Mention the selected lines in the prompt of the running CLI, or the file; or what a menu was opened on.

    It may have a text already. The person presses Enter. The CLI reads the file from the disk, so a tab without a file
    can't be sent and unsaved changes are not included. A message says so.
    """

    def run(self, what: What = "", **menu: Any) -> None:
        """Send it to the CLI of the window whose terminal had the focus last.

        `menu` is what the menu of the side bar or of a tab gives.
        """
        on = Menu.of(menu)
        if on.was_used:
            self._send_chosen(on.chosen(self.window))
            return
        view = self._view()
        path = view.file_name() if view else None
        if view is None or path is None:
            say(self.window, NO_FILE)
            return
        lines = _lines(view, what)
        if lines is None:
            say(self.window, "Nothing is selected.")
        else:
            _send_somewhere(self.window, [_Named(path, lines)])

    def is_visible(self, what: What = "", **menu: Any) -> bool:
        """Whether there is a file with something to send, and a terminal could run here."""
        if not is_installed(TERMINUS):
            return False
        on = Menu.of(menu)
        if on.was_used:
            return bool(on.chosen(self.window))
        view = self._view()
        return view is not None and view.file_name() is not None and _lines(view, what) is not None

    def _send_chosen(self, chosen: Sequence[str]) -> None:
        adapter = package.adapter()
        if not chosen:
            say(self.window, NO_FILE)
        elif adapter:
            named = [_Named(path) for path in chosen]
            if_there(adapter, self.window, chosen, lambda _: _send_somewhere(self.window, named))

    def _view(self) -> sublime.View | None:
        """The active tab, or the last one of the person's own if a terminal, a diff or a chat is active."""
        view, adapter = self.window.active_view(), package.adapter()
        if view and is_code(view):
            return view
        return adapter.focus.last_code(self.window) if adapter else None


def _lines(view: sublime.View, what: What) -> list[Lines] | None:
    """The lines to name, an empty list for the whole file, None if nothing is selected."""
    if what == "line":
        rows = sorted({view.rowcol(region.b)[0] + 1 for region in view.sel()})
        return [(row, row) for row in rows]
    selected = [] if what == "file" else _selected_lines(view)
    return None if what == "selection" and not selected else selected


def _selected_lines(view: sublime.View) -> list[Lines]:
    """The lines that have selected characters."""
    found: list[Lines] = []
    for region in view.sel():
        if region.empty():
            continue
        # A selection up to the beginning of a line does not include that line.
        first, last = view.rowcol(region.begin())[0] + 1, view.rowcol(region.end() - 1)[0] + 1
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _send_somewhere(window: sublime.Window, named: Sequence[_Named]) -> None:
    """Send to the CLI whose terminal had the focus last, or ask which one, or offer to run one."""
    adapter = package.adapter()
    if adapter and (why := adapter.refusal(window, [one.path for one in named])):
        say(window, why)
        return
    send: Callable[[Terminal], object] = lambda target: _send(window, target, named)  # noqa: E731
    running = terminals.running(window)
    last = running[0] if running else None
    # Without the companion nobody is told by a connection, but a text can be typed.
    is_there = adapter is not None and adapter.thread.stop_reason is None and not adapter.is_starting
    if adapter and is_there and (last is None or (last.family and last.family.door == "websocket")):
        files = [(one.path, one.lines) for one in named]
        identifier, family = WindowId(window.id()), last.family if last else None

        def mentioned(answer: tuple[int, list[str]]) -> None:
            heard, left = answer
            if not heard:
                _choose(window, running, send)
            elif left:
                say(window, "A file can't be sent: its name would press keys, or name another file.")
            else:
                _say_unsaved(window, named)

        adapter.ask(lambda companion: companion.mention(identifier, files, family), mentioned)
        return
    _choose(window, running, send)


def _choose(window: sublime.Window, running: Sequence[Terminal], send: Callable[[Terminal], object]) -> None:
    if running and (len(running) == 1 or running[0].focused_at):
        send(running[0])
        return
    targets = running or terminals.others(window)
    items: list[PanelItem] = [(f"Send to {one.title}", one.folder, partial(send, one)) for one in targets]
    if not running:
        items += terminals.offers_to_run(window)
    choose(window, items, "The CLI to send it to" if running else "No CLI was started in this window")


def _send(window: sublime.Window, target: Terminal, named: Sequence[_Named]) -> None:
    launch = target.family.launch if target.family else None
    texts = [mention(one.path, target.folder, launch, one.lines) for one in named]
    sendable = [text for text in texts if text is not None]
    if sendable:
        text = ShownText("".join(sendable))
        paste(target, window, text, done_or_copied(window, text, IN_CLIPBOARD), adds=True)
    if len(sendable) < len(texts):
        what = "This file" if len(texts) == 1 else "A file"
        say(window, f"{what} can't be sent: the control characters in its name would press keys in the terminal.")
        return
    _say_unsaved(window, named)


def _say_unsaved(window: sublime.Window, named: Sequence[_Named]) -> None:
    """The CLI gets the names of files, not their texts."""
    dirty = [one.path for one in named if (view := window.find_open_file(one.path)) and view.is_dirty()]
    if dirty:
        say(window, f"{PurePath(dirty[0]).name} has unsaved changes: the CLI reads it as it is on the disk.")


PANEL = "QwenCompanion Elsewhere"
"""An output panel, since it shows tokens: the editor writes the text of a tab to the disk with its session."""
ELSEWHERE_STEP = 1000
"""Milliseconds between two checks whether the CLI has come."""
ELSEWHERE_PATIENCE = 60
"""How many checks find no CLI before the person is told."""
ELSEWHERE_LOOKS = 900
START = f"Then start the CLI there: {STARTS}. Type /ide enable, in Claude Code /ide, if it doesn't connect. {ONLY_HERE}"
REFUSED = {
    "token": (
        "A CLI has reached this window with a token that is not valid. Paste the lines again on the other side, and "
        "start the CLI after that in the same shell."
    ),
    "host": (
        "Something has reached this window under a host name that is not allowed. The CLI has to reach it as 127.0.0.1 "
        "or host.docker.internal."
    ),
}
NOT_REACHED: dict[Place, str] = {
    "ssh": (
        "Nothing has reached this window yet. Is the connection with “-R” still open, and did it say “remote port "
        "forwarding failed”? Then the port is taken on {host}: log out of the older connections."
    ),
    "container": (
        "Nothing has reached this window yet. A container reaches it as host.docker.internal in Docker Desktop, and on "
        "Linux only if it was started with “--network host”."
    ),
    "wsl": (
        "Nothing has reached this window yet. WSL reaches it only with mirrored networking, after “wsl --shutdown”."
    ),
}
IDE_MODE = "If the last line says that the editor answers, type “/ide enable” in the CLI, in Claude Code “/ide”."


class QwenCompanionConnectElsewhereCommand(sublime_plugin.WindowCommand):
    """Connect a CLI that runs over SSH, in a container or in WSL: show what to paste, and wait for it."""

    def is_visible(self, **_args: object) -> bool:
        """Not in a diff or a chat, whose palette is about them."""
        return package.is_set_up_here(self.window.active_view())

    def run(self, place: str | None = None, host: str | None = None, folders: Mapping[str, str] | None = None) -> None:
        """Ask for what is not given.

        `place` is "ssh", "container" or "wsl", `host` what `ssh` takes, `folders` what the window's folders are called
        there.
        """
        kind: Place | None = next((each for each in PLACES if each == place), None)
        if not self.window.folders():
            say(self.window, NO_FOLDER)
        elif kind is None:
            choices: list[PanelItem] = [
                (caption, "", lambda each=each: self.run(each, host, folders)) for each, caption in PLACES.items()
            ]
            choose(self.window, choices, "Where the CLI runs")
        elif kind == "ssh" and not (host or "").strip():
            self.window.show_input_panel("SSH host:", "", lambda text: self._with_host(text, folders), None, None)
        else:
            where = Elsewhere(kind, (host or "").strip())
            self._ask_folders(where, list(self.window.folders()), dict(folders or {}), dict(folders or {}))

    def _with_host(self, text: str, folders: Mapping[str, str] | None) -> None:
        if text.strip():
            self.run("ssh", text, folders)

    def _ask_folders(self, where: Elsewhere, left: list[str], named: dict[str, str], given: Mapping[str, str]) -> None:
        """Ask what each folder is called there, one after the other."""
        while left and left[0] in given:
            left = left[1:]
        if not left:
            self._offer(where, named)
            return
        folder, *rest = left

        def done(text: str) -> None:
            if re.match(r"/|[A-Za-z]:[\\/]", text.strip()):
                named[folder] = text.strip()
                self._ask_folders(where, rest, named, given)
            elif text.strip():
                say(self.window, f"{text.strip()} is not an absolute path.")

        caption = f"{PurePath(folder).name} is there at:"
        self.window.show_input_panel(caption, self._guess(where, folder), done, None, None)

    def _guess(self, where: Elsewhere, folder: str) -> str:
        adapter = package.adapter()
        known: Mapping[str, str] = adapter.settings.of(self.window, "path_maps") if adapter else {}
        drive = re.match(r"([A-Za-z]):[\\/]", folder)
        if folder not in known and where.place == "wsl" and drive and sys.platform == "win32":
            return f"/mnt/{drive[1].lower()}/{folder[3:]}".replace("\\", "/")
        return known.get(folder, folder)

    def _offer(self, where: Elsewhere, named: dict[str, str]) -> None:
        adapter, number = package.adapter(), self.window.id()
        if adapter is None:
            return
        self._keep(named)
        adapter.settings.look(self.window)

        def show(offer: ElsewhereOffer) -> None:
            folders = {folder: named[folder] for folder in self.window.folders() if folder in named}
            found = steps(where, offer.port, offer.tokens, folders)
            to_clipboard(ShownText("\n".join(found[-1].lines) + "\n"))
            _Waiting(self.window, where, found).begin()

        _ask_server(self.window, lambda companion: companion.offer_elsewhere(WindowId(number), where.words), show)

    def _keep(self, named: Mapping[str, str]) -> None:
        """Keep the names in the window's project, as far as they differ."""
        data: dict[str, Any] = self.window.project_data() or {}
        own = _object_in(_object_in(data, "settings"), PROJECT_KEY)
        before = _object_in(own, "path_maps")
        maps = {here: there for here, there in before.items() if here not in named}
        maps |= {here: there for here, there in named.items() if there != here}
        if maps != before:
            own["path_maps"] = maps
            self.window.set_project_data(data)


def _object_in(above: dict[str, Any], name: str) -> dict[str, Any]:
    """An object of a project, which may have anything else in its place."""
    if not isinstance(above.get(name), dict):
        above[name] = {}
    return above[name]


class _Waiting:
    """Shows what to paste, and waits until the CLI has come. Of those of a window only the last one does."""

    last: ClassVar[dict[int, _Waiting]] = {}
    """By the ids of the windows."""

    def __init__(self, window: sublime.Window, where: Elsewhere, found: list[Instruction]) -> None:
        self._window = window
        self._where = where
        self._looks = 0
        self._panel = window.create_output_panel(PANEL)
        self._panel.settings().update({"word_wrap": True, "line_numbers": False, "gutter": False})
        title = f"Connect a CLI {where.words}. The lines of the last step are in the clipboard; they hold a token."
        parts = [f"{at}. {step.title}\n\n" + "\n".join(step.lines) for at, step in enumerate(found, 1)]
        self._text = "\n\n".join([title, *parts, f"{len(found) + 1}. {START}"])

    def begin(self) -> None:
        """Show it."""
        self.last[self._window.id()] = self
        self._show("Waiting for the connection…")
        self._window.run_command("show_panel", {"panel": f"output.{PANEL}"})
        self._look()

    def _show(self, state: str) -> None:
        if self._panel.is_valid():
            # What is selected in it is about to be copied.
            edit(self._panel, [smallest_edit(text_of(self._panel), f"{self._text}\n\n{state}\n")])

    def _look(self) -> None:
        adapter, number, words = package.adapter(), self._window.id(), self._where.words
        if adapter and self._is_last and self._window.is_valid() and self._panel.is_valid():
            adapter.ask(lambda companion: companion.state_elsewhere(WindowId(number), words), self._looked)

    @property
    def _is_last(self) -> bool:
        return self.last.get(self._window.id()) is self

    def _looked(self, state: ElsewhereState) -> None:
        if not self._is_last:
            return
        self._looks += 1
        if state.clis:
            done = f"{', '.join(state.clis)} is connected."
            self._show(done)
            say(self._window, done)
            return
        if state.refused:
            self._tell(REFUSED[state.refused], is_news=self._looks < ELSEWHERE_PATIENCE)
        elif self._looks >= ELSEWHERE_PATIENCE:
            self._tell(f"{NOT_REACHED[self._where.place].format(host=self._where.host)} {IDE_MODE}", is_news=False)
        if self._looks < ELSEWHERE_LOOKS:
            sublime.set_timeout(self._look, ELSEWHERE_STEP)

    def _tell(self, why: str, *, is_news: bool) -> None:
        self._show(why)
        if is_news or self._looks == ELSEWHERE_PATIENCE:
            self._looks = max(self._looks, ELSEWHERE_PATIENCE)  # once is enough
            say(self._window, why)
