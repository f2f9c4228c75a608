"""A picture of a window: an HTML page without scripts that needs no other file."""

from __future__ import annotations

import html
import os
import time
from typing import TYPE_CHECKING

from headless import minicss
from headless.highlight import Highlighter
from headless.metrics import EM_WIDTH, LINE_HEIGHT, Metrics
from headless.render_style import STYLE
from headless.render_view import ViewPicture
from headless.schemes import SCHEMES, Scheme

if TYPE_CHECKING:
    from headless.app import Application
    from headless.window import GroupState, Question, SheetState, ViewState, WindowState

_BARS = 96  # the heights of the title bar, tab bar and status bar, in pixels
_ABOVE = 5  # the space above the first line
_SIDEBAR = 200
_CHARACTER = 7.8  # the width of a character in pictures
_FILES_SHOWN = 40
MESSAGE = 4.0
"""Seconds for which the status bar shows a message."""


def window_page(
    app: Application,
    window: WindowState,
    scheme: str = "dark",
    width: int = 1280,
    height: int = 720,
    sidebar: bool | None = None,
    dialog: bool = False,
) -> str:
    """The page. `scheme` is `dark` or `light`; the side bar is shown if there are folders.

    With `dialog`, the last dialog is drawn above the window, although it has been answered.

    Raises LookupError for another scheme.
    """
    if scheme not in SCHEMES:
        raise LookupError(f"no colour scheme {scheme!r}")
    picture = WindowPicture(app, window, SCHEMES[scheme], scheme, height)
    return picture.page(width, _has_sidebar(window, sidebar), has_dialog=dialog)


def texts_size(window: WindowState, width: int, height: int, sidebar: bool | None = None) -> tuple[float, float]:
    """The size of a window's text area, in the units of `metrics`, if its picture has this size."""
    return (width - _SIDEBAR * _has_sidebar(window, sidebar)) * EM_WIDTH / _CHARACTER, float(height - _BARS)


def _has_sidebar(window: WindowState, wished: bool | None) -> bool:
    return bool(window.folders) and window.visible["sidebar"] if wished is None else wished


