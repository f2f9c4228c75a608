"""Does what the headless editor leaves to its caller: loads Installed Packages and follows its changes.

A package of tests. `AS_PLATFORM` makes the editor claim to run on another platform ("windows-arm64"); `LOAD_ONLY` names
the only package to load.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import sublime
import sublime_plugin

from headless.host import app

PERIOD = 50
"""Milliseconds between looks."""
SUFFIX = ".sublime-package"
CLEANED = "Package Control has cleaned up"
"""Printed when its start is over. On another thread it looks through packages and libraries 2 s after it was loaded."""

if "AS_PLATFORM" in os.environ:
    _system, _, _machine = os.environ["AS_PLATFORM"].partition("-")
    sublime.platform = lambda: _system  # type: ignore[assignment]
    sublime.arch = lambda: _machine  # type: ignore[assignment]

_loaded: dict[str, tuple[int, int]] = {}


def _loader() -> Any:
    """The running editor's loader of packages."""
    editor: Any = app()
    return editor.loader


def plugin_loaded() -> None:
    _loader().add(os.environ["DEFAULT_PACKAGE"])
    _follow()


def _follow() -> None:
    wanted = _installed()
    for name in [name for name, stamp in _loaded.items() if wanted.get(name) != stamp]:
        del _loaded[name]
        _loader().remove(name)
    for name, stamp in wanted.items():
        if name not in _loaded:
            _loaded[name] = stamp
            _loader().add(os.path.join(sublime.installed_packages_path(), name + SUFFIX))
            _follow_cleanup()
    sublime.set_timeout(_follow, PERIOD)


def _follow_cleanup() -> None:
    cleanup: Any = getattr(sys.modules.get("Package Control.package_control.package_cleanup"), "PackageCleanup", None)
    if cleanup is None or cleanup.run.__name__ == "cleaned_up":
        return
    run = cleanup.run

    def cleaned_up(self: Any) -> None:
        try:
            run(self)
        finally:
            print(CLEANED)

    cleanup.run = cleaned_up


def _installed() -> dict[str, tuple[int, int]]:
    """The packages that are there and not disabled, with what tells one version of a file from the next."""
    ignored: Any = sublime.load_settings("Preferences.sublime-settings").get("ignored_packages") or []
    found: dict[str, tuple[int, int]] = {}
    for entry in sorted(os.scandir(sublime.installed_packages_path()), key=lambda entry: entry.name):
        name = entry.name.removesuffix(SUFFIX)
        only: Any = os.environ.get("LOAD_ONLY")
        if name != entry.name and name not in ignored and only in (None, name):
            told = entry.stat()
            found[name] = told.st_mtime_ns, told.st_size
    return found


class WatcherConsoleCommand(sublime_plugin.ApplicationCommand):
    """Run a line as the editor's console does."""

    def run(self, line: str) -> None:
        exec(line, {"sublime": sublime})  # noqa: S102 - that is what a console is for


class WatcherEnvironmentCommand(sublime_plugin.ApplicationCommand):
    """Write the process's variables into a file."""

    def run(self, path: str) -> None:
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(dict(os.environ), file)
        os.replace(path + ".new", path)
