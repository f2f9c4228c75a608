"""The editor's own commands, as far as packages and tests use them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headless import diff, jsonc
from headless.window import WindowState

if TYPE_CHECKING:
    from headless.app import Application
    from headless.view import ViewState

TextFunction = Callable[..., object]
TEXT: dict[str, TextFunction] = {}
WINDOW: dict[str, Callable[..., object]] = {}
APPLICATION: dict[str, Callable[..., object]] = {}


def run(
    app: Application,
    kind: str,
    name: str,
    args: dict[str, Any],
    view: ViewState | None,
    window: WindowState | None,
) -> bool:
    """Run a built-in command; False if there is none of that name, or nothing to run it on.

    The editor ignores unknown commands silently, and so does this.
    """
    if name in TEXT and view is not None:
        TEXT[name](app, view, **args)
    elif name in WINDOW and window is not None:
        WINDOW[name](app, window, **args)
    elif name in APPLICATION:
        APPLICATION[name](app, **args)
    else:
        return False
    return True


def _text(function: TextFunction) -> TextFunction:
    TEXT[function.__name__] = function
    return function


def _window(function: Callable[..., object]) -> Callable[..., object]:
    WINDOW[function.__name__] = function
    return function


def _application(function: Callable[..., object]) -> Callable[..., object]:
    APPLICATION[function.__name__] = function
    return function


# -- text ------------------------------------------------------------------------------------------


@_text
def insert(app: Application, view: ViewState, characters: str = "") -> None:
    """Type `characters` at every caret, over what is selected."""
    spans = [(min(span), max(span)) for span in view.selection]
    app.change_text(view, "insert", [(s, characters) for s in spans], {"characters": characters})
    view.select([(max(span), max(span)) for span in view.selection])
    app.tell_selection(view)


@_text
def append(
    app: Application,
    view: ViewState,
    characters: str = "",
    force: bool = False,
    scroll_to_end: bool = False,
    disable_tab_translation: bool = False,
) -> None:
    """Add `characters` at the end; `force` also to a read-only buffer."""
    buffer, end = view.buffer, len(view.buffer)
    read_only, translate = buffer.read_only, view.settings.own.get("translate_tabs_to_spaces")
    try:
        buffer.read_only = read_only and not force
        if disable_tab_translation:
            view.settings.own["translate_tabs_to_spaces"] = False
        app.change_text(view, "append", [((end, end), characters)], {"characters": characters})
    finally:
        buffer.read_only = read_only
        if disable_tab_translation:
            del view.settings.own["translate_tabs_to_spaces"]
            if translate is not None:
                view.settings.own["translate_tabs_to_spaces"] = translate
    if scroll_to_end:
        app.metrics.show(view, len(buffer), False)


@_text
def left_delete(app: Application, view: ViewState) -> None:
    """Delete what is selected, or the character before each caret."""
    spans = [(a, b) if a != b else (max(0, a - 1), b) for a, b in view.selection]
    app.change_text(view, "left_delete", [((min(s), max(s)), "") for s in spans])


@_text
def right_delete(app: Application, view: ViewState) -> None:
    """Delete what is selected, or the character behind each caret."""
    spans = [(a, b) if a != b else (a, view.buffer.clamp(b + 1)) for a, b in view.selection]
    app.change_text(view, "right_delete", [((min(s), max(s)), "") for s in spans])


@_text
def select_all(app: Application, view: ViewState) -> None:
    """Select the whole text."""
    view.select([(0, len(view.buffer))])
    app.selection_changed(view)


@_text
def move_to(app: Application, view: ViewState, to: str, extend: bool = False) -> None:
    """Move the carets to `bof`, `eof`, `bol` or `eol`."""
    places: dict[str, Callable[[int], int]] = {
        "bof": lambda point: 0,
        "eof": lambda point: len(view.buffer),
        "bol": lambda point: view.buffer.line_span(point)[0],
        "hardbol": lambda point: view.buffer.line_span(point)[0],
        "eol": lambda point: view.buffer.line_span(point)[1],
        "hardeol": lambda point: view.buffer.line_span(point)[1],
    }
    ends = [(a, places[to](b)) for a, b in view.selection]
    view.select(ends if extend else [(b, b) for _, b in ends])
    app.selection_changed(view)


@_text
def undo(app: Application, view: ViewState) -> None:
    """Take back the last step."""
    app.edits.undo(view)


@_text
def redo(app: Application, view: ViewState) -> None:
    """Make the last step that was taken back again."""
    app.edits.redo(view)


@_text
def revert(app: Application, view: ViewState) -> None:
    """Give the buffer up for what is on disk."""
    app.documents.revert(view)


@_text
def save(app: Application, view: ViewState, **_: Any) -> None:
    """Write the view's text to its file."""
    app.documents.save(view)


