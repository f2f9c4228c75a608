"""What a diff says about itself: the line at the top of each side, as much of it as fits, and what it warns of."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sublime

from ...exclusion import shortened
from ...review.changes import counted
from ...visible import visible_name
from .. import minihtml
from ..minihtml import ACCEPTS, COLOURS, REJECTS, safe
from ..windows import real_path
from .diff_marks import are_few

if TYPE_CHECKING:
    from ...review.changes import Count
    from ...review.marks import Marks
    from ...review.review import Review

HEADER = "qwen_companion.header"
"""Key of the phantoms of headers."""
_STYLE = f"""{COLOURS}
body {{ margin: 0; }}
div {{ padding: 0.3rem 0.6rem; background-color: var(--tint); font-family: system; }}
"""
_MOVES = '<a href="previous">‹</a><a href="next">›</a>'
ANSWERS = f"""<a class="accept" href="accept">{ACCEPTS} Accept</a>
<a class="reject" href="reject">{REJECTS} Reject</a> {_MOVES}"""
GLYPHS = f'<a class="accept" href="accept">{ACCEPTS}</a><a class="reject" href="reject">{REJECTS}</a>{_MOVES}'
_TAG = re.compile(r"<[^<>]+>")
_LINK_PADDING = 2
"""Columns of the paddings of a link, and of the header."""
LONGEST_REASON = 80
"""Characters of a reason in a line; a click shows all of it."""
SHORTEST_REASON = 16
"""Columns below which a header has none."""
POPUP = 640, 480
NOT_EXACT = "The editor can't show this text exactly: read-only."
_DISK = {"changed": "changed on disk", "deleted": "deleted on disk", "unreadable": "can't be read now"}


class Header:
    """The header of one view. `clicked` is called with a link's href."""

    def __init__(self, view: sublime.View, clicked: Callable[[str], None]) -> None:
        # A PhantomSet erases its phantoms when it is garbage-collected.
        self._phantoms = sublime.PhantomSet(view, HEADER)
        self._clicked = clicked

    def show(self, contents: Sequence[str], reason: str = "") -> None:
        """Show the first of these contents that fits on one line, so that both sides stay level; else the last.

        A reason is the agent's text, and takes what is left of the line.
        """
        view = self._phantoms.view
        width = view.viewport_extent()[0] / (view.em_width() or 1)
        least = SHORTEST_REASON if reason else 0
        content = next((one for one in contents if columns(one) + least <= width), contents[-1])
        content += reason_link(reason, int(width - columns(content)))
        text = f'<body id="qwen-companion-header"><style>{_STYLE}</style><div>{content}</div></body>'
        self._phantoms.update([sublime.Phantom(sublime.Region(0), text, sublime.PhantomLayout.BLOCK, self._clicked)])


def reason_line(reason: str) -> str:
    """A reason, which is the agent's text, as one line in which nothing acts or hides."""
    return shortened(visible_name(" ".join(reason.split())), LONGEST_REASON)


def reason_link(reason: str, room: int) -> str:
    """The link to a reason, with as much of it as so many columns take; empty if that is too little."""
    line = reason_line(reason)
    while len(line) > 1 and room >= SHORTEST_REASON:
        link = f' <a href="reason">{safe(f"“{line}”")}</a>'
        if columns(link) <= room:
            return link
        line = shortened(line, len(line) - 1)
    return ""


def show_reason(view: sublime.View, review: Review) -> None:
    """Show all of the reason for a proposal in a popup."""
    said = safe(visible_name(" ".join(review.reason.split())))
    agent = safe(visible_name(review.owner.cli))
    content = f'<div class="quiet">{agent}, before it proposed this:</div><div>{said}</div>'
    page = f'<body id="qwen-companion-reason"><style>{_STYLE}</style>{content}</body>'
    place = view.visible_region().begin()
    view.show_popup(page, sublime.PopupFlags.NONE, place, *POPUP)


def columns(content: str) -> int:
    """The columns that a header's minihtml needs at most. Its font is narrower than that of the text."""
    return minihtml.columns(html.unescape(_TAG.sub("", content))) + _LINK_PADDING * (1 + content.count("<a "))


