"""Long work on the UI thread, in steps: between two of them the editor draws and handles keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sublime


def in_steps(steps: Sequence[Callable[[], object]], is_wanted: Callable[[], bool]) -> None:
    """Run the first step now and each further one on a later turn, as long as they are wanted."""
    if steps and is_wanted():
        steps[0]()
        if steps[1:]:
            sublime.set_timeout(lambda: in_steps(steps[1:], is_wanted))