@_text
def copy(app: Application, view: ViewState) -> None:
    """Copy what is selected."""
    app.clipboard = _selected_text(view)


@_text
def cut(app: Application, view: ViewState) -> None:
    """Copy what is selected and delete it."""
    app.clipboard = _selected_text(view)
    app.change_text(view, "cut", [((min(s), max(s)), "") for s in view.selection])


def _selected_text(view: ViewState) -> str:
    return "\n".join(view.buffer.text[min(s) : max(s)] for s in view.selection)


@_text
def paste(app: Application, view: ViewState) -> None:
    """Insert the clipboard's text."""
    insert(app, view, app.clipboard)


@_text
def set_setting(app: Application, view: ViewState, setting: str, value: Any) -> None:
    """Set one of the view's settings."""
    app.settings.set(view.settings, setting, value)


@_text
def toggle_setting(app: Application, view: ViewState, setting: str) -> None:
    """Turn one of the view's settings on or off."""
    app.settings.set(view.settings, setting, not view.settings.get(setting))


@_text
def toggle_inline_diff(app: Application, view: ViewState, **_: Any) -> None:
    """Show or hide the differences from the reference document in the text."""
    view.inline_diff = not view.inline_diff


@_text
def revert_hunk(app: Application, view: ViewState) -> None:
    """Give back the reference document's lines at each caret."""
    hunks = diff.hunks(view.buffer)
    at = {diff.hunk_at(hunks, view.buffer.lines.row(b)) for _, b in view.selection}
    changes = [(diff.span(view.buffer, hunk), hunk.old) for hunk in hunks if hunk in at]
    if changes:
        app.change_text(view, "revert_hunk", changes)


@_text
def revert_modification(app: Application, view: ViewState) -> None:
    """The same, by its older name."""
    revert_hunk(app, view)


@_text
def next_modification(app: Application, view: ViewState) -> None:
    """Put the caret at the next difference from the reference document, around the end."""
    _go_to_modification(app, view, forward=True)


@_text
def prev_modification(app: Application, view: ViewState) -> None:
    """Put the caret at the difference before, around the start."""
    _go_to_modification(app, view, forward=False)


def _go_to_modification(app: Application, view: ViewState, forward: bool) -> None:
    rows = [hunk.row for hunk in diff.hunks(view.buffer)]
    if not rows or not view.selection:
        return
    here = view.buffer.lines.row(view.selection[0][1])
    if forward:
        row = next((row for row in rows if row > here), rows[0])
    else:
        row = next((row for row in reversed(rows) if row < here), rows[-1])
    point = view.buffer.text_point(row, 0, True)
    view.select([(point, point)])
    app.metrics.show(view, point)
    app.selection_changed(view)


# -- windows ---------------------------------------------------------------------------------------


@_window
def save_all(app: Application, window: WindowState, **_: Any) -> None:
    """Save all views that have a file."""
    for view in window.views():
        if view.buffer.dirty and view.buffer.file_name is not None:
            app.documents.save(view)


@_window
def close(app: Application, window: WindowState) -> None:
    """Close the tabs that are shown in the focused group."""
    for sheet in list(window.group.selected):
        app.tabs.close_sheet(sheet)


@_window
def close_file(app: Application, window: WindowState, **_: Any) -> None:
    """Close the focused tab."""
    if window.active_sheet is not None:
        app.tabs.close_sheet(window.active_sheet)


@_window
def close_all(app: Application, window: WindowState) -> None:
    """Close all tabs."""
    for sheet in list(window.sheets()):
        app.tabs.close_sheet(sheet)


@_window
def close_window(app: Application, window: WindowState) -> None:
    """Close the window."""
    app.close_window(window)


@_window
def new_file(app: Application, window: WindowState) -> None:
    """Open an empty tab."""
    app.listeners.emit("on_new", _new_tab(app, window))


def _new_tab(app: Application, window: WindowState) -> ViewState:
    view = app.new_view(window)
    app.tabs.add(window, view)
    return view


