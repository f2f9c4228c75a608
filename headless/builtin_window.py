"""The editor's own commands for windows and for itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from headless import jsonc, variations
from headless.builtin import application_command, window_command
from headless.paths import platform_title

if TYPE_CHECKING:
    from headless.editor import Editor
    from headless.window import ViewState, WindowState


@window_command
def save_all(app: Editor, window: WindowState, **_: Any) -> None:
    """Save all views that have a file."""
    for view in window.views():
        if view.buffer.dirty and view.buffer.file_name is not None:
            app.documents.save(view)


@window_command
def close(app: Editor, window: WindowState) -> None:
    """Close the tabs that are shown in the focused group."""
    if variations.chosen("close-selected") == "one":
        close_file(app, window)
        return
    for sheet in list(window.group.selected):
        app.tabs.close_sheet(sheet)


@window_command
def close_file(app: Editor, window: WindowState, **_: Any) -> None:
    """Close the focused tab."""
    if window.active_sheet is not None:
        app.tabs.close_sheet(window.active_sheet)


@window_command
def close_all(app: Editor, window: WindowState) -> None:
    """Close all tabs."""
    for sheet in list(window.sheets()):
        app.tabs.close_sheet(sheet)


@window_command
def close_window(app: Editor, window: WindowState) -> None:
    """Close the window."""
    app.close_window(window)


@window_command
def new_file(app: Editor, window: WindowState) -> None:
    """Open an empty tab."""
    app.listeners.emit("on_new", _new_tab(app, window))


def _new_tab(app: Editor, window: WindowState) -> ViewState:
    view = app.new_view(window)
    app.tabs.add(window, view)
    return view


@window_command
def open_file(app: Editor, window: WindowState, file: str, **_: Any) -> None:
    """Open a file; `${packages}` stands for the packages folder."""
    path = file.replace("${packages}", app.paths.packages)
    app.tabs.open_file(window, path)


@window_command
def delete_file(app: Editor, window: WindowState, files: list[str], prompt: bool = True) -> None:
    """Delete files; with `prompt` only if a prepared answer says so."""
    if not prompt or app.ask("delete_file", ", ".join(files), False):
        for file in files:
            os.remove(file)


@window_command
def show_panel(app: Editor, window: WindowState, panel: str, toggle: bool = False) -> None:
    """Show an output panel."""
    if toggle and window.active_panel == panel:
        hide_panel(app, window)
    else:
        window.active_panel = panel
        window.is_panel_fresh = True


@window_command
def hide_panel(app: Editor, window: WindowState, cancel: bool = False) -> None:
    """Hide the panel that is shown."""
    window.active_panel = window.panel_view = None
    app.focus_changed()


@window_command
def hide_overlay(app: Editor, window: WindowState) -> None:
    """Close the quick panel without an answer."""
    app.questions.cancel(window)


@window_command
def focus_group(app: Editor, window: WindowState, group: int) -> None:
    """Focus a group."""
    if 0 <= group < len(window.groups):
        window.active_group = group
        app.focus_changed()


@window_command
def focus_neighboring_group(app: Editor, window: WindowState, forward: bool = True) -> None:
    """Focus the next or the previous group; the first one follows the last."""
    focus_group(app, window, (window.active_group + (1 if forward else -1)) % len(window.groups))


@window_command
def move_to_group(app: Editor, window: WindowState, group: int) -> None:
    """Move the focused tab to another group and focus it there."""
    sheet = window.active_sheet
    if sheet is not None and 0 <= group < len(window.groups):
        app.tabs.move([sheet], group)
        app.tabs.focus(sheet)


@window_command
def select_by_index(app: Editor, window: WindowState, index: int) -> None:
    """Focus a tab of the focused group."""
    if 0 <= index < len(window.group.sheets):
        app.tabs.focus(window.group.sheets[index])


@window_command
def close_by_index(app: Editor, window: WindowState, group: int, index: int) -> None:
    """Close a tab, as a click on its close button does."""
    if 0 <= group < len(window.groups) and 0 <= index < len(window.groups[group].sheets):
        app.tabs.close_sheet(window.groups[group].sheets[index])


@window_command
def toggle_side_bar(app: Editor, window: WindowState) -> None:
    """Show or hide the side bar."""
    window.visible["sidebar"] = not window.visible["sidebar"]


@window_command
def set_layout(app: Editor, window: WindowState, **layout: Any) -> None:
    """Change the groups."""
    window.set_layout(layout)
    app.focus_changed()


@window_command
def clone_file(app: Editor, window: WindowState, **_: Any) -> None:
    """Open a second view into the focused view's buffer."""
    if window.active_view is not None:
        app.tabs.clone(window.active_view, window, 0, window.active_group)


@window_command
def open_project_or_workspace(app: Editor, window: WindowState, file: str, **_: Any) -> None:
    """Load a project into the window, instead of the one that it has."""
    close_workspace(app, window)
    with open(file, encoding="utf-8") as text:
        window.project = dict(jsonc.loads(text.read()))
    window.project_file = os.path.abspath(file)
    app.settings.changed(window.settings)
    app.listeners.emit_window("on_load_project", window)


@window_command
def close_workspace(app: Editor, window: WindowState) -> None:
    """Close the window's project."""
    if window.project is not None:
        app.listeners.emit_window("on_pre_close_project", window)
        window.project = window.project_file = None
        app.settings.changed(window.settings)


@window_command
def chain(app: Editor, window: WindowState, commands: list[Any]) -> None:
    """Run several commands, each `[name, args]` or `{command, args}`."""
    for each in commands:
        if isinstance(each, dict):
            name, args = each["command"], each.get("args")
        else:
            name, args = each[0], each[1] if len(each) > 1 else None
        app.commands.run(name, args, window.active_view, window)


# -- the application -------------------------------------------------------------------------------


@application_command
def new_window(app: Editor, **_: Any) -> None:
    """Open a window."""
    app.new_window()


@application_command
def open_url(app: Editor, url: str) -> None:
    """Record that the browser would have been opened."""
    app.message("open_url", url)


@application_command
def edit_settings(app: Editor, base_file: str, user_file: str = "", default: str = "") -> None:
    """Open the user's version of a settings file; a new one begins with `default`."""
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


def _expand(app: Editor, path: str) -> str:
    path = path.replace("${packages}", app.paths.packages).replace("${platform}", platform_title())
    return os.path.normpath(path)
