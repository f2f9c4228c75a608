"""The terminals of the package Terminus: getting it, starting a CLI in one, finding it again, typing into its prompt.

What is known about a terminal is kept in the settings of its view, so a reload of this package loses nothing.
Facts: docs/protocols/sublime.md#terminus.
"""

from __future__ import annotations

import math
import os
import secrets
import sys
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import sublime

from ...clis import shell
from ...clis.families import FAMILIES, CliFamily
from ...clis.starting import settings_folder
from ...platforms import programs
from ...visible import ShownText
from .. import package_control
from ..package_control import enable, is_disabled, is_installed
from ..panels import PanelItem, choose, say
from ..windows import SINGLE, SPLIT, is_terminal

if TYPE_CHECKING:
    from ...clis.shell import Command
    from ..adapter import Adapter

TERMINAL_SETTING = "qwen_companion.terminal"
"""Set on the view of a terminal that we opened: see `Terminal`."""
FOCUSED_SETTING = "qwen_companion.terminal_focused_at"
"""Set on the same view: when it last had the focus, in Unix nanoseconds."""
OPENED_COMMAND = "qwen_companion_terminal_opened"
_TERMINUS = "Terminus.terminus"
RUN_HOLDER = "_qwen_companion_run"

LOOKED_FOR = 5.0
"""Seconds for which it is known which CLIs are there."""

NOT_OPENED = "Terminus has opened no terminal for {name} yet. If it was just installed, restart Sublime Text."
OPENING = 10_000
"""Milliseconds after which a terminal that was not opened is told."""
_opening: dict[str, tuple[int, str]] = {}
"""The terminals that Terminus is about to open: their names, with their windows and tags."""


class RunnableClis:
    """Which CLIs are on this computer, as far as that can be seen. Used on the UI thread only."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._missing: frozenset[str] = frozenset()
        self._until = 0.0
        """The monotonic time at which it is looked again; endless while that is being done."""

    def has(self, key: str) -> bool:
        """Whether a family is there, or was not looked for yet. Looks for all of them now and then."""
        if time.monotonic() >= self._until:
            self._until = math.inf
            commands = [(each, self._adapter.settings.value(f"{each.launch.key}_command")) for each in FAMILIES]
            self._adapter.on_another_thread(partial(_missing, commands), self._looked)
        return key not in self._missing

    def _looked(self, missing: frozenset[str]) -> None:
        self._missing = missing
        self._until = time.monotonic() + LOOKED_FOR


@cache
def _login() -> Mapping[str, str]:
    from ...clis.environment import read_login_environment  # noqa: PLC0415 - it brings asyncio, and this is another thread

    return read_login_environment()


def _missing(commands: Sequence[tuple[CliFamily, Command]]) -> frozenset[str]:
    """The keys of those that are not on the PATH and have never run: one may be an alias or a function of a shell."""
    gone = [family for family, command in commands if not shell.has_cli([command], _login())]
    return frozenset(family.launch.key for family in gone if not os.path.isdir(settings_folder(family, _login())))


@dataclass(frozen=True)
class Terminal:
    """A CLI that runs in a terminal of a window."""

    view: sublime.View
    family: CliFamily | None
    """None for a terminal that the person opened: what runs there is unknown."""
    folder: str = ""
    tag: str = ""

    @property
    def title(self) -> str:
        """The title of its tab."""
        return self.view.name() or "Terminal"

    @property
    def focused_at(self) -> int:
        """When it last had the focus, in Unix nanoseconds; 0 for never."""
        at = self.view.settings().get(FOCUSED_SETTING)
        return at if isinstance(at, int) else 0


def family_of(key: str) -> CliFamily | None:
    """The family with this key in our commands."""
    return next((family for family in FAMILIES if family.launch.key == key), None)


def running(window: sublime.Window) -> list[Terminal]:
    """The CLIs that run in terminals of a window, the most recently focused first."""
    found: list[Terminal] = []
    for view in _live(window):
        mark = _mark_of(view)
        if mark and "cli" in mark:
            found.append(Terminal(view, family_of(mark["cli"]), mark["folder"], mark["tag"]))
    return sorted(found, key=lambda terminal: -terminal.focused_at)


def others(window: sublime.Window) -> list[Terminal]:
    """The terminals of a window that the person opened."""
    return [Terminal(view, None) for view in _live(window) if _mark_of(view) is None]


def offers_to_run(window: sublime.Window) -> list[PanelItem]:
    """For each CLI, a row that runs it in a terminal of a window."""
    run = [partial(window.run_command, "qwen_companion_run", {"cli": family.launch.key}) for family in FAMILIES]
    return [(f"Run {family.name}", "", call) for family, call in zip(FAMILIES, run, strict=True)]


def _live(window: sublime.Window) -> list[sublime.View]:
    views = [*window.views(), *(view for _, view in _panels(window))]
    return [view for view in views if is_terminal(view) and not view.settings().get("terminus_view.finished")]


def open_terminal(
    window: sublime.Window,
    family: CliFamily,
    folder: str,
    variables: Mapping[str, str],
    command: list[str],
    location: str,
) -> None:
    """Run a CLI's command in a new terminal of Terminus and give it the focus. Say so if none has opened."""
    # The same tag would end the terminal that has it.
    taken = {terminal.tag for terminal in running(window)} | {
        tag for number, tag in _opening.values() if number == window.id()
    }
    key, number = family.launch.key, 1
    while (tag := key if number == 1 else f"{key}-{number}") in taken:
        number += 1
    title = family.name if number == 1 else f"{family.name} {number}"
    mark: dict[str, Any] = {"cli": key, "folder": folder, "tag": tag}
    where: dict[str, Any] = {"panel_name": title} if location == "panel" else {"show_in_panel": False}
    if location == "split":
        mark["split"] = _split(window)
    name = _open(window, mark, {**_arguments(title, folder, variables, command), **where, "tag": tag})

    def look() -> None:
        # Of one that opens after a reload the next instance hears.
        if _opening.pop(name, None) and window.is_valid() and not is_running(name):
            say(window, NOT_OPENED.format(name=family.name))

    sublime.set_timeout(look, OPENING)


