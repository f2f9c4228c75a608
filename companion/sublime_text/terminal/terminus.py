"""Gets the package Terminus, whose terminals the CLIs run in: has it enabled or installed, and goes on after that."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

import sublime

from .. import package_control
from ..package_control import enable, is_disabled, is_installed
from ..panels import PanelItem, choose, say

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
