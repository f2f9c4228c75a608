"""The parts of Package Control that are needed. Its commands run on their own threads and report to the console."""

from __future__ import annotations

import threading

import sublime

from .other_packages import is_disabled, is_installed

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
