"""What is in the prompt of a CLI that a terminal shows, by what stands at its end."""

from __future__ import annotations

from collections.abc import Sequence

import sublime

from ...clis import screen
from ...clis.families import FAMILIES, CliFamily

_END = 10_000
"""Characters at the end of a terminal that are looked at."""


def prompt_text(view: sublime.View, families: Sequence[CliFamily] = FAMILIES) -> str | None:
    """The text in the prompt that a terminal ends with; None if there is no prompt, as while a question is asked."""
    size = view.size()
    lines = view.substr(sublime.Region(max(0, size - _END), size)).split("\n")
    return screen.prompt_text(lines, [layout for family in families for layout in family.layouts])


def has_empty_prompt(view: sublime.View, families: Sequence[CliFamily] = FAMILIES) -> bool:
    """Whether a terminal shows the empty prompt of a CLI. A text there, or a question, hides it."""
    return prompt_text(view, families) == ""
