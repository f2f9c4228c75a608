"""The command that connects a CLI on another machine, in a container or in WSL."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

import sublime
import sublime_plugin

from ...clis.elsewhere import ONLY_HERE, PLACES, STARTS, Elsewhere, Instruction, Place, steps
from ...ids import WindowId
from ...settings import PROJECT_KEY
from ...visible import ShownText
from .. import package
from ..buffers import edit, smallest_edit, text_of
from ..panels import PanelItem, choose, say, to_clipboard

if TYPE_CHECKING:
    from ...server.window_screen import ElsewhereOffer, ElsewhereState

PANEL = "QwenCompanion Elsewhere"
"""An output panel, since it shows tokens: the editor writes the text of a tab to the disk with its session."""
STEP = 1000
"""Milliseconds between two checks whether the CLI has come."""
PATIENCE = 60
"""How many checks find no CLI before the person is told."""
LOOKS = 900
NO_FOLDER = "Open a folder first: a CLI connects to the window whose folder it runs in."
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

        def show(offer: ElsewhereOffer | None) -> None:
            if offer is None:
                say(self.window, "This window has no server yet. If that does not change, restart Sublime Text.")
                return
            folders = {folder: named[folder] for folder in self.window.folders() if folder in named}
            found = steps(where, offer.port, offer.tokens, folders)
            to_clipboard(ShownText("\n".join(found[-1].lines) + "\n"))
            _Waiting(self.window, where, found).begin()

        adapter.ask(lambda companion: companion.offer_elsewhere(WindowId(number), where.words), show)

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
            self._tell(REFUSED[state.refused], is_news=self._looks < PATIENCE)
        elif self._looks >= PATIENCE:
            self._tell(f"{NOT_REACHED[self._where.place].format(host=self._where.host)} {IDE_MODE}", is_news=False)
        if self._looks < LOOKS:
            sublime.set_timeout(self._look, STEP)

    def _tell(self, why: str, *, is_news: bool) -> None:
        self._show(why)
        if is_news or self._looks == PATIENCE:
            self._looks = max(self._looks, PATIENCE)  # once is enough
            say(self._window, why)
