"""Which assumptions hold in this build of the editor, as the check found out. All others are unknown."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import sublime

from ..platforms.files import replace_file
from .assumptions import ASSUMPTIONS

FILE = "editor.json"


class EditorFacts:
    """The answers of the latest check, kept in the cache of the editor. Lives on the UI thread."""

    def __init__(self) -> None:
        self._answers: Mapping[str, bool] | None = None

    def holds(self, name: str) -> bool:
        """Whether an assumption is known to hold in this build; False, the careful answer, if nobody knows."""
        return self._answer(name) is True

    def fails(self, name: str) -> bool:
        """Whether an assumption is known not to hold in this build; False if nobody knows."""
        return self._answer(name) is False

    def _answer(self, name: str) -> bool | None:
        if name not in ASSUMPTIONS:
            raise KeyError(name)
        if self._answers is None:
            self._answers = _read(os.path.join(cache_folder(), FILE))
        return self._answers.get(name)

    def keep(self, answers: Mapping[str, bool]) -> None:
        """Remember the answers of a check. Raises OSError if they cannot be written; they count all the same."""
        self._answers = dict(answers)
        write(FILE, json.dumps({"build": _build(), "answers": self._answers}, indent=2))


EDITOR = EditorFacts()
"""The one of this instance of the package."""


def cache_folder() -> str:
    """The folder of this package in the cache of the editor."""
    return os.path.join(sublime.cache_path(), "QwenCompanion")


def write(name: str, text: str) -> None:
    """Write a file of the cache, or raise OSError. A reader never sees half of it."""
    replace_file(os.path.join(cache_folder(), name), text.encode())


def _build() -> str:
    return f"{sublime.version()} {sublime.channel()} {sublime.platform()} {sublime.arch()}"


def _read(path: str) -> Mapping[str, bool]:
    try:
        with open(path, encoding="utf-8") as file:
            kept: Any = json.load(file)
        answers = kept["answers"] if kept["build"] == _build() else {}
        return {name: answer for name, answer in answers.items() if isinstance(answer, bool)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