@_window
def open_file(app: Application, window: WindowState, file: str, **_: Any) -> None:
    """Open a file; `${packages}` stands for the packages folder."""
    path = file.replace("${packages}", app.paths.packages)
    app.tabs.open_file(window, path)


@_window
def show_panel(app: Application, window: WindowState, panel: str, toggle: bool = False) -> None:
    """Show an output panel."""
    if toggle and window.active_panel == panel:
        hide_panel(app, window)
    else:
        window.active_panel = panel


@_window
def hide_panel(app: Application, window: WindowState, cancel: bool = False) -> None:
    """Hide the panel that is shown."""
    window.active_panel = window.panel_view = None
    app.focus_changed()


@_window
def hide_overlay(app: Application, window: WindowState) -> None:
    """Close the quick panel without an answer."""
    app.questions.cancel(window)


@_window
def focus_group(app: Application, window: WindowState, group: int) -> None:
    """Focus a group."""
    if 0 <= group < len(window.groups):
        window.active_group = group
        app.focus_changed()


@_window
def set_layout(app: Application, window: WindowState, **layout: Any) -> None:
    """Change the groups."""
    window.set_layout(layout)
    app.focus_changed()


@_window
def clone_file(app: Application, window: WindowState, **_: Any) -> None:
    """Open a second view into the focused view's buffer."""
    if window.active_view is not None:
        app.tabs.clone(window.active_view, window, 0, window.active_group)


@_window
def open_project_or_workspace(app: Application, window: WindowState, file: str, **_: Any) -> None:
    """Load a project into the window, in the place of the one it has."""
    close_workspace(app, window)
    with open(file, encoding="utf-8") as text:
        window.project = dict(jsonc.loads(text.read()))
    window.project_file = os.path.abspath(file)
    app.settings.changed(window.settings)
    app.listeners.emit_window("on_load_project", window)


@_window
def close_workspace(app: Application, window: WindowState) -> None:
    """Close the window's project."""
    if window.project is not None:
        app.listeners.emit_window("on_pre_close_project", window)
        window.project = window.project_file = None
        app.settings.changed(window.settings)


@_window
def next_view(app: Application, window: WindowState) -> None:
    """Focus the tab to the right."""
    _step_view(app, window, 1)


@_window
def prev_view(app: Application, window: WindowState) -> None:
    """Focus the tab to the left."""
    _step_view(app, window, -1)


def _step_view(app: Application, window: WindowState, step: int) -> None:
    sheets, active = window.group.sheets, window.active_sheet
    if active is not None:
        app.tabs.focus(sheets[(sheets.index(active) + step) % len(sheets)])


@_window
def chain(app: Application, window: WindowState, commands: list[Any]) -> None:
    """Run several commands, each `[name, args]` or `{command, args}`."""
    for each in commands:
        if isinstance(each, dict):
            name, args = each["command"], each.get("args")
        else:
            name, args = each[0], each[1] if len(each) > 1 else None
        app.commands.run(name, args, window.active_view, window)


# -- the application -------------------------------------------------------------------------------


@_application
def new_window(app: Application, **_: Any) -> None:
    """Open a window."""
    app.new_window()


@_application
def open_url(app: Application, url: str) -> None:
    """Remember that the browser would have been opened."""
    app.message("open_url", url)


@_application
def open_dir(app: Application, dir: str, file: str = "") -> None:
    """Remember that the file manager would have been opened."""
    app.message("open_dir", os.path.join(dir, file))


@_application
def edit_settings(app: Application, base_file: str, user_file: str = "", default: str = "") -> None:
    """Open the user's file of a settings file, with `default` in it if it does not exist."""
    window = app.active_window()
    if window is None:
        return
    user_file = user_file or "${packages}/User/" + base_file.rpartition("/")[2]
    path = _expand(app, user_file)
    view = app.tabs.open_file(window, path)

    def fill() -> None:
        if not os.path.exists(path) and not view.buffer.text and default:
            app.replace_text(view, default.replace("$0", ""))

    app.loop.post(fill)


def _expand(app: Application, path: str) -> str:
    from headless.api.functions import platform

    name = {"osx": "OSX", "linux": "Linux", "windows": "Windows"}[platform()]
    path = path.replace("${packages}", app.paths.packages).replace("${platform}", name)
    return os.path.normpath(path)
