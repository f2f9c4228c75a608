"""The time after a reload in which nobody knows yet which diffs go on."""

from __future__ import annotations

from collections.abc import Callable

import sublime

from ..own_views import SIDES, VIEWS


class AwaitedDiffs:
    """The diffs from before a reload until they are known, and the commands that wait for them."""

    def __init__(self, is_reload: Callable[[], bool]) -> None:
        """`is_reload` says whether there was an instance before this one, so that there may be such diffs."""
        self._is_reload = is_reload
        self._are_known = False
        self._later: list[Callable[[], object]] = []

    def __bool__(self) -> bool:
        """Whether it is not known yet which diffs go on."""
        return self._is_reload() and not self._are_known

    def has(self, view: sublime.View) -> bool:
        """Whether a view is that of such a diff."""
        return bool(self) and VIEWS.is_ours(view, *SIDES)

    def later(self, command: Callable[[], object]) -> None:
        """Run a command as soon as that is known."""
        self._later.append(command)

    def known(self) -> None:
        """From now on it is known which diffs go on."""
        self._are_known = True
        commands, self._later = self._later, []
        for command in commands:
            sublime.set_timeout(command)
