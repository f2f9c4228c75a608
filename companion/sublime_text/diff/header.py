"""The line at the top of each side of a diff: a title, warnings and actions."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import sublime

from ..style import COLOURS

if TYPE_CHECKING:
    from ...review.changes import Tally

_KEY = "qwen_companion.header"
_STYLE = f"""{COLOURS}
body {{ margin: 0; }}
div {{ padding: 0.3rem 0.6rem; background-color: var(--tint); font-family: system; }}
"""
ANSWERS = (
    '<a class="accept" href="accept">✓ Accept</a> <a class="reject" href="reject">✗ Reject</a> '
    '<a href="previous">‹</a><a href="next">›</a>'
)


class Header:
    """The header of one view. `clicked` is called with a link's href."""

    def __init__(self, view: sublime.View, clicked: Callable[[str], None]) -> None:
        # A PhantomSet erases its phantoms when it is garbage-collected.
        self._phantoms = sublime.PhantomSet(view, _KEY)
        self._clicked = clicked

    def show(self, content: str) -> None:
        """Show minihtml on one line, so that both sides stay level."""
        text = f'<body id="qwen-companion-header"><style>{_STYLE}</style><div>{content}</div></body>'
        self._phantoms.update([sublime.Phantom(sublime.Region(0), text, sublime.PhantomLayout.BLOCK, self._clicked)])


def original_header(title: str, warnings: Sequence[str]) -> str:
    """The content over the file on disk."""
    warned = "".join(f' &nbsp; <span class="warning">⚠ {html.escape(warning)}</span>' for warning in warnings)
    return f'<span class="quiet">{html.escape(title)}</span>{warned}'


def proposal_header(cli: str, counts: Tally | None, note: str = "", *, is_editable: bool = True) -> str:
    """The content over the proposal."""
    what = "a proposal"
    if counts:
        changes = f"{counts.changes} change" + ("s" if counts.changes != 1 else "")
        inserted = f'<span class="inserted">+{counts.inserted}</span>'
        what = f'{inserted} <span class="deleted">−{counts.deleted}</span> in {changes}'
    said = f' &nbsp; <span class="warning">{html.escape(note)}</span>' if note else ""
    fixed = "" if is_editable else ' &nbsp; <span class="quiet">read-only</span>'
    return f"{ANSWERS} &nbsp; {html.escape(cli)}: {what}{fixed}{said}"


def orphaned_header(cli: str) -> str:
    """The content over a proposal that nobody waits for."""
    return f'<span class="warning">{html.escape(cli)} has disconnected and waits for no answer. Close this tab.</span>'
