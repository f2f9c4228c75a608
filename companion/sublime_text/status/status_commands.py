"""The commands of the status report, and of the documentation."""

from __future__ import annotations

from functools import partial

import sublime
import sublime_plugin

from ...status.facts import Facts
from ...status.report import report
from ...visible import ShownText
from .. import package
from ..notices import NOTICES
from ..panels import PanelItem, choose, say, to_clipboard
from .reports import LiveReport, shareable

PAGES = (
    "README",
    "start",
    "review",
    "chat",
    "talk",
    "other-clis",
    "why",
    "trouble",
    "privacy",
    "reference",
    "agents",
    "compatibility",
    "compare",
)
"""The pages that ship with the package, in the order in which they are offered."""


class QwenCompanionStatusCommand(sublime_plugin.WindowCommand):
    """Show the status report in a view."""

    def run(self) -> None:
        """Open the view at once and fill it as the facts arrive."""
        if adapter := package.adapter():
            adapter.notices.seen(self.window)
            adapter.reports.show(self.window)


class QwenCompanionStatusRemedyCommand(sublime_plugin.TextCommand):
    """Do what the status report offers in the line of the caret, or anywhere in it."""

    def run(self, edit: sublime.Edit, at_caret: bool = False) -> None:
        """Ask which if there are several."""
        live = self._live()
        if live is None:
            return
        offered = live.at(self.view.sel()[0].b) if at_caret and len(self.view.sel()) else live.all()
        if at_caret and len(offered) == 1:
            live.apply(offered[0])
        elif offered and (window := self.view.window()):
            items: list[PanelItem] = [(one.caption, "", partial(live.apply, one)) for one in offered]
            choose(window, items, "What to do about it")

    def is_visible(self, at_caret: bool = False) -> bool:
        """Whether the view is a report that offers something."""
        live = self._live()
        return live is not None and bool(live.all())

    def _live(self) -> LiveReport | None:
        adapter = package.adapter()
        return adapter.reports.of(self.view) if adapter else None


class QwenCompanionCopyReportCommand(sublime_plugin.WindowCommand):
    """Copy the status report without secrets."""

    def run(self) -> None:
        """Copy once the report is complete."""
        if adapter := package.adapter():
            adapter.reports.make(self.window, self._copy)

    def _copy(self, facts: Facts, is_last: bool) -> None:
        if is_last:
            to_clipboard(ShownText(shareable(report(facts))))
            say(self.window, "The report was copied, without secrets.")


class QwenCompanionShowLogCommand(sublime_plugin.WindowCommand):
    """Show the messages of the package with their times, in a panel."""

    def run(self) -> None:
        """The messages of this window count as read."""
        NOTICES.show(self.window)
        if adapter := package.adapter():
            adapter.notices.seen(self.window)


class QwenCompanionDocumentationCommand(sublime_plugin.WindowCommand):
    """Open a page of the documentation, which comes with the package."""

    def run(self) -> None:
        """Ask which page."""
        there = frozenset(sublime.find_resources("*.md"))
        if found := [path for path in map(_path, PAGES) if path in there]:
            choose(self.window, [self._item(path) for path in found], "A page of the documentation")
        else:
            say(self.window, "This copy of the package has no documentation.")

    def _item(self, path: str) -> PanelItem:
        title = sublime.load_resource(path).partition("\n")[0].lstrip("# ")
        file = path.replace("Packages", "${packages}", 1)
        return title, path.rpartition("/")[2], lambda: self.window.run_command("open_file", {"file": file})


def _path(name: str) -> str:
    """The resource of a page."""
    return f"Packages/QwenCompanion/{'' if name == 'README' else 'docs/'}{name}.md"