def original_headers(title: str, warnings: Sequence[str], *, offers_reload: bool = False) -> list[str]:
    """The contents over the file on disk, the fullest first."""
    quiet, said, counted = f'<span class="quiet">{safe(title)}</span>', *_warned(warnings, offers_reload=offers_reload)
    return [quiet + said, said or "&nbsp;", counted or "&nbsp;"]


def proposal_headers(
    review: Review, counts: Count | None, warnings: Sequence[str], *, title: str = "", offers_reload: bool = False
) -> list[str]:
    """The contents over the proposal, the fullest first."""
    what = short = "a proposal"
    if counts:
        inserted = f'<span class="inserted">+{counts.inserted}</span>'
        short = f'{inserted} <span class="deleted">−{counts.deleted}</span>'
        what = f"{short} in {counted(counts.changes, 'change')}"
    said, number = _warned(warnings, offers_reload=offers_reload)
    fixed = "" if review.is_editable else ' &nbsp; <span class="quiet">read-only</span>'
    named = f' &nbsp; <span class="quiet">{safe(title)}</span>' if title else ""
    endings = _endings(review)
    return [
        f"{ANSWERS} &nbsp; {safe(review.owner.cli)}: {what}{endings}{fixed}{named}{said}",
        f"{ANSWERS} &nbsp; {short}{endings}{named}{said}",
        f"{GLYPHS} {short}{endings}{named}{said}",
        f"{GLYPHS} {short}{endings}{number}",
        f"{GLYPHS}{short}{number}",
        f"{GLYPHS}{number}",
    ]


def _warned(warnings: Sequence[str], *, offers_reload: bool) -> tuple[str, str]:
    """The warnings, and their number, whose link says them."""
    reload = ' <a href="reload">reload</a>' if offers_reload else ""
    said = "".join(f' &nbsp; <span class="warning">⚠ {safe(warning)}</span>' for warning in warnings)
    counted = f' <a class="warning" href="warnings">⚠ {len(warnings)}</a>' if warnings else ""
    return said + reload, counted + reload


def _endings(review: Review) -> str:
    """The change of line endings and of the byte order mark, with its link."""
    if not review.endings:
        return ""
    if review.keeps_endings:
        return f', <span class="quiet">not {safe(review.endings)}</span> <a href="endings:restore">restore</a>'
    return f', {safe(review.endings)} <a href="endings:revert">↩ undo</a>'


def orphaned_header(cli: str) -> str:
    """The content over a proposal that nobody waits for."""
    return f'<span class="warning">{safe(cli)} has disconnected and waits for no answer. Close this tab.</span>'


def notes(review: Review, marks: Marks | None, undrawn: Sequence[str], *, is_exact: bool) -> list[str]:
    """Why something is missing in a diff; `undrawn` is what its layout lacks with too many changes."""
    if review.request and review.request.is_part:
        return ["Only a part of the file: the agent doesn't say where it belongs."]
    if not is_exact:
        return [NOT_EXACT]
    if marks is None:
        return [f"{review.unmarked}: changes are not marked."] if review.unmarked else []
    if are_few(marks.proposal):
        return []
    missing = [*(["links"] if review.is_editable else []), *undrawn]
    return [f"Too many changes: no {' and no '.join(missing)}."] if missing else []


def warnings_of(review: Review, folders: Sequence[str], *, is_dirty: bool) -> list[str]:
    """What the person should know about the file, which belongs in one of some folders, if there are any.

    `is_dirty`: a view has unsaved edits of it.
    """
    warnings = ["open with unsaved edits"] if is_dirty else []
    if review.is_here and folders and not any(_is_below(review.file_path, folder) for folder in folders):
        warnings.append("outside this window's folders")
    if review.disk_state != "same":
        warnings.append(_DISK[review.disk_state])
    return warnings


def besides_changes(review: Review, *, is_exact: bool, is_dirty: bool) -> str:
    """What the headers say of a proposal besides its changes, for where it has none. The disk isn't asked."""
    gone = [f"{review.owner.cli} has disconnected"] if review.orphaned else []
    endings = [f"not {review.endings}" if review.keeps_endings else review.endings] if review.endings else []
    why, warnings = notes(review, None, (), is_exact=is_exact), warnings_of(review, (), is_dirty=is_dirty)
    return " · ".join([*gone, *endings, *why, *warnings])


def _is_below(path: str, folder: str) -> bool:
    return any(Path(spell(path)).is_relative_to(spell(folder)) for spell in (os.path.normcase, real_path))
