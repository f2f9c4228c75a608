"""The commands of the Review, which its keys run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import sublime
import sublime_plugin

from ...review.document import Block
from .. import package
from ..comments.opening import go_to
from ..comments.views import CommentTarget
from ..panels import say
from ..places import if_openable

if TYPE_CHECKING:
    from ..adapter import Adapter
    from .review_tab import ReviewTab, What

FILTER = "Show only files with"


class QwenCompanionReviewCommand(sublime_plugin.WindowCommand):
    """Open the Review: all changes of the window in one tab."""

    def is_visible(self) -> bool:
        """Whether anything waits."""
        if not (adapter := package.adapter()):
            return False
        return bool(adapter.diffs.in_window(self.window) or adapter.written.listings.of(self.window).rows)

    def run(self) -> None:
        """Go to it if it is open."""
        if adapter := package.adapter():
            adapter.review.show(self.window)


class _ReviewCommand(sublime_plugin.TextCommand):
    """A command in the Review."""

    def tab(self) -> ReviewTab | None:
        """The Review that has the focus."""
        adapter = package.adapter()
        return adapter.review.of(self.view) if adapter else None

    def is_visible(self) -> bool:
        """It is not shown in menus."""
        return False


class QwenCompanionReviewGoCommand(_ReviewCommand):
    """Go to the next or the previous change, or file."""

    def run(self, edit: sublime.Edit, to: What, *, back: bool = False) -> None:
        """It is filled in first if it has to be."""
        if tab := self.tab():
            tab.go(to, -1 if back else 1)


class QwenCompanionReviewDecideCommand(_ReviewCommand):
    """Keep or undo what is at the caret, or answer a proposal."""

    def run(self, edit: sublime.Edit, what: Literal["keep", "undo", "accept", "reject"], *, file: bool = False) -> None:
        """On a heading, all under it is meant."""
        if not (tab := self.tab()):
            return
        if what in ("keep", "undo"):
            tab.decide(what, is_file=file)
            return
        block, _ = tab.here()
        if block.file and block.file.key.back_end == "proposal":
            tab.answer(block.file.key, what)
        elif window := self.view.window():
            say(window, "Go to a proposal to answer it.")


class QwenCompanionReviewDoCommand(_ReviewCommand):
    """Open what is at the caret, comment on it, fold it, or filter."""

    def run(self, edit: sublime.Edit, what: Literal["open", "beside", "comment", "fold", "fold_all", "filter"]) -> None:
        """Each has a key."""
        adapter, tab, window = package.adapter(), self.tab(), self.view.window()
        if adapter is None or tab is None or window is None:
            return
        match what:
            case "open" | "beside":
                self._open(adapter, window, *tab.here(), beside=what == "beside")
            case "comment":
                self._comment(adapter, window, *tab.here())
            case "fold" | "fold_all":
                tab.fold(is_all=what == "fold_all")
            case "filter":
                self._filter(window, tab)

    def _filter(self, window: sublime.Window, tab: ReviewTab) -> None:
        before = tab.wanted

        def done(words: str) -> None:
            tab.filter(words)
            window.focus_view(tab.view)

        window.show_input_panel(FILTER, before, done, tab.filter, lambda: tab.filter(before))

    def _open(self, adapter: Adapter, window: sublime.Window, block: Block, line: int, *, beside: bool) -> None:
        feed = adapter.review.feed(window)
        row, diff = (feed.rows.get(block.file.key), feed.proposals.get(block.file.key)) if block.file else (None, None)
        number = _number(block, line)
        if diff:
            adapter.diffs.show(diff)
            if number:
                _put_caret(diff.proposal, number)
            if beside:
                diff.toggle_layout()
        elif row and row.kind in ("deleted", "link"):
            say(window, f"{row.path} is {row.kind}: there is nothing to open.")
        elif row:

            def open_it() -> None:
                group = adapter.review.code_group(window)
                window.focus_group(group)
                adapter.written.open_line(window, row, number or 1, beside=beside)

            if_openable(window, adapter.on_another_thread, row.full_path, open_it)
        elif isinstance(block.key, tuple) and block.key[0] == "comment" and (said := feed.comments.get(block.key[1])):
            go_to(window, adapter.on_another_thread, adapter.comments.views, said)

    def _comment(self, adapter: Adapter, window: sublime.Window, block: Block, line: int) -> None:
        feed = adapter.review.feed(window)
        number, body = _number(block, line), block.body
        if block.file is None or body is None or not number:
            say(window, "Put the caret on a line of a change to comment on it.")
            return
        diff, row = feed.proposals.get(block.file.key), feed.rows.get(block.file.key)
        if diff:
            side = "original" if block.kind(line) == "removed" else "proposal"
            target = CommentTarget(diff.review.file_path, side, diff.review.owner.cli)
        elif row:
            target = CommentTarget(row.full_path, "file", row.agents[0] if len(row.agents) == 1 else "")
        else:
            return
        adapter.comments.write_at(window, target, number, (body.line(line - 1),))


def _number(block: Block, line: int) -> int:
    """The line of the file that a line of a block stands for, from 1; 0 if there is none.

    For a removed line of a written change it is the one that is there now.
    """
    body = block.body
    if body is None or line == 0:
        return 0
    at = line - 1
    if block.kind(line) == "removed" and block.file and block.file.key.back_end == "written":
        return body.changes[body.owners[at]][2] + 1
    return body.numbers[at] or (body.numbers[at + 1] if at + 1 < body.lines else 0)


def _put_caret(view: sublime.View, number: int) -> None:
    point = view.text_point(number - 1, 0)
    view.sel().clear()
    view.sel().add(point)
    view.show_at_center(point)
