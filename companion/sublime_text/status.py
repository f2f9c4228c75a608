"""The status: its reports, their commands and those of the documentation, and the item in the status bar.

A report is for whoever asks, or stays on the screen with what can be done at once.
"""

from __future__ import annotations

import getpass
import platform
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import sublime
import sublime_plugin

from .. import __version__
from ..clis.families import FAMILIES
from ..editor import WindowId
from ..review.changes import counted
from ..status.facts import HANGS, Facts, ShownWindow, TerminalVariables, WindowStatus
from ..status.findings import Finding, Offer, findings, report, without_secrets
from ..visible import ShownText
from . import package
from .bridge import expect, posted
from .keys import KEYS
from .minihtml import COLOURS, safe
from .own_views import VIEWS, project_settings
from .package_control import is_installed
from .panels import NOTICES, Page, PanelItem, choose, parts_in_one_line, say, to_clipboard
from .terminal.terminals import TERMINUS
from .windows import find_window, is_in_front, is_terminal, is_visible

if TYPE_CHECKING:
    from ..companion import Companion
    from .adapter import Adapter

TITLE = "QwenCompanion Status"
LIMIT = 3_000
"""Milliseconds to wait for the companion's answer."""
SILENT = "The companion does not answer, so no CLI can connect. Save your work and restart Sublime Text."
STOPPED = "The companion does not run, so no CLI can connect."
MESSAGES_KEPT = 20
"""How many of the latest messages a status report lists."""
ASKING = "Asking the companion…"
STARTING = "The companion is starting: it is loading its libraries. This page follows."

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

Show = Callable[[Facts, bool], object]
"""Gets the facts so far, and whether they are complete."""


