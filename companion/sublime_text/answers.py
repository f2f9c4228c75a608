"""Waiting for an answer of the companion, which may still be starting."""

from __future__ import annotations

from collections.abc import Callable

import sublime


def expect(
    is_over: Callable[[], bool],
    is_starting: Callable[[], bool],
    *,
    patience: Callable[[], int],
    starting: Callable[[], object],
    silent: Callable[[], object],
) -> None:
    """Look whether something is over after `patience` milliseconds.

    While the companion is starting, `starting` is called each time that it is not. After the start it has the whole
    time again, because it answers only then. `silent` is called once, when that has passed.
    """

    def look(was_starting: bool) -> None:
        if is_over():
            return
        is_starting_still = is_starting()
        if is_starting_still:
            starting()
        elif not was_starting:
            silent()
            return
        wait(is_starting_still)

    def wait(was_starting: bool) -> None:
        sublime.set_timeout(lambda: look(was_starting), patience())

    wait(is_starting())
