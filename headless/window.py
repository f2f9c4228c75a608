"""The state of windows and views: groups of sheets, panels, a project; selections, regions, phantoms and scroll."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from headless import variations
from headless.api.flags import RegionFlags
from headless.api.items import CompletionList, Syntax
from headless.buffer import TextBuffer
from headless.changes import Change, Span
from headless.classify import DEFAULT_SEPARATORS
from headless.regions import PhantomState, RegionSet, merged, moved
from headless.settings import SettingsState
from headless.syntaxes import PLAIN_TEXT, syntax_by_path
from headless.undo import Step

SINGLE = {"cols": [0.0, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1]]}
WINDOW_SIZE = (3440.0, 600.0)
"""What a new window has for its texts, in width and height: a wide screen, a quarter of which is 80 columns."""


@dataclass
class Completions:
    """The lists that a view has been given for a place in its text; they may still be empty.

    `start` is where the typed prefix begins, `asked_at` where the caret was.
    """

    start: int
    asked_at: int
    lists: list[CompletionList]


@dataclass
class Popup:
    """The popup that a view shows; `selection` is what was selected when it opened."""

    html: str
    flags: int
    on_navigate: Callable[[str], None] | None
    on_hide: Callable[[], None] | None
    selection: list[Span]


class ViewState:
    """All that a view knows; `sublime.View` is a handle to it."""

    def __init__(self, id: int, buffer: TextBuffer, settings: SettingsState) -> None:
        self.id = id
        self.buffer = buffer
        self.settings = settings
        self.window: WindowState | None = None
        self.sheet: SheetState | None = None
        self.element: str | None = None
        self.valid = True
        self.selection: list[Span] = [(0, 0)]
        self.xpos: dict[Span, float] = {}
        # The selection that the listeners have last been told about.
        self.told_selection: list[Span] = [(0, 0)]
        self.regions: dict[str, RegionSet] = {}
        self.phantoms: dict[int, PhantomState] = {}
        self.folds: list[Span] = []
        self.status: dict[str, str] = {}
        self.popup: Popup | None = None
        self.completions: Completions | None = None
        self.scroll: tuple[float, float] = (0.0, 0.0)
        # What was on the screen when the view was last drawn.
        self.drawn_scroll: tuple[float, float] = (0.0, 0.0)
        # Annotations that are still shown although their regions have been erased.
        self.left_annotations: dict[str, RegionSet] = {}
        self.inline_diff = False
        self.overwrite = False
        self.edit_depth = 0
        self.step: Step | None = None
        buffer.watchers.append(self._follow)

    def _follow(self, change: Change) -> None:
        self.selection = merged(moved(self.selection, change))
        for regions in [*self.regions.values(), *self.left_annotations.values()]:
            regions.spans = moved(regions.spans, change)
        stays = variations.chosen("phantom-at-insertion") == "stays" and not change.old
        for phantom in self.phantoms.values():
            if not (stays and phantom.span == (change.at, change.at)):
                phantom.span = moved([phantom.span], change)[0]
        if self.folds:
            self.folds = [span for span in moved(self.folds, change) if span[0] != span[1]]

    def hide_popup(self) -> None:
        """Hide the popup."""
        popup, self.popup = self.popup, None
        if popup is not None and popup.on_hide is not None:
            popup.on_hide()

    @property
    def is_shown(self) -> bool:
        """Whether it is one of the tabs that its group shows, or is in no tab."""
        sheet = self.sheet
        return sheet is None or any(sheet in group.selected for group in sheet.window.groups)

    def detach(self) -> None:
        """The view has been closed: it no longer follows its buffer."""
        self.valid = False
        self.buffer.watchers.remove(self._follow)

    def select(self, spans: Iterable[Span]) -> None:
        """Select `spans` and nothing else."""
        self.selection = merged(self.buffer.clamped(spans))

    def undo_state(self) -> tuple[list[Span], dict[str, list[Span]]]:
        """What undo brings back besides the text."""
        kept = {k: r.spans for k, r in self.regions.items() if not r.flags & RegionFlags.NO_UNDO}
        return self.selection, kept

    def restore(self, state: tuple[list[Span], dict[str, list[Span]]]) -> None:
        """Bring back what `undo_state` gave."""
        selection, regions = state
        self.select(selection)
        for key, spans in regions.items():
            if key in self.regions and not self.regions[key].flags & RegionFlags.NO_UNDO:
                self.regions[key].spans = spans

    @property
    def title(self) -> str:
        """What the tab says."""
        path = self.buffer.file_name
        if path:
            return path.replace("\\", "/").rpartition("/")[2]
        return self.buffer.name or "untitled"

    @property
    def spans(self) -> list[Span]:
        """What is selected, each with its smaller end first."""
        return [(min(span), max(span)) for span in self.selection]

    @property
    def separators(self) -> str:
        """What ends a word."""
        return str(self.settings.get("word_separators", DEFAULT_SEPARATORS))

    @property
    def tab_size(self) -> int:
        """How many columns a tab spans at the most."""
        return max(1, int(self.settings.get("tab_size", 4)))

    @property
    def syntax(self) -> Syntax | None:
        """The syntax, if it is one of those known."""
        return syntax_by_path(str(self.settings.own.get("syntax", PLAIN_TEXT)))

    @property
    def scope(self) -> str:
        """The base scope of the syntax."""
        return self.syntax.scope if self.syntax else "text.plain"


@dataclass(eq=False)
class SheetState:
    """A tab: a view's, an image's or an HTML sheet's."""

    id: int
    window: WindowState
    view: ViewState | None = None
    html: str | None = None
    image: str | None = None
    name: str | None = None
    transient: bool = False
    semi_transient: bool = False

    @property
    def title(self) -> str:
        """What the tab says."""
        if self.name is not None:
            return self.name
        if self.view is not None:
            return self.view.title
        return (self.image or "untitled").replace("\\", "/").rpartition("/")[2]


