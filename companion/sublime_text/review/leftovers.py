"""What outlives a diff: the tabs that the editor restores after a restart, and the views that a reload leaves open."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal

import sublime

from ...review.disk import Encodings, holds
from ...review.source_text import SourceText
from .. import buffers
from ..buffers import text_of
from ..own_views import VIEWS
from ..panels import say
from .diff_marks import FILLERS, SideMarks
from .header import HEADER
from .navigation import KEYS_STATUS
from .removed_lines import RemovedLines

SHOWN = "shown"
"""In the record of a view of a diff: a fingerprint of its initial text. Without it, edits can't be detected."""
Layout = Literal["side_by_side", "inline"]


def remember(view: sublime.View, text: str) -> None:
    """Record what a view of a diff shows, for `clear`. This is done off the UI thread: a large text takes a while."""

    def put() -> None:
        fingerprint = _fingerprint(text)
        sublime.set_timeout(lambda: _note(view, fingerprint))

    sublime.set_timeout_async(put)


def clear(view: sublime.View) -> bool:
    """Close a view of an old diff, or keep it as an ordinary tab if the person has edited it. True if it was kept."""
    own = VIEWS.of(view)
    if own and own.get(SHOWN) == _fingerprint(text_of(view)):
        view.set_scratch(True)
        view.close()
        return False
    release(view)
    return True


def release(view: sublime.View) -> None:
    """Turn a view of a diff into an ordinary one."""
    VIEWS.release(view)
    for key in (HEADER, FILLERS):
        view.erase_phantoms(key)
    view.erase_status(KEYS_STATUS)
    settings = view.settings()
    settings.erase("mini_diff")  # both are set by `diff_view.set_up`
    settings.erase("word_wrap")


def _note(view: sublime.View, fingerprint: str) -> None:
    if own := VIEWS.of(view):
        own.keep(**{SHOWN: fingerprint})


def _fingerprint(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True)
class InheritedViews:
    """The views of a diff, and what goes with them. Between two instances they are a dictionary of these fields."""

    proposal: sublime.View
    original: sublime.View | None
    layout: Layout
    focus: sublime.View | None
    """The view that had the focus before the diff opened."""
    sheets: list[sublime.Sheet]
    """What the diff's group showed before."""
    active: sublime.Sheet | None
    """Which of it was active."""
    is_exact: bool
    is_seen: bool = False
    has_chosen_layout: bool = False
    """The person has switched the layout themselves."""

    @classmethod
    def of(cls, left: Mapping[str, Any]) -> InheritedViews:
        """What another instance has left, perhaps of another version. Raises TypeError if something is missing."""
        return cls(**{each.name: left[each.name] for each in fields(cls) if each.name in left})


def abandon(left: Sequence[Mapping[str, Any]]) -> None:
    """Nobody takes up these reviews, which are plain data: close their views, and keep edited proposals as tabs."""
    for one in left:
        if one.get("views"):
            _abandon(InheritedViews.of(one["views"]), SourceText(one["proposed"]).shown, one["file_path"])


def keep_unwritten(left: Sequence[Mapping[str, Any]]) -> None:
    """Keep the texts of these accepted reviews, which are plain data, that no CLI has written. Looks at files."""
    for one in left:
        path, content = one["file_path"], one.get("unwritten", one.get("accepted"))
        if content is not None and not holds(path, content, Encodings(**one["encodings"])):
            sublime.set_timeout(partial(_keep, os.path.basename(path), SourceText(content).shown, one["cli"]))


def _keep(name: str, text: str, cli: str) -> None:
    view = sublime.active_window().new_file()
    view.set_name(f"{name} (your edits)")
    buffers.fill(view, text)
    why = f"{cli} has not written {name} as you accepted it. The text that you accepted is kept in a tab."
    say(sublime.active_window(), why)


def _abandon(views: InheritedViews, shown: str, path: str) -> None:
    if views.original:
        views.original.close()
    proposal = views.proposal
    if not proposal.is_valid():
        return
    if text_of(proposal) == shown or not views.is_exact:
        proposal.close()
    else:
        removed = RemovedLines(proposal, lambda: None)
        removed.resume()
        removed.hide()
        SideMarks(proposal, "inserted").clear()
        for view in (proposal, *proposal.clones()):
            release(view)
        if window := proposal.window():
            why = f"The diff of {os.path.basename(path)} has ended. Your edits are kept in its tab."
            say(window, why)