class WindowPicture:
    """Draws a window in one colour scheme."""

    def __init__(self, app: Application, window: WindowState, scheme: Scheme, kind: str, height: int) -> None:
        self._app = app
        self._window = window
        self._scheme = scheme
        self._highlighter = Highlighter(scheme, app.packages.read)
        self._kind = kind
        self._height = height

    def page(self, width: int, sidebar: bool, *, has_dialog: bool = False) -> str:
        """The whole page."""
        variables = "".join(f"--{n.replace('_', '-')}: {c}; " for n, c in self._scheme.colours.items())
        side = self._sidebar() if sidebar else ""
        question = self._question(self._window.question) if self._window.question else ""
        question += self._dialog() if has_dialog else ""
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{html.escape(self._title())}</title><style>:root {{ {variables}}}\n{STYLE}</style></head>\n"
            f'<body class="{self._kind}"><div class="window" style="width: {width}px; height: {self._height}px">'
            f'<div class="title"><i></i><i></i><i></i><span>{html.escape(self._title())}</span></div>'
            f'<div class="middle">{side}<div class="content"><div class="groups">{self._groups()}</div>'
            f"{self._panel()}</div>{question}</div>{self._status_bar()}</div></body></html>\n"
        )

    def _title(self) -> str:
        sheet = self._window.active_sheet
        names = [os.path.basename(folder) for folder in self._window.folders[:1]]
        return " — ".join(([sheet.title] if sheet else []) + names) or "untitled"

    # -- groups --------------------------------------------------------------------------------

    def _groups(self) -> str:
        layout = self._window.layout
        cols, rows = layout["cols"], layout["rows"]
        boxes = []
        for number, (left, top, right, bottom) in enumerate(layout["cells"]):
            place = (
                f"left: {cols[left] * 100:.4g}%; width: {(cols[right] - cols[left]) * 100:.4g}%; "
                f"top: {rows[top] * 100:.4g}%; height: {(rows[bottom] - rows[top]) * 100:.4g}%"
            )
            group = self._window.groups[number]
            boxes.append(f'<div class="group" style="{place}">{self._group(group)}</div>')
        return "".join(boxes)

    def _group(self, group: GroupState) -> str:
        tabs = "".join(self._tab(group, sheet) for sheet in group.sheets)
        panes = "".join(f'<div class="pane">{self._pane(sheet)}</div>' for sheet in group.selected)
        bar = f'<div class="tabs">{tabs}</div>' if self._window.visible["tabs"] else ""
        return f'{bar}<div class="panes">{panes}</div>'

    def _tab(self, group: GroupState, sheet: SheetState) -> str:
        names = ["tab"]
        names += ["selected"] if sheet in group.selected else []
        names += ["active"] if sheet is self._window.active_sheet else []
        names += ["transient"] if sheet.transient else []
        dirty = sheet.view is not None and sheet.view.buffer.dirty
        mark = "●" if dirty else "×"
        return f'<div class="{" ".join(names)}"><span>{html.escape(sheet.title)}</span><b>{mark}</b></div>'

    def _pane(self, sheet: SheetState) -> str:
        if sheet.view is not None:
            return self._view(sheet.view, sheet is self._window.active_sheet)
        if sheet.html is not None:
            return f'<div class="sheet">{minicss.scoped(sheet.html, f"s{sheet.id}")}</div>'
        return f'<div class="sheet">{html.escape(sheet.image or "")}</div>'

    def _view(self, view: ViewState, focused: bool) -> str:
        rows = int((self._height - _BARS) // LINE_HEIGHT) + 1
        popup = ""
        if view.popup is not None:
            caret = max(view.popup.selection[0]) if view.popup.selection else 0
            # Below the line in which the caret was, and the space above the first one.
            top = Metrics().position(view, caret)[1] - view.scroll[1] + LINE_HEIGHT + _ABOVE
            popup = f'<div class="popup" style="top: {top:g}px">{minicss.scoped(view.popup.html, f"u{view.id}")}</div>'
        return ViewPicture(view, self._highlighter, rows, focused).page() + popup

    # -- around them ---------------------------------------------------------------------------

    def _sidebar(self) -> str:
        items = ['<div class="heading">FOLDERS</div>']
        view = self._window.active_view
        active = view.buffer.file_name if view else None
        for folder in self._window.folders:
            items.append(f'<div class="folder">▾ {html.escape(os.path.basename(folder))}</div>')
            for name, is_folder in _entries(folder):
                names = "entry active" if os.path.join(folder, name) == active else "entry"
                sign = "▸ " if is_folder else ""
                items.append(f'<div class="{names}">{sign}{html.escape(name)}</div>')
        return f'<div class="sidebar">{"".join(items)}</div>'

    def _panel(self) -> str:
        name = (self._window.active_panel or "").removeprefix("output.")
        panel = self._window.panels.get(name)
        if panel is None:
            return ""
        return f'<div class="panel">{ViewPicture(panel.view, self._highlighter, 12, False).page()}</div>'

    def _question(self, question: Question) -> str:
        rows = []
        for number, item in enumerate(question.items):
            details = item["details"] if isinstance(item["details"], str) else "<br>".join(item["details"])
            selected = " selected" if number == max(0, question.selected_index) else ""
            letter = f"<b>{html.escape(item['letter'])}</b>" if item.get("letter") else ""
            rows.append(
                f'<div class="item{selected}">{letter}<div>{html.escape(item["trigger"])}'
                f"<em>{html.escape(item['annotation'])}</em></div><small>{details}</small></div>"
            )
        text = html.escape(question.text or question.caption)
        return f'<div class="question"><div class="input">{text}</div>{"".join(rows)}</div>'

    def _dialog(self) -> str:
        """The last dialog; nothing if there was none."""
        asked = [each for each in self._app.messages if each["kind"].endswith("_dialog")]
        if not asked:
            return ""
        buttons = "".join(f"<span>{html.escape(each)}</span>" for each in (*asked[-1].get("buttons", ()), "Cancel"))
        return f'<div class="dialog"><pre>{html.escape(asked[-1]["text"])}</pre><div>{buttons}</div></div>'

    def _status_bar(self) -> str:
        if not self._window.visible["status_bar"]:
            return ""
        view = self._window.active_view
        left, right = [], []
        if view is not None:
            left.append(_caret_text(view))
            left += [view.status[key] for key in sorted(view.status)]
            spaces = view.settings.get("translate_tabs_to_spaces")
            right.append(f"{'Spaces' if spaces else 'Tab Size'}: {view.settings.get('tab_size', 4)}")
            right.append(view.syntax.name if view.syntax else "Plain Text")
        message = self._window.status_message
        if message and time.monotonic() - self._window.status_message_at < MESSAGE:
            left.append(message)
        parts = "".join(f"<span>{html.escape(part)}</span>" for part in right)
        return f'<div class="status"><div>{html.escape(", ".join(left))}</div><div>{parts}</div></div>'


def _caret_text(view: ViewState) -> str:
    if len(view.selection) != 1:
        return f"{len(view.selection)} selection regions"
    a, b = view.selection[0]
    row, col = view.buffer.rowcol(b)
    place = f"Line {row + 1}, Column {col + 1}"
    return place if a == b else f"{abs(b - a)} characters selected"


def _entries(folder: str) -> list[tuple[str, bool]]:
    """The names in a folder and whether each is a folder; folders first, hidden ones left out."""
    try:
        with os.scandir(folder) as entries:
            found = [(e.name, e.is_dir()) for e in entries if not e.name.startswith(".")]
    except OSError:
        return []
    return sorted(found, key=lambda entry: (not entry[1], entry[0].lower()))[:_FILES_SHOWN]
