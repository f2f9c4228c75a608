"""Text in minihtml: phantoms, popups, annotations, and the details of quick panels and completions."""

from __future__ import annotations

import html
import re
import unicodedata

_NEVER_SHOWN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, those that reverse the direction of what follows, and halves of surrogate pairs."""


def safe(text: str) -> str:
    """A text as minihtml shows it: no tag, no entity and no link can come from it.

    All text that is not our own goes through this function; tests/package/test_markup.py lists where.
    """
    return html.escape(_NEVER_SHOWN.sub("\ufffd", text))


def columns(text: str) -> int:
    """The columns that a text takes at most, in characters of the text's font: two for a wide one, such as 中."""
    return len(text) if text.isascii() else len(text) + sum(unicodedata.east_asian_width(one) in "WF" for one in text)