def run_once(window: sublime.Window, title: str, folder: str, variables: Mapping[str, str], command: list[str]) -> str:
    """Run a command in a tab with a new terminal of Terminus, with the person's login environment.

    Returns a name for `has_begun` and `is_running`. Nothing is sent there. Raises LookupError with a sentence if the
    program is missing.
    """
    if sys.platform == "win32":
        line = shell.plain_windows_command(command)
    else:
        line = shell.plain_command(shell.usual_shell(os.environ), command)
    return _open(window, {}, {**_arguments(title, folder, variables, line), "show_in_panel": False})


def _open(window: sublime.Window, mark: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    name = secrets.token_hex(8)
    _opening[name] = window.id(), mark.get("tag", "")
    hook = [OPENED_COMMAND, {"mark": {**mark, "run": _this_run(), "name": name}}]
    window.run_command("terminus_open", {**arguments, "post_view_hooks": [hook]})
    return name


def has_begun(name: str) -> bool:
    """Whether the terminal of a command was opened; it may be closed again."""
    return name not in _opening


def is_running(name: str) -> bool:
    """Whether a command runs in a terminal of ours: it has begun, and neither has it ended nor was its tab closed."""
    marks = [_mark_of(view) for window in sublime.windows() for view in _live(window)]
    return any(mark and mark.get("name") == name for mark in marks)


def _mark_of(view: sublime.View) -> dict[str, Any] | None:
    """What `opened` has set on a terminal of ours in this run of the editor; None for any other view.

    A project gives its settings to each view, and a tab that the editor restored at its start holds the text of a
    terminal that has ended: neither knows the random name of this run.
    """
    mark: Any = view.settings().get(TERMINAL_SETTING)
    return mark if isinstance(mark, dict) and mark.get("run") == _this_run() else None


def _arguments(title: str, folder: str, variables: Mapping[str, str], command: list[str]) -> dict[str, Any]:
    return {
        "cmd": [_unexpanded(word) for word in command],
        "cwd": _unexpanded(folder),
        "env": {**variables, **programs.WITHOUT_CURRENT_FOLDER},
        "title": _unexpanded(title),
        "focus": True,
        # Otherwise a tab that the editor restores at its start would start the command again, with an old port.
        "reactivable": False,
        # If the command fails, its output stays on the screen.
        "auto_close": "on_success",
    }


def opened(view: sublime.View, mark: dict[str, Any]) -> None:
    """Terminus has opened a terminal of ours."""
    _opening.pop(mark.get("name", ""), None)
    settings = view.settings()
    settings.set(TERMINAL_SETTING, mark)
    settings.set(FOCUSED_SETTING, time.time_ns())
    # Terminus keeps the arguments and the editor writes them to the disk with the session: remove the token.
    arguments = settings.get("terminus_view.args")
    if isinstance(arguments, dict):
        settings.set("terminus_view.args", {**arguments, "env": {}})


def activated(view: sublime.View) -> None:
    """A view got the focus."""
    settings = view.settings()
    if _mark_of(view):
        settings.set(FOCUSED_SETTING, time.time_ns())


def closing(view: sublime.View) -> None:
    """A view is about to close. Its group goes too if we made that and nothing else is in it."""
    window = view.window()
    mark = _mark_of(view)
    if window and mark and mark.get("split"):
        sublime.set_timeout(lambda: _unite(window))


def show(terminal: Terminal, window: sublime.Window) -> None:
    """Bring a terminal to the screen and give it the focus."""
    if panel := _panel(terminal.view, window):
        window.run_command("show_panel", {"panel": panel})
    window.focus_view(terminal.view)


def leave(terminal: Terminal, window: sublime.Window, code: sublime.View | None) -> None:
    """Give the focus back to the text, and hide the panel if the terminal is in one."""
    if _panel(terminal.view, window):
        window.run_command("hide_panel")
    if code:
        window.focus_view(code)


class Pty(NamedTuple):
    """The pseudo-terminal that a view shows."""

    pid: int
    """The process that it was opened with, which leads its session."""
    descriptor: int | None
    """Terminus's end of it; None on Windows."""


def pty_of(view: sublime.View) -> Pty | None:
    """The pseudo-terminal of a view; None if Terminus doesn't tell."""
    process = getattr(_hosted(view), "process", None) if view.is_valid() else None
    pid, descriptor = getattr(process, "pid", None), getattr(process, "fd", None)
    if not isinstance(pid, int) or pid <= 0:
        return None
    return Pty(pid, descriptor if isinstance(descriptor, int) and sys.platform != "win32" else None)


def send(terminal: Terminal, window: sublime.Window, text: ShownText) -> bool:
    """Paste a text into the prompt of the program in a terminal. Returns whether it was typed.

    It is not if Terminus would type it into another terminal, nor if the program takes no paste: then each line would
    be submitted for itself, and a tab would be a key. Only `actions` calls this, which knows that it is a CLI.
    """
    prompt = text.as_prompt
    hosted = _hosted(terminal.view)
    finder = getattr(sys.modules.get(f"{_TERMINUS}.commands"), "TerminusFindTerminalMixin", None)
    # Without a tag Terminus takes the terminal that had the focus last, and with one only in the active window.
    tag = {"tag": terminal.tag} if terminal.tag else {}
    if hosted is None or finder is None or finder().find_terminal(window, **tag) is not hosted:
        return False
    if not {"\n", "\t"}.isdisjoint(prompt) and not hosted.bracketed_paste_mode_enabled():
        return False
    window.run_command("terminus_send_string", {"string": prompt, "bracketed": True, **tag})
    return True


def _hosted(view: sublime.View) -> Any:
    """Terminus's own object for a terminal (docs/protocols/sublime.md#terminus); None if it has none."""
    kind = getattr(sys.modules.get(f"{_TERMINUS}.terminal"), "Terminal", None)
    return kind.from_id(view.id()) if kind else None


def command_of(
    family: CliFamily, setting: shell.Command, *, resume: bool, is_decided: bool, mcp: str = ""
) -> list[str]:
    """The command that Terminus runs for a family.

    Without `is_decided` it is told to propose changes before it writes them; `mcp` is a file with MCP servers for it.
    Raises LookupError with a sentence if the program is missing.
    """
    if sys.platform != "win32":
        login = shell.usual_shell(os.environ)
        return shell.login_command(login, family.launch, setting, resume=resume, is_decided=is_decided, mcp=mcp)
    return shell.windows_command(family.launch, setting, resume=resume, is_decided=is_decided, mcp=mcp)


def _panels(window: sublime.Window) -> list[tuple[str, sublime.View]]:
    found = [(name, window.find_output_panel(name.removeprefix("output."))) for name in window.panels()]
    return [(name, view) for name, view in found if view]


def _panel(view: sublime.View, window: sublime.Window) -> str | None:
    return next((name for name, one in _panels(window) if one == view), None)


def _split(window: sublime.Window) -> bool:
    """Focus the last group; make a second one first if there is only one. Returns whether it was made."""
    made = window.num_groups() == 1
    if made:
        window.set_layout(SPLIT)
    window.focus_group(window.num_groups() - 1)
    return made


def _unite(window: sublime.Window) -> None:
    if window.is_valid() and window.layout() == SPLIT and not window.sheets_in_group(1):
        window.set_layout(SINGLE)


def _unexpanded(text: str) -> str:
    """Terminus expands variables such as $file in its arguments."""
    return text.replace("$", "\\$")


def _this_run() -> str:
    """A name for this run of the editor. It survives a reload of this package."""
    holder = sys.modules.setdefault(RUN_HOLDER, ModuleType(RUN_HOLDER))
    return vars(holder).setdefault("name", secrets.token_hex(8))


TERMINUS = "Terminus"
MISSING = "A CLI runs in the terminals of the package Terminus. Terminus is not installed."
NO_PACKAGE_CONTROL = (
    "A CLI runs in the terminals of the package Terminus, which Package Control installs. "
    "Terminus is not installed, and Package Control is {}."
)
DISABLED = (
    "Terminus is disabled. A CLI runs in the terminals of that package. To enable it, take it out of "
    "“ignored_packages” in your settings, or run “Package Control: Enable Package”."
)
NOT_INSTALLED = "Terminus is not installed yet. Sublime's console may say why (View → Show Console)."
STEP = 500
"""Milliseconds between two looks whether Terminus is there."""
INSTALL_LOOKS = 600
ENABLE_LOOKS = 20
LOADING = 1500
"""Milliseconds that the editor gets to load it."""
_waiting: dict[Hashable, Callable[[], None]] = {}
"""What looks whether Terminus is there, by what then runs."""


class Terminus:
    """Offers to get Terminus in a window for something called `name`, which `run` then runs.

    Of those with the same `key` only the one that was begun last goes on.
    """

    def __init__(self, window: sublime.Window, name: str, key: Hashable, run: Callable[[], None]) -> None:
        self._window = window
        self._name = name
        self._key = window.id(), key
        self._run = run

    def offer(self) -> None:
        """Say what is wrong, and ask what to do about it."""
        what, why = "not installed", MISSING
        get: PanelItem = ("Install Terminus…", "Have Package Control install it", self._install)
        if is_disabled(TERMINUS):
            what, why = "disabled", DISABLED
            get = ("Enable Terminus", "Take it out of “ignored_packages”", self._enable)
        elif not package_control.is_there():
            is_off = is_disabled(package_control.NAME)
            why = NO_PACKAGE_CONTROL.format("disabled" if is_off else "missing")
            again = "Then run this command again, to install Terminus"
            install = partial(self._window.run_command, "install_package_control")
            get = ("Install Package Control…", again, install)
            if is_off:
                get = ("Enable Package Control", again, partial(enable, package_control.NAME))
        say(self._window, why)
        copy = partial(self._window.run_command, "qwen_companion_copy_environment")
        elsewhere = f"To run {self._name} in a terminal outside Sublime Text"
        items = [get, ("Copy Terminal Environment…", elsewhere, copy)]
        choose(self._window, items, f"{self._name} runs in the package Terminus, which is {what}")

    def _enable(self) -> None:
        enable(TERMINUS)
        self._wait(ENABLE_LOOKS, self.offer)

    def _install(self) -> None:
        question = f"Package Control downloads the package Terminus and installs it. {self._name} runs after that."
        if sublime.ok_cancel_dialog(question, "Install", "QwenCompanion"):
            package_control.install(TERMINUS)
            self._wait(INSTALL_LOOKS, lambda: say(self._window, NOT_INSTALLED))

    def _wait(self, looks: int, otherwise: Callable[[], object]) -> None:
        def look() -> None:
            nonlocal looks
            if _waiting.get(self._key) is not look:  # the person has asked for it again
                return
            looks -= 1
            if not is_installed(TERMINUS) and looks and self._window.is_valid():
                sublime.set_timeout(look, STEP)
                return
            del _waiting[self._key]
            if is_installed(TERMINUS):
                sublime.set_timeout(self._run, LOADING)
            elif self._window.is_valid():
                otherwise()

        _waiting[self._key] = look
        sublime.set_timeout(look, STEP)
