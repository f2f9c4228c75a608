"""One review on the screen: the file on disk and the proposal side by side (design.md, "What it looks like")."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import TYPE_CHECKING

import sublime

from .windows import DIFF_SETTING, GroupContents, is_visible, show_in_group

if TYPE_CHECKING:
    from ..review import Review

PATH_SETTING = "qwen_companion.file_path"
"""On the views of a diff: the path as the CLI says it."""
_HEADER = "qwen_companion.header"

_STYLE = """
html.light { --tint: color(var(--background) blend(black 94%)); }
html.dark { --tint: color(var(--background) blend(white 92%)); }
body { margin: 0; }
div { padding: 0.3rem 0.6rem; background-color: var(--tint); font-family: system; }
a { text-decoration: none; padding: 0.1rem 0.5rem; }
.accept { color: color(var(--greenish) min-contrast(var(--background) 3.0)); }
.reject { color: color(var(--redish) min-contrast(var(--background) 3.0)); }
"""
_LINKS = ' &nbsp; <a class="accept" href="accept">✓ Accept</a> <a class="reject" href="reject">✗ Reject</a>'


class DiffView:
    """The two views of a review. `answer` is called with "accept" or "reject" when the person clicks a link."""

    def __init__(
        self, window: sublime.Window, group: int, review: Review, original: str, answer: Callable[[str], None]
    ) -> None:
        self.window = window
        self.group = group
        self.review = review
        self._before = GroupContents(window, group)
        window.focus_group(group)
        self.original = self._new_view("original", f"{review.name} (on disk)", original)
        self.original.set_read_only(True)
        self.proposal = self._new_view("proposal", f"{review.name} ← {review.owner.cli}", review.shown)
        self.proposal.set_reference_document(original)
        self._answer = answer
        # A set erases its phantoms when it is collected.
        self._headers = [sublime.PhantomSet(view, _HEADER) for view in self.views]
        self._show_headers(f"{review.owner.cli} proposes this text", _LINKS)

    @property
    def views(self) -> list[sublime.View]:
        """Those of the two views that are open, the original first."""
        return [view for view in (self.original, self.proposal) if view.is_valid()]

    @property
    def is_shown(self) -> bool:
        """Whether the person sees it."""
        return any(is_visible(view) for view in self.views)

    def show(self, beside: sublime.View | None = None) -> None:
        """Select the two views side by side, next to a view of the same group that has to stay."""
        views = [*([beside] if beside else []), *self.views]
        show_in_group(self.window, self.group, [sheet for view in views if (sheet := view.sheet())])

    def text(self) -> str | None:
        """The proposal as it stands; None if its view is closed."""
        return self.proposal.substr(sublime.Region(0, self.proposal.size())) if self.proposal.is_valid() else None

    def orphan(self) -> None:
        """Say that nobody waits for the outcome any more."""
        self._show_headers(f"{self.review.owner.cli} is gone and waits for no answer any more. Close this view.", "")

    def close(self) -> None:
        """Close both views, and show in their group what was there before if they were seen."""
        was_shown = self.is_shown
        for view in self.views:
            view.close()
        if was_shown and self.window.is_valid():
            self._before.restore()

    def release(self) -> None:
        """Leave the proposal to the person, as a view like any other, and close the original."""
        self.original.close()
        self.proposal.settings().erase(DIFF_SETTING)
        self._headers.clear()

    def _new_view(self, side: str, title: str, text: str) -> sublime.View:
        view = self.window.new_file()
        view.set_name(title)
        view.set_scratch(True)
        settings = view.settings()
        settings.set(DIFF_SETTING, side)
        settings.set(PATH_SETTING, self.review.file_path)
        syntax = sublime.find_syntax_for_file(self.review.file_path, text.partition("\n")[0])
        if syntax:
            view.assign_syntax(syntax)
        view.run_command("qwen_companion_fill_view", {"text": text})
        view.clear_undo_stack()
        return view

    def _show_headers(self, what: str, links: str) -> None:
        contents = ("Current file", html.escape(what) + links)
        for phantoms, content in zip(self._headers, contents, strict=True):
            text = f'<body id="qwen-companion"><style>{_STYLE}</style><div>{content}</div></body>'
            layout = sublime.PhantomLayout.BLOCK
            phantoms.update([sublime.Phantom(sublime.Region(0), text, layout, self._answer)])
