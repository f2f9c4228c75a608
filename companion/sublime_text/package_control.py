"""Package Control, as far as it is needed, and whether other packages of the editor are there or disabled.

The commands of Package Control run on threads of their own and report to the console.
"""

from __future__ import annotations

import threading
from typing import Any

import sublime

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
