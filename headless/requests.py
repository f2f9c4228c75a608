"""What a driver of the editor can ask for: a method for each `do`, run on the UI thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headless import completions, keymap, links, render, state, variations
from headless.api.flags import HoverZone

if TYPE_CHECKING:
    from headless.app import Application
    from headless.window import ViewState, WindowState


class Requests:
    """The requests; each public method's name is a `do`, its parameters the request's keys."""

    def __init__(self, app: Application) -> None:
        self._app = app

    def handle(self, do: str, arguments: dict[str, Any]) -> Any:
        """Carry out a request and return its result.

        Raises LookupError for an unknown request, view or window, TypeError for wrong keys.
        """
        method = getattr(self, do, None)
        if do.startswith("_") or do == "handle" or method is None:
            raise LookupError(f"unknown request {do!r}")
        return method(**arguments)

    def _view(self, id: int | None) -> ViewState:
        if id is None:
            window = self._app.active_window()
            view = window.active_view if window else None
            if view is None:
                raise LookupError("no view is focused")
            return view
        if id not in self._app.views:
            raise LookupError(f"no view {id}")
        return self._app.views[id]

    def _window(self, id: int | None) -> WindowState:
        window = self._app.active_window() if id is None else self._app.window(id)
        if window is None:
            raise LookupError("no window" if id is None else f"no window {id}")
        return window

    # -- files and views -----------------------------------------------------------------------

    def open_file(self, path: str, window: int | None = None, flags: int = 0, group: int = -1) -> dict[str, Any]:
        """Open a file and wait until it is loaded."""
        view = self._app.tabs.open_file(self._window(window), path, flags, group)
        self._app.documents.load(view)
        return {"view": view.id}

    def new_file(
        self,
        window: int | None = None,
        text: str = "",
        settings: dict[str, Any] | None = None,
        scratch: bool = False,
        read_only: bool = False,
    ) -> dict[str, Any]:
        """Open an empty tab, or with a text and settings one like those that a restart restores.

        Whether it is then scratch and read-only as before is a variation.
        """
        target = self._window(window)
        self._app.commands.run("new_file", None, None, target)
        view = target.active_view
        assert view is not None
        view.settings.own.update(settings or {})
        if text:
            self._app.replace_text(view, text)
        if variations.chosen("restores-flags") == "yes":
            view.buffer.scratch, view.buffer.read_only = scratch, read_only
        return {"view": view.id}

    def close_view(self, view: int) -> dict[str, Any]:
        """Close a view's tab; unsaved changes are discarded if no answer has been prepared."""
        sheet = self._view(view).sheet
        if sheet is None:
            raise LookupError(f"view {view} has no tab")
        return {"closed": self._app.tabs.close_sheet(sheet)}

    def focus(self, view: int | None = None, window: int | None = None) -> None:
        """Focus a view, and bring its window to the front; or only a window."""
        if view is not None:
            target = self._view(view)
            if target.sheet is not None:
                self._app.tabs.focus(target.sheet)
            if target.window is not None:
                self._app.bring_to_front(target.window)
        else:
            self._app.bring_to_front(self._window(window))

    def select(self, view: int, regions: list[list[int]]) -> None:
        """Select regions, given as offsets."""
        target = self._view(view)
        target.select([(a, b) for a, b in regions])
        self._app.tell_selection(target)

    def insert(self, text: str, view: int | None = None) -> None:
        """Type a text at the carets."""
        target = self._view(view)
        self._app.commands.run("insert", {"characters": text}, target, target.window)

    def set_text(self, text: str, view: int | None = None) -> None:
        """Replace all of a view's text, as a person could by typing."""
        self._app.replace_text(self._view(view), text)

    def save(self, view: int | None = None) -> None:
        """Save a view.

        Raises ValueError if it could not be saved: the message says why.
        """
        target = self._view(view)
        self._app.commands.run("save", None, target, target.window)
        if target.buffer.dirty or target.buffer.file_name is None:
            raise ValueError(f"view {target.id} has not been saved")

    # -- windows -------------------------------------------------------------------------------

    def new_window(self, folders: list[str] | None = None) -> dict[str, Any]:
        """Open a window."""
        return {"window": self._app.new_window(folders or []).id}

    def close_window(self, window: int) -> dict[str, Any]:
        """Close a window and its tabs."""
        return {"closed": self._app.close_window(self._window(window))}

    def set_folders(self, folders: list[str], window: int | None = None) -> None:
        """Change a window's folders."""
        handle = self._app.window_handle(self._window(window))
        data = handle.project_data() or {}
        data["folders"] = [{"path": folder} for folder in folders]
        handle.set_project_data(data)

    # -- commands, keys, panels ----------------------------------------------------------------

    def command(
        self,
        name: str,
        args: dict[str, Any] | None = None,
        view: int | None = None,
        window: int | None = None,
    ) -> dict[str, Any]:
        """Run a command of a view, of a window, or of what is focused; returns whether it was enabled.

        Raises LookupError if there is no such command, although the editor ignores those.
        """
        if not self._app.commands.exists(name):
            raise LookupError(f"no command {name!r}")
        if view is not None:
            target = self._view(view)
            place = target.window
        else:
            place = self._window(window) if window is not None else self._app.active_window()
            target = place.active_view if place else None
        enabled = self._app.commands.is_enabled(name, args, target, place)
        if enabled:
            self._app.commands.run(name, args, target, place)
        return {"enabled": enabled}

    def enabled(self, name: str, args: dict[str, Any] | None = None, view: int | None = None) -> bool:
        """Whether a command is enabled."""
        window = self._app.active_window()
        target = self._view(view) if view is not None else window and window.active_view
        return self._app.commands.is_enabled(name, args, target or None, window)

    def press(self, keys: str | list[str], view: int | None = None) -> dict[str, Any]:
        """Press a key or a sequence of keys; returns the command that it ran, if any."""
        pressed = [keys] if isinstance(keys, str) else keys
        return {"command": keymap.press(self._app, self._view(view), pressed)}

    def click(self, view: int, href: str) -> None:
        """Click a link in a view."""
        links.click(self._app, self._view(view), href)

    def hover(self, view: int, point: int) -> None:
        """Rest the mouse on a place in the text."""
        self._app.listeners.hover(self._view(view), point, int(HoverZone.TEXT))

    def complete(self, view: int, index: int = 0) -> None:
        """Insert one of the completions that are shown."""
        completions.commit(self._app, self._view(view), index)

    def close_annotations(self, view: int, key: str) -> None:
        """Close the annotations of a key of regions, as a click on their × does."""
        links.close_annotations(self._view(view), key)

    def answer(self, panel: int | str | None = None, window: int | None = None) -> None:
        """Answer the open quick or input panel; None cancels it."""
        self._app.questions.answer(self._window(window), panel)

    def dialogs(self, answers: list[Any]) -> None:
        """Prepare the answers of the next dialogs, in their order."""
        self._app.dialog_answers.extend(answers)

    # -- looking -------------------------------------------------------------------------------

    def state(self, text: bool = False) -> dict[str, Any]:
        """Everything that can be seen."""
        return state.describe(self._app, text)

    def resize(self, width: int, height: int, window: int | None = None, sidebar: bool | None = None) -> None:
        """Give a window the size that pictures of this width and height show, in pixels."""
        state = self._window(window)
        state.size = render.texts_size(state, width, height, sidebar)

    def render(self, path: str, window: int | None = None, scheme: str = "dark", **options: Any) -> dict[str, Any]:
        """Write a picture of a window as an HTML file."""
        html = render.window_page(self._app, self._window(window), scheme, **options)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(html)
        return {"path": path}

    def stall(self, reset: bool = False) -> dict[str, float]:
        """How long the UI thread was away; with `reset` measuring starts again."""
        figures = self._app.loop.stopwatch.figures()
        if reset:
            self._app.loop.stopwatch.reset()
        return figures

    def reload_package(self, name: str | None = None) -> None:
        """Reload the package's root modules."""
        self._app.loader.reload_package(name)
