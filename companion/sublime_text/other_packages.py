"""Other packages of the editor: whether they are there, and whether they are disabled."""

from __future__ import annotations

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
