"""Package Control, which installs our libraries, and whether other packages of the editor are there or disabled.

The commands of Package Control run on threads of their own and report to the console.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import sublime
import sublime_plugin

from ..editor import sentence
from ..libraries import guard
from ..libraries.bounds import FROM_CHANNEL
from ..libraries.guard import Trouble
from . import package
from .bridge import posted
from .panels import PanelItem, choose, say

if TYPE_CHECKING:
    from .adapter import Adapter

PREFERENCES = "Preferences.sublime-settings"
_DISABLED = "ignored_packages"


def is_installed(name: str) -> bool:
    """Whether a package is installed and enabled. The person's settings for it may exist without it."""
    found = sublime.find_resources(f"{name}.sublime-settings")
    return not is_disabled(name) and any(resource.startswith(f"Packages/{name}/") for resource in found)


def is_disabled(name: str) -> bool:
    """Whether the person, or Package Control for a moment, has disabled a package. It may not be installed at all."""
    return name in _disabled()


def enable(name: str) -> None:
    """Enable a package. The editor loads it a moment later."""
    sublime.load_settings(PREFERENCES).set(_DISABLED, [each for each in _disabled() if each != name])
    sublime.save_settings(PREFERENCES)


def _disabled() -> list[Any]:
    names = sublime.load_settings(PREFERENCES).get(_DISABLED)
    return names if isinstance(names, list) else []


NAME = "Package Control"
SETTINGS = "Package Control.sublime-settings"
WHERE = "https://packagecontrol.io/installation"


def is_there() -> bool:
    """Return whether it is installed and not disabled."""
    return is_installed(NAME)


def how_to_get() -> str:
    """Return what the person has to do if it is not there, as the beginning of a sentence."""
    return "enable Package Control" if is_disabled(NAME) else f"install Package Control from {WHERE}"


def knows(repository: str) -> bool:
    """Return whether a repository is one of its own."""
    known = sublime.load_settings(SETTINGS).get("repositories")
    return isinstance(known, list) and repository in known


def may_know(package: str) -> bool:
    """Return whether it installed a package, perhaps from a copy of the package's repository."""
    settings = sublime.load_settings(SETTINGS)
    mine, known = settings.get("installed_packages"), settings.get("repositories")
    return isinstance(mine, list) and package in mine and isinstance(known, list) and bool(known)


def add(repository: str) -> None:
    """Add a repository to it."""
    sublime.run_command("add_repository", {"url": repository, "unattended": True})


def install(name: str) -> None:
    """Make it install a package. It shows a dialog if it can't."""
    sublime.run_command("install_packages", {"packages": [name]})


def satisfy() -> None:
    """Make it install missing libraries."""
    sublime.run_command("satisfy_libraries")


def is_satisfying() -> bool:
    """Return whether it is installing libraries now.

    It has no interface for that, but Python names its thread after the function that runs there.
    """
    return any("(satisfy)" in thread.name for thread in threading.enumerate())


# Our libraries: messages about them, and requests to Package Control to install them.

QUESTION = (
    "QwenCompanion needs libraries that are not installed. Add its repository to Package Control and install them?"
)
GET_PACKAGE_CONTROL = "{}, then run “Qwen: Repair Libraries”"
PACKAGE = __name__.partition(".")[0]
PATIENCE = 15_000
"""Milliseconds that Package Control gets to install missing libraries if it may know where to find them."""
LOOK = 0.5
"""Seconds between checks of Package Control's progress."""
QUIET = 5.0
"""Seconds without a change after which it is considered finished, unless its thread still runs."""
LIMIT = 600.0
"""Seconds after which waiting ends."""


