"""The status report on the screen: kept up to date while it is visible, with what can be done at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import sublime

from ...status.facts import Facts
from ...status.findings import Finding, Kind, findings
from ...status.report import report
from ...visible import ShownText
from ..minihtml import safe
from ..notices import NOTICES
from ..page import Page
from ..panels import to_clipboard
from ..style import COLOURS
from ..windows import is_in_front, is_visible
from .view import TITLE, Show

SETTINGS = {
    "base_file": "${packages}/QwenCompanion/QwenCompanion.sublime-settings",
    "default": "// Your own settings of QwenCompanion\n{\n\t$0\n}\n",
}


class Remedy(NamedTuple):
    """Something to click, or to pick by key."""

    caption: str
    apply: Callable[[sublime.Window], object]


def remedies(finding: Finding) -> tuple[Remedy, ...]:
    """The remedies of a finding; none if the person has to do it elsewhere."""
    copies = (_copy(finding.types),) if finding.types else ()
    return (*copies, *_REMEDIES.get(finding.kind, ()))


def _copy(text: str) -> Remedy:
    def apply(window: sublime.Window) -> None:
        to_clipboard(ShownText(text))
        NOTICES.add(f"“{text}” was copied.", window)

    return Remedy(f"Copy “{text}”", apply)


def _command(caption: str, name: str, args: dict[str, object] | None = None) -> Remedy:
    return Remedy(caption, lambda window: window.run_command(name, args))  # pyright: ignore[reportArgumentType]


WITH_THE_REPORT = (_command("Copy Report", "qwen_companion_copy_report"),)
"""What can be done with every report."""
_TERMINAL = _command("Show Terminal", "qwen_companion_show_terminal")
_ENVIRONMENT = _command("Copy Terminal Environment…", "qwen_companion_copy_environment")
_FOLDER = _command("Add Folder to Project…", "prompt_add_folder")
_REMEDIES: dict[Kind, tuple[Remedy, ...]] = {
    "setting": (_command("Open Settings", "edit_settings", {**SETTINGS}),),
    "libraries": (_command("Repair Libraries", "qwen_companion_repair_libraries"),),
    "chat": (_command("Go to the Chat", "qwen_companion_chat"),),
    "ignored": (_command("Edit Project", "open_file", {"file": "${project}"}),),
    "no folder": (_FOLDER,),
    "elsewhere": (_FOLDER,),
    "above": (_TERMINAL,),
    "before": (_TERMINAL,),
    "ide mode": (_TERMINAL,),
    "not connected": (_TERMINAL,),
    "rival": (_TERMINAL,),
    "old port": (_TERMINAL, _ENVIRONMENT),
    "variables": (_ENVIRONMENT,),
    "approval": (_TERMINAL,),
    "transcripts": (_command("Read Transcripts…", "qwen_companion_read_transcripts"),),
    "remote": (_command("Connect a CLI Elsewhere…", "qwen_companion_connect_elsewhere"),),
}


INTERVAL = 3_000
"""Milliseconds between two reports while it is visible."""
HIDDEN_INTERVAL = 1_000
"""Milliseconds between two looks whether it is visible again."""
PHANTOMS = "qwen_companion.remedies"

Begin = Callable[[Show], object]
"""Begins a report; its facts go to the function."""


class LiveReport:
    """One report on the screen, until its tab is closed. Lives on the UI thread."""

    def __init__(self, window: sublime.Window, begin: Begin, ended: Callable[[LiveReport], object]) -> None:
        self.view = (page := Page(window, "status", TITLE)).view
        self._page = page
        self._window = window
        self._begin = begin
        self._ended = ended
        self._text = ""
        self._is_first = True
        self._wanted = True
        self._phantoms = sublime.PhantomSet(self.view, PHANTOMS)
        self._remedies: list[tuple[int, Remedy]] = []
        """The remedies with the points at which their findings begin."""

    def start(self) -> None:
        """Show what is known, and go on."""
        self._begin(self._show)

    def close(self) -> None:
        """Stop. The text stays."""
        self._wanted = False
        if self.view.is_valid():
            self._phantoms.update([])

    def at(self, point: int) -> list[Remedy]:
        """The remedies of the finding in the line of a point; in the first line what can be done with the report."""
        line = self.view.line(point)
        return [remedy for start, remedy in self._remedies if line.contains(start)]

    def all(self) -> list[Remedy]:
        """All remedies, each once, in the order of the findings."""
        return list({remedy.caption: remedy for _, remedy in self._remedies}.values())

    def apply(self, remedy: Remedy) -> None:
        """Do something about a finding."""
        remedy.apply(self._window)

    def _show(self, facts: Facts, is_last: bool) -> None:
        text = report(facts)
        if not self._wanted:
            return
        if not self._page.is_open:
            self._ended(self)
            return
        # A report that is only renewed is shown when it is complete, and not while the person selects in it.
        if (self._is_first or is_last) and self._differs(text) and not self._is_selecting():
            self._text = text
            self._page.show(text)
            self._offer(facts)
        if is_last:
            self._is_first = False
            sublime.set_timeout(self._again, INTERVAL)

    def _again(self) -> None:
        if not self._wanted:
            return
        if not self._page.is_open:
            self._ended(self)
        elif is_visible(self.view) and is_in_front(self._window):
            self._begin(self._show)
        else:
            sublime.set_timeout(self._again, HIDDEN_INTERVAL)

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
            self.apply(self._remedies[at][1])


def _without_time(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:1] + lines[2:]
