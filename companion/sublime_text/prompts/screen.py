"""What a CLI shows at the end of its terminal (docs/protocols/qwen-ide.md#prompt)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import sublime

_PROMPT = re.compile(r"^[\s│┃|▌▐]*[>❯›*]\s+Type your message\b")
"""An empty prompt, with the edge of its box. After a "!" it would be a command of the shell."""
_ANSWER = re.compile(
    r"^[\s│┃|▌▐]*(?:[●○◉❯›>]\s*)?(?:\d{1,2}[.)]\s+\S|[●○◉]\s+(?:yes|no|allow)\b)|[\[(][yY]\s*/\s*[nN][\])]",
    re.IGNORECASE,
)
"""A line of a question that takes a key for an answer."""
_BELOW = 10
"""Lines that may be below the prompt: the rest of its box, and the footer."""


def has_empty_prompt(view: sublime.View) -> bool:
    """Whether a terminal shows the empty prompt of a CLI. A text there, or a question, hides it."""
    text = view.substr(sublime.Region(0, view.size())).rstrip()
    return is_empty_prompt(text.split("\n"))


def is_empty_prompt(lines: Sequence[str]) -> bool:
    """The same for the lines of a terminal, the last one being the last that has anything."""
    at = next((at for at in reversed(range(len(lines))) if _PROMPT.match(lines[at])), None)
    if at is None or len(lines) - at - 1 > _BELOW:
        return False
    return not any(_ANSWER.search(line) for line in lines[at + 1 :])