def shareable(text: str) -> str:
    """A report without secrets and without the user's name."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = ""
    return without_secrets(text, str(Path.home()), user)


def _terminal(view: sublime.View) -> TerminalVariables | None:
    """A tab of Terminus, with the variables that it was opened with (docs/protocols/sublime.md#terminus).

    It keeps them over restarts.
    """
    arguments = view.settings().get("terminus_view.args") if is_terminal(view) else None
    variables = arguments.get("env") if isinstance(arguments, dict) else None
    if not isinstance(variables, dict):
        return None
    ports = {name: str(value) for name, value in variables.items() if str(name).endswith("_IDE_SERVER_PORT")}
    return TerminalVariables(view.name() or "Terminal", ports)


class Remedy(NamedTuple):
    """Something to click, or to pick by key."""

    caption: str
    apply: Callable[[sublime.Window], object]


def remedies(finding: Finding) -> tuple[Remedy, ...]:
    """The remedies of a finding; none if the person has to do it elsewhere."""
    copies = (_copy(finding.types),) if finding.types else ()
    return (*copies, *map(_offered, finding.offers))


def _copy(text: str) -> Remedy:
    def apply(window: sublime.Window) -> None:
        to_clipboard(ShownText(text))
        NOTICES.add(f"“{text}” was copied.", window)

    return Remedy(f"Copy “{text}”", apply)


def _offered(offer: Offer) -> Remedy:
    return Remedy(offer.caption, lambda window: window.run_command(offer.command, {**dict(offer.args)}))


WITH_THE_REPORT = (_offered(Offer("Copy Report", "qwen_companion_copy_report")),)
"""What can be done with every report."""


INTERVAL = 3_000
"""Milliseconds between two reports while it is visible."""
HIDDEN_INTERVAL = 1_000
"""Milliseconds between two looks whether it is visible again."""
PHANTOMS = "qwen_companion.remedies"


class LiveReport:
    """One report on the screen, until its tab is closed. Lives on the UI thread."""

    def __init__(self, window: sublime.Window, reports: StatusReports) -> None:
        self.view = (page := Page(window, "status", TITLE)).view
        self._page = page
        self._window = window
        self._reports = reports
        self._text = ""
        self._is_first = True
        self._phantoms = sublime.PhantomSet(self.view, PHANTOMS)
        self._remedies: list[tuple[int, Remedy]] = []
        """The remedies with the points at which their findings begin."""

    def start(self) -> None:
        """Show what is known, and go on."""
        self._reports.make(self._window, self._show)

    def close(self) -> None:
        """Stop. The text stays."""
        self._reports.ended(self)
        if self.view.is_valid():
            self._phantoms.update([])

    def at(self, point: int) -> list[Remedy]:
        """The remedies of the finding in the line of a point; in the first line what can be done with the report."""
        line = self.view.line(point)
        return [remedy for start, remedy in self._remedies if line.contains(start)]

    def all(self) -> list[Remedy]:
        """All remedies, each once, in the order of the findings."""
        return list({remedy.caption: remedy for _, remedy in self._remedies}.values())

    def _show(self, facts: Facts, is_last: bool) -> None:
        text = report(facts)
        if not self._goes_on():
            return
        # A renewed report is shown when it is complete or can't be, and not while the person selects in it.
        is_wanted = self._is_first or is_last or facts.note not in ("", ASKING)
        if is_wanted and self._differs(text) and not self._is_selecting():
            self._text = text
            self._page.show(text)
            self._offer(facts)
        if is_last:
            self._is_first = False
            sublime.set_timeout(self._again, INTERVAL)

    def _again(self) -> None:
        if not self._goes_on():
            return
        if is_visible(self.view) and is_in_front(self._window):
            self._reports.make(self._window, self._show)
        else:
            sublime.set_timeout(self._again, HIDDEN_INTERVAL)

    def _goes_on(self) -> bool:
        """Whether the tab is there, and shows no newer report."""
        if not self._page.is_open:
            self.close()
        return self._reports.of(self.view) is self

    def _differs(self, text: str) -> bool:
        """Whether more than the time of the report has changed."""
        return _without_time(text) != _without_time(self._text)

    def _is_selecting(self) -> bool:
        return not self._is_first and any(not region.empty() for region in self.view.sel())

    def _offer(self, facts: Facts) -> None:
        self._remedies = []
        shown: list[sublime.Phantom] = []
        for finding in findings(facts):
            found = self.view.find(finding.text, 0, sublime.FindFlags.LITERAL)
            if found.begin() >= 0 and (offered := remedies(finding)):
                shown.append(self._links(found, offered))
        shown.append(self._links(self.view.line(0), WITH_THE_REPORT))
        self._phantoms.update(shown)

    def _links(self, below: sublime.Region, offered: Sequence[Remedy]) -> sublime.Phantom:
        start = len(self._remedies)
        self._remedies += [(below.begin(), remedy) for remedy in offered]
        links = " · ".join(f'<a href="{start + at}">{safe(remedy.caption)}</a>' for at, remedy in enumerate(offered))
        style = f"<style>{COLOURS} body {{ margin: 0; }}</style>"
        content = f'<body id="qwen-companion-status">{style}<div>&nbsp;&nbsp;&nbsp;&nbsp;{links}</div></body>'
        return sublime.Phantom(below, content, sublime.PhantomLayout.BELOW, self._clicked)

    def _clicked(self, href: str) -> None:
        at = int(href)
        if at < len(self._remedies):
            self._remedies[at][1].apply(self._window)


def _without_time(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:1] + lines[2:]


class StatusReports:
    """Makes reports of this editor. Lives on the UI thread."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._shown: dict[int, LiveReport] = {}
        """The reports on the screen, by the ids of their views."""

    def make(self, window: sublime.Window, show: Show) -> None:
        """Show what is known, and ask the companion for the rest."""
        thread, bridge, settings = self._adapter.thread, self._adapter.bridge, self._adapter.settings
        facts = self._facts(window)
        commands = [settings.value(f"{family.launch.key}_command") for family in FAMILIES]
        answers: list[Facts] = []

        def silent() -> None:
            found = thread.stop_reason
            show(replace(facts, at=time.time(), note=STOPPED if found else SILENT, stopped=found), True)

        def answered(found: Facts) -> None:
            answers.append(found)
            show(found, found.clis is not None)

        def ask(companion: Companion) -> None:
            companion.look_around(facts, lambda found: bridge.post(lambda: answered(found)), commands)

        if thread.stop_reason:
            silent()
            return
        show(replace(facts, note=ASKING), False)
        thread.post(ask, ("report", show))
        expect(
            lambda: bool(answers),
            lambda: thread.is_starting,
            patience=lambda: LIMIT,
            starting=lambda: show(replace(facts, at=time.time(), note=STARTING), False),
            silent=silent,
        )

    def show(self, window: sublime.Window) -> None:
        """Show a report in a tab and keep it up to date while it is visible."""
        live = LiveReport(window, self)
        if before := self._shown.get(live.view.id()):
            before.close()
        self._shown[live.view.id()] = live
        live.start()

    def of(self, view: sublime.View) -> LiveReport | None:
        """The report that a view shows."""
        return self._shown.get(view.id()) if VIEWS.is_ours(view, "status") else None

    def close(self) -> None:
        """Stop. The texts stay."""
        for live in list(self._shown.values()):
            live.close()

    def ended(self, live: LiveReport) -> None:
        """A report goes on no more."""
        if self._shown.get(live.view.id()) is live:
            del self._shown[live.view.id()]

    def _facts(self, front: sublime.Window) -> Facts:
        """What the editor knows."""
        about = (
            ("QwenCompanion", __version__),
            ("Sublime Text", f"{sublime.version()} {sublime.channel()}"),
            (sublime.platform(), sublime.arch()),
            ("Python", platform.python_version()),
        )
        return Facts(
            at=time.time(),
            about=about,
            windows=tuple(map(self._window, sorted(sublime.windows(), key=lambda window: window != front))),
            settings=tuple(map(str, self._adapter.settings.problems)),
            messages=tuple(NOTICES.latest(MESSAGES_KEPT)),
            lacks_terminus=not is_installed(TERMINUS),
        )

    def _window(self, window: sublime.Window) -> ShownWindow:
        project = window.project_file_name()
        panels = [window.find_output_panel(name.removeprefix("output.")) for name in window.panels()]
        views = [*window.views(include_transient=True), *filter(None, panels)]
        return ShownWindow(
            WindowId(window.id()),
            f"Window {window.id()}{f' ({Path(project).stem})' if project else ''}",
            tuple(window.folders()),
            tuple(terminal for view in views if (terminal := _terminal(view))),
            self._adapter.chats.shown(window),
            ignored=tuple(project_settings(window)),
            written=self._adapter.written.listings.facts(window),
        )


class QwenCompanionStatusCommand(sublime_plugin.WindowCommand):
    """Show the status report in a view."""

    def run(self) -> None:
        """Open the view at once and fill it as the facts arrive."""
        if adapter := package.adapter():
            adapter.messenger.seen(self.window)
            adapter.reports.show(self.window)


class QwenCompanionStatusRemedyCommand(sublime_plugin.TextCommand):
    """Do what the status report offers in the line of the caret, or anywhere in it."""

    def run(self, edit: sublime.Edit, at_caret: bool = False) -> None:
        """Ask which if there are several."""
        live = self._live()
        if live is None or (window := self.view.window()) is None:
            return
        offered = live.at(self.view.sel()[0].b) if at_caret and len(self.view.sel()) else live.all()
        if at_caret and len(offered) == 1:
            offered[0].apply(window)
        elif offered:
            items: list[PanelItem] = [(one.caption, "", partial(one.apply, window)) for one in offered]
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
        """Copy once the report is complete, or a disk keeps it from that."""
        is_copied = False

        def copy(facts: Facts, is_last: bool) -> None:
            nonlocal is_copied
            if (is_last or facts.note == HANGS) and not is_copied:
                is_copied = True
                to_clipboard(ShownText(shareable(report(facts))))
                say(self.window, "The report was copied, without secrets.")

        if adapter := package.adapter():
            adapter.reports.make(self.window, copy)


class QwenCompanionShowLogCommand(sublime_plugin.WindowCommand):
    """Show the messages of the package with their times, in a panel."""

    def run(self) -> None:
        """The messages of this window count as read."""
        NOTICES.show(self.window)
        if adapter := package.adapter():
            adapter.messenger.seen(self.window)


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


# The item in the status bar of each window: off, waiting, or the connected CLIs and what waits for the person.


WAITING = "QwenCompanion: no CLI is connected"
KEY = "zz_qwen_companion"
"""Sublime sorts the items of a status bar by their keys, so this one is among the last."""


class StatusBar:
    """Shows the status of each window in its views. Lives on the UI thread, but for `show_status`.

    In Sublime a status belongs to a view, so it is set in every view on the screen and in each one that gets the focus.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._adapter = adapter
        self._statuses: dict[int, WindowStatus] = {}

    @posted
    def show_status(self, window: WindowId, status: WindowStatus) -> None:
        if (target := find_window(window)) is None:
            return
        before = self._statuses.get(window)
        self._statuses[window] = status
        if status.diffs != (before.diffs if before else 0):
            self.draw()  # each other window says so, too
        else:
            self._draw(target)

    def clis(self, window: sublime.Window) -> tuple[str, ...]:
        """The names of the CLIs that are connected to a window."""
        status = self._statuses.get(window.id())
        return status.clis if status else ()

    def draw(self) -> None:
        """Bring the item of every window up to date."""
        for window in sublime.windows():
            self._draw(window)

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus."""
        self._set(view, self._text(window))

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._statuses.pop(window.id(), None)
        self.draw()

    def close(self) -> None:
        """Remove the item from every view."""
        self._statuses.clear()
        for window in sublime.windows():
            for view in window.views():
                view.erase_status(KEY)

    def _draw(self, window: sublime.Window) -> None:
        text = self._text(window)
        for sheet in window.selected_sheets():
            if view := sheet.view():
                self._set(view, text)
        if view := window.active_view():
            self._set(view, text)

    def _text(self, window: sublime.Window) -> str:
        wanted = self._adapter.settings.value("show_status")
        if wanted == "never":
            return ""
        status = self._statuses.get(window.id())
        words = "" if _is_idle(window, status, wanted) else status_text(status)
        # A status may come just after its window has closed.
        known = [self._statuses.get(other.id()) for other in sublime.windows() if other.id() != window.id()]
        others = 0 if status and status.diffs else sum(other.diffs for other in known if other)
        notices = len(self._adapter.messenger.within(window))
        unsent = len(self._adapter.comments.unsent(window))
        parts = (
            (others, f"{counted(others, 'diff')} in another window{KEYS.in_brackets('go_to_diff')}"),
            (notices, f"⚠ {counted(notices, 'message')}: Show Log"),
            (unsent, f"{counted(unsent, 'comment')} to send"),
        )
        return parts_in_one_line((words, *(text for count, text in parts if count)))

    @staticmethod
    def _set(view: sublime.View, text: str) -> None:
        if view.get_status(KEY) != text:
            view.set_status(KEY, text)


def status_text(status: WindowStatus | None) -> str:
    """The text of a status. `status` is None for a window that is not served."""
    if status is None:
        return "QwenCompanion: off"
    counts = Counter(status.clis)
    clis = ", ".join(
        (name if times == 1 else f"{name} ×{times}") + (" · doesn't ask" if name in status.unasking else "")
        for name, times in counts.items()
    )
    asking = f" ({', '.join(status.asking)})" if status.asking else ""
    key = KEYS.in_brackets("go_to_diff")
    waiting = [
        f"{counted(count, what)}{more}"
        for count, what, more in ((status.diffs, "diff", key), (status.questions, "question", asking))
        if count
    ]
    if status.written.files:
        files, changes = counted(status.written.files, "file"), counted(status.written.changes, "change")
        others = [name for name in status.authors if name not in counts]
        waiting.insert(0, f"{', '.join(others)}: {files}" if others else files)
        waiting.insert(1, f"{changes} to review")
        waiting[:2] = [", ".join(waiting[:2])]
        return f"{clis}: {' · '.join(waiting)}" if clis and not others else " · ".join(filter(None, (clis, *waiting)))
    return " · ".join((clis or ("" if waiting else WAITING), *waiting)).removeprefix(" · ")


def _is_idle(window: sublime.Window, status: WindowStatus | None, wanted: str) -> bool:
    """Whether nothing of the status is worth a word; `wanted` is the setting `show_status`."""
    if status and (status.clis or status.diffs or status.questions or status.written.files):
        return False
    return wanted == "connected" or not window.folders()
