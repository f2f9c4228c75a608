"""Text and colours in minihtml: phantoms, popups, annotations, and the details of quick panels and completions."""

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


COLOURS = """
html.light { --tint: color(var(--background) blend(black 91%)); }
html.dark { --tint: color(var(--background) blend(white 88%)); }
a { text-decoration: none; padding: 0 0.4rem; color: color(var(--bluish) min-contrast(var(--tint) 4.5)); }
.accept, .reject { color: color(var(--foreground) min-contrast(var(--tint) 4.5)); }
.inserted, .allow { color: color(var(--greenish) min-contrast(var(--tint) 4.5)); }
.always { color: color(var(--yellowish) min-contrast(var(--tint) 4.5)); }
.deleted { color: color(var(--redish) min-contrast(var(--tint) 4.5)); }
.warning { color: color(var(--orangish) min-contrast(var(--tint) 4.5)); }
.quiet { color: color(var(--foreground) blend(var(--background) 75%) min-contrast(var(--tint) 4.5)); }
"""
"""CSS of minihtml. The tint is between the background and the text, so what is readable on it is so on both."""
ACCEPTS, REJECTS, UNDOES = (
    f'<span class="{name}">{sign}</span>' for name, sign in (("inserted", "✓"), ("deleted", "✗"), ("deleted", "↩"))
)
"""The signs before the words of a decision. They have its colour; the words have that of the text."""
SIGN_COLOURS = {
    name: f"color({hue} min-contrast(var(--background) 7))"
    for name, hue in {
        "number": "var(--foreground) blend(var(--background) 75%)",
        "removed": "var(--redish)",
        "added": "var(--greenish)",
    }.items()
}
"""For the numbers and signs of lines, which a scheme may tint: more than enough on the background is enough there."""
LINK_COLOUR = "color(var(--bluish) min-contrast(var(--background) 4.5))"
"""For a link in an annotation."""
