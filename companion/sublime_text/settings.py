"""The settings file of the package and the overrides of projects, as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sublime

from ..agents import InstalledAgent, read_installed
from ..editor import WindowId
from ..exclusion import Sharing
from ..settings import FILE, PROJECT_KEY, STRICTEST, DaemonSettings, Problem, Settings, Values, held, overridden, read
from .chat.opening import AGENTS_FILE

if TYPE_CHECKING:
    from .adapter import Adapter

_KEY = "qwen_companion"
_INSTALLED = "installed"
"""In the file of the agents: those that were installed, by the registry's id."""


class SettingsFile:
    """The settings of the package, which the adapter applies when a value may have changed. Lives on the UI thread.

    The person is told once of each wrong value, and again if it is corrected and becomes wrong again.
    """

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._file = sublime.load_settings(FILE)
        self._reported: set[tuple[Problem, WindowId | None]] = set()
        self._agents = sublime.load_settings(AGENTS_FILE)
        self.installed = self._read_installed()
        """The agents that were installed from the registry, by its ids."""
        self._values = self._read(None)
        self._windows: dict[WindowId, tuple[object, Values]] = {}
        self._glanced: dict[int, object] = {}
        """What `glance` found in each window."""

    @property
    def problems(self) -> list[Problem]:
        """The wrong values in the file and in the projects."""
        return list(
            dict.fromkeys([*self._values.problems, *(p for _, v in self._windows.values() for p in v.problems)])
        )

    def value(self, name: str) -> Any:
        """A setting of the package."""
        return self._values.by_name[name]

    def of(self, window: sublime.Window | None, name: str) -> Any:
        """A setting for a window, whose project may override it."""
        return (self._of(window) if window else self._values).by_name[name]

    def sharing(self, window: sublime.Window) -> Sharing:
        """What may be told of the files of a window."""
        return self._of(window).settings.sharing

    def read(self) -> Settings:
        """The settings that the companion needs, for a window whose project overrides none."""
        return self._values.settings

    def daemon(self) -> DaemonSettings:
        """The settings of the chat, which no project may override."""
        return self._values.daemon

    def by_window(self) -> Mapping[WindowId, Settings]:
        """The settings of `read` for each window, with the overrides of its project."""
        return {WindowId(window.id()): self._of(window).settings for window in sublime.windows()}

    def look(self, window: sublime.Window) -> None:
        """Read the settings of a window's project again: no event reports a change reliably."""
        is_new = window.id() not in self._windows
        self._of(window)
        if is_new:
            self._adapter.configure()

    def glance(self, window: sublime.Window, view: sublime.View) -> None:
        """`look`, if the project's settings have changed in a view of the window since the last time.

        `Window.project_data` makes objects of the whole project, this one of a single key.
        """
        glanced = view.settings().get(PROJECT_KEY)
        if window.id() not in self._glanced or self._glanced[window.id()] != glanced:
            self._glanced[window.id()] = glanced
            self.look(window)

    def start(self) -> None:
        """Report what is wrong already, and notice changes of the files from now on."""
        self._file.add_on_change(_KEY, self._changed)
        self._agents.add_on_change(_KEY, self._agents_changed)
        self._tell()

    def keep(self, name: str, value: bool) -> bool:
        """Write a value into the person's file. False if it has a syntax error: nothing is written over that."""
        if _own() is None:
            return False
        self._file.set(name, value)
        sublime.save_settings(FILE)
        return True

    def keep_installed(self, identifier: str, agent: InstalledAgent | None) -> None:
        """Remember that an agent of the registry is installed; None: that it no longer is."""
        others = {key: each.to_plain() for key, each in self._read_installed().items() if key != identifier}
        self._agents.set(_INSTALLED, others | ({identifier: agent.to_plain()} if agent else {}))
        sublime.save_settings(AGENTS_FILE)
        self._agents_changed()

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._windows.pop(WindowId(window.id()), None)
        self._glanced.pop(window.id(), None)

    def close(self) -> None:
        """Stop calling."""
        self._file.clear_on_change(_KEY)
        self._agents.clear_on_change(_KEY)

    def _read(self, before: Values | None) -> Values:
        own = _own()
        if own is None:
            return held(before)
        # The editor may have read the file while another program was writing it, and has its defaults until it reads it
        # again. What is of `STRICTEST` is as the person's file has it.
        limits = {name: own[name] for name in STRICTEST if name in own}
        return read(
            lambda name: limits.get(name, self._file.get(name)), tuple(each.agent for each in self.installed.values())
        )

    def _read_installed(self) -> dict[str, InstalledAgent]:
        return read_installed(self._agents.get(_INSTALLED))

    def _agents_changed(self) -> None:
        # The file has other things as well.
        if (installed := self._read_installed()) != self.installed:
            self.installed = installed
            self._changed()

    def _changed(self) -> None:
        self._values = self._read(self._values)
        self._windows.clear()
        self._tell()
        self._adapter.configure()

    def _tell(self) -> None:
        wrong = {(problem, None) for problem in self._values.problems}
        wrong |= {(problem, window) for window, (_, values) in self._windows.items() for problem in values.problems}
        for problem, window in sorted(wrong - self._reported, key=str):
            self._adapter.messenger.tell(str(problem), window)
        before = self._reported
        # A value that was corrected is reported again if it becomes wrong again.
        self._reported = wrong | {found for found in before if found[1] not in (None, *self._windows)}
        still = {str(problem) for problem, _ in self._reported}
        self._adapter.messenger.settled({str(problem) for problem, _ in before} - still)

    def _of(self, window: sublime.Window) -> Values:
        project = _in_project(window)
        number = WindowId(window.id())
        known = self._windows.get(number)
        is_new = known is None
        if known is None or known[0] != project:
            name = window.project_file_name() or "The window's project"
            known = self._windows[number] = project, overridden(self._values, project, name)
            self._tell()
            if not is_new:
                self._adapter.configure()
        return known[1]


def _own() -> dict[str, Any] | None:
    """The person's file; None if it has a syntax error, which the editor tells the console, and takes the defaults."""
    try:
        found = sublime.decode_value(sublime.load_resource(f"Packages/User/{FILE}"))
    except FileNotFoundError:
        return {}
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _in_project(window: sublime.Window) -> object:
    settings = (window.project_data() or {}).get("settings")
    return settings.get(PROJECT_KEY) if isinstance(settings, dict) else None