@dataclass(eq=False)
class GroupState:
    """A part of the window with its own tab bar; `used` has the last focused sheet last."""

    sheets: list[SheetState] = field(default_factory=list)
    selected: list[SheetState] = field(default_factory=list)
    used: list[SheetState] = field(default_factory=list)

    @property
    def active(self) -> SheetState | None:
        """The sheet that has the focus when the group has it."""
        for sheet in reversed(self.used):
            if sheet in self.selected:
                return sheet
        return self.selected[-1] if self.selected else None

    def touch(self, sheet: SheetState) -> None:
        """Note that `sheet` was focused last."""
        if sheet in self.used:
            self.used.remove(sheet)
        self.used.append(sheet)

    def select(self, sheets: list[SheetState]) -> None:
        """Show `sheets`, side by side, in the order of their tabs; the last one is focused."""
        self.selected = [sheet for sheet in self.sheets if sheet in sheets]
        if sheets:
            self.touch(sheets[-1])

    def insert(self, index: int, sheet: SheetState) -> None:
        """Add a tab at `index`; a negative one means after the last."""
        self.sheets.insert(len(self.sheets) if index < 0 else index, sheet)

    def remove(self, sheet: SheetState) -> None:
        """Take a tab out; if it was the only one shown, the one used before it is shown."""
        position = self.sheets.index(sheet)
        self.sheets.remove(sheet)
        if sheet in self.used:
            self.used.remove(sheet)
        if sheet in self.selected:
            self.selected.remove(sheet)
        if not self.selected and self.sheets:
            last = self.used[-1] if self.used else self.sheets[max(0, position - 1)]
            self.select([last])


@dataclass
class Panel:
    """An output panel."""

    view: ViewState
    unlisted: bool
    input: ViewState | None = None


@dataclass
class Question:
    """A quick or input panel that waits for the person's answer."""

    kind: str
    items: list[dict[str, Any]]
    text: str
    answer: Callable[[Any], None]
    cancel: Callable[[], None]
    caption: str = ""
    selected_index: int = -1
    view: ViewState | None = None


class WindowState:
    """All that a window knows; `sublime.Window` is a handle to it."""

    def __init__(self, id: int, settings: SettingsState, template: SettingsState) -> None:
        self.id = id
        self.settings = settings
        self.template_settings = template
        self.valid = True
        self.size = WINDOW_SIZE
        self.layout: dict[str, Any] = copy.deepcopy(SINGLE)
        self.groups = [GroupState()]
        self.active_group = 0
        self.project_file: str | None = None
        self.project: dict[str, Any] | None = None
        self.panels: dict[str, Panel] = {}
        self.active_panel: str | None = None
        # The view of a panel, while that has the focus and not a tab.
        self.panel_view: ViewState | None = None
        # Whether no tab has had the focus since the panel was shown.
        self.is_panel_fresh = False
        self.question: Question | None = None
        self.status_message = ""
        self.status_message_at = 0.0
        """When it was shown: the editor takes it away after a few seconds."""
        self.visible = {
            "sidebar": True, "minimap": True, "status_bar": True, "tabs": True, "menu": True,
        }  # fmt: skip

    @property
    def folders(self) -> list[str]:
        """The folders of the side bar."""
        paths = [str(folder["path"]) for folder in (self.project or {}).get("folders", [])]
        if self.project_file is None:
            return paths
        base = os.path.dirname(self.project_file)
        return [os.path.normpath(os.path.join(base, path)) for path in paths]

    @property
    def group(self) -> GroupState:
        """The focused group."""
        return self.groups[self.active_group]

    @property
    def active_sheet(self) -> SheetState | None:
        """The focused sheet."""
        return self.group.active

    @property
    def active_view(self) -> ViewState | None:
        """The view of the focused sheet."""
        sheet = self.active_sheet
        return sheet.view if sheet else None

    def sheets(self) -> list[SheetState]:
        """All tabs, group by group."""
        return [sheet for group in self.groups for sheet in group.sheets]

    def views(self) -> list[ViewState]:
        """The views of all tabs."""
        return [sheet.view for sheet in self.sheets() if sheet.view is not None]

    def group_of(self, sheet: SheetState) -> int | None:
        """The number of the group that has `sheet`."""
        for number, group in enumerate(self.groups):
            if sheet in group.sheets:
                return number
        return None

    def group_number(self, group: int) -> int:
        """The group that an API argument means: -1 is the focused one."""
        return self.active_group if not 0 <= group < len(self.groups) else group

    def set_layout(self, layout: dict[str, Any]) -> None:
        """Change the groups; the sheets of groups that go move to the last one left."""
        self.layout = copy.deepcopy(layout)
        count = max(1, len(layout["cells"]))
        while len(self.groups) < count:
            self.groups.append(GroupState())
        last = self.groups[count - 1]
        for group in self.groups[count:]:
            last.sheets += group.sheets
            last.used = group.used + last.used
            if not last.selected:
                last.selected = group.selected
        del self.groups[count:]
        self.active_group = min(self.active_group, count - 1)

    def all_views(self) -> list[ViewState]:
        """The views of tabs, panels and an open question."""
        views = self.views()
        for panel in self.panels.values():
            views += [panel.view] + ([panel.input] if panel.input else [])
        if self.question and self.question.view:
            views.append(self.question.view)
        return views