class Libraries:
    """The libraries of the package. Its methods run on the UI thread; slow work has a thread of its own."""

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._settings = adapter.settings
        self._messenger = adapter.messenger
        self._said: list[str] = []
        self._trouble: Trouble | None = None
        self._asks = False
        self._closed = threading.Event()
        self._repair: threading.Thread | None = None

    @property
    def has_trouble(self) -> bool:
        """Whether something is known to be wrong."""
        return self._trouble is not None

    def close(self) -> None:
        """The package is unloaded."""
        self._closed.set()

    @posted
    def wrong(self, trouble: Trouble) -> None:
        self._trouble = trouble
        if not is_there():
            self._say(trouble.sentence(GET_PACKAGE_CONTROL.format(how_to_get())))
            return
        self._say(trouble.sentence())
        if not _lacks(trouble) or not self._settings.value("offer_libraries") or not self._is_repository_new():
            return
        if may_know(PACKAGE):
            # Package Control installs missing libraries when the editor starts.
            sublime.set_timeout_async(self._ask_if_missing, PATIENCE)
        else:
            self._ask(sublime.active_window())

    def repair(self, window: sublime.Window) -> None:
        """Reinstall the libraries with problems. Ask about the repository again if it is unknown."""
        if self._repair and self._repair.is_alive():
            say(window, "The libraries are being installed already.")
        elif is_there() and self._is_missing() and self._is_repository_new() and not may_know(PACKAGE):
            self._ask(window)
        else:
            self._begin()

    def _say(self, problem: str) -> None:
        self._said.append(problem)
        self._messenger.say(problem)

    def _is_missing(self) -> bool:
        """Whether a library is missing that the channel lacks. One that it has was not downloaded."""
        return _lacks(self._trouble)

    def _ask_if_missing(self) -> None:
        """On the worker thread."""
        if not self._closed.is_set() and any(map(_lacks, guard.look())):
            sublime.set_timeout(lambda: self._ask(sublime.active_window()))

    def _is_repository_new(self) -> bool:
        return not knows(self._settings.value("repository"))

    def _ask(self, window: sublime.Window) -> None:
        """Ask in a panel that stays until it is answered. Escape does not answer it."""
        choices: list[PanelItem] = [
            ("Add the repository and install", self._settings.value("repository"), self._install),
            ("No", "“Qwen: Repair Libraries” asks again", partial(self._remember_answer, offer=False)),
        ]
        choose(window, choices, QUESTION, stays=True)

    def _install(self) -> None:
        self._remember_answer(offer=True)
        add(self._settings.value("repository"))
        self._begin()

    def _remember_answer(self, *, offer: bool) -> None:
        if self._settings.value("offer_libraries") != offer:
            self._settings.keep("offer_libraries", offer)

    def _begin(self) -> None:
        self._repair = threading.Thread(target=self._run, name="qwen-companion-repair", daemon=True)
        self._repair.start()

    def _run(self) -> None:
        known = self._trouble
        troubles = guard.look()
        if not troubles and known is not None and known.kind == "damaged":
            troubles = [known]  # an import failed although all files exist
        if wrong := [trouble for trouble in troubles if trouble.kind != "loaded"]:
            if not is_there():
                self._say(sentence(GET_PACKAGE_CONTROL.format(how_to_get())))
                return
            names = {name for trouble in wrong for name in trouble.libraries}
            busy, kept = guard.uninstall(names)
            if kept:
                self._say(f"{_list(kept)} can't be removed, so Package Control does not reinstall it.")
                return
            if busy:
                self._say(f"Restart Sublime Text: {_list(busy)} is in use and will be reinstalled at the next start.")
                return
            sublime.set_timeout(satisfy)
            if not self._wait():
                return
            troubles = guard.look()
        self._trouble = troubles[0] if troubles else None
        if self._trouble is None:
            said, self._said = self._said, []
            self._messenger.solved("The libraries are installed." if wrong else "The libraries are in order.", said)
        elif self._trouble.kind == "loaded":
            self._say(self._trouble.sentence())
        else:
            self._say(f"Package Control could not repair it: {self._trouble.what}. Sublime's console says why.")
            if self._is_missing() and self._is_repository_new():
                sublime.set_timeout(lambda: self._ask(sublime.active_window()))

    def _wait(self) -> bool:
        """Wait for Package Control. Returns False if the package is unloaded meanwhile."""
        begun = changed = time.monotonic()
        before = None
        while not self._closed.wait(LOOK):
            now, troubles = time.monotonic(), guard.look()
            if troubles != before or is_satisfying():
                before, changed = troubles, now
            if not is_satisfying() and all(trouble.kind == "loaded" for trouble in troubles):
                return True
            if now - changed > QUIET or now - begun > LIMIT:
                return True
        return False


def _lacks(trouble: Trouble | None) -> bool:
    return trouble is not None and trouble.kind == "missing" and not FROM_CHANNEL.issuperset(trouble.libraries)


def _list(names: list[str]) -> str:
    return ", ".join(sorted(set(names)))


class QwenCompanionRepairLibrariesCommand(sublime_plugin.WindowCommand):
    """Reinstall the libraries that are missing or do not fit."""

    def run(self) -> None:
        """In the background; what came of it is said in the status bar and the console."""
        if adapter := package.adapter():
            adapter.libraries.repair(self.window)

    def is_visible(self) -> bool:
        """Whether something is wrong with them. By its name it runs at any time."""
        adapter = package.adapter()
        return adapter is None or adapter.libraries.has_trouble or adapter.thread.stop_reason is not None
