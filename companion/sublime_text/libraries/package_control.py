"""Package Control, as far as it is needed. Its commands work on threads of their own and report to the console."""

from __future__ import annotations

import threading

import sublime

NAME = "Package Control"
SETTINGS = "Package Control.sublime-settings"
WHERE = "https://packagecontrol.io/installation"


def is_there() -> bool:
    """Whether it is installed and not disabled."""
    ignored = sublime.load_settings("Preferences.sublime-settings").get("ignored_packages")
    if isinstance(ignored, list) and NAME in ignored:
        return False
    return any(resource.startswith(f"Packages/{NAME}/") for resource in sublime.find_resources(SETTINGS))


def knows(repository: str) -> bool:
    """Whether it looks for packages and libraries in a repository."""
    known = sublime.load_settings(SETTINGS).get("repositories")
    return isinstance(known, list) and repository in known


def may_know(package: str) -> bool:
    """Whether it has installed a package, perhaps from a copy of the package's repository."""
    settings = sublime.load_settings(SETTINGS)
    mine, known = settings.get("installed_packages"), settings.get("repositories")
    return isinstance(mine, list) and package in mine and isinstance(known, list) and bool(known)


def add(repository: str) -> None:
    """Have it look in a repository too."""
    sublime.run_command("add_repository", {"url": repository, "unattended": True})


def satisfy() -> None:
    """Have it install what packages need and what is not there."""
    sublime.run_command("satisfy_libraries")


def is_satisfying() -> bool:
    """Whether it is at that now. It tells nobody, but Python names its thread after the function that runs there."""
    return any("(satisfy)" in thread.name for thread in threading.enumerate())
