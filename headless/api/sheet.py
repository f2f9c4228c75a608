"""Sheet and its kinds, and Buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headless.buffer import TextBuffer
from headless.host import app, locked
from headless.window import SheetState

if TYPE_CHECKING:
    from headless.api.view import View
    from headless.api.window import Window


def ignore(closed: bool) -> None:
    """The default of `on_close`."""


class Sheet:
    """A tab."""

    def __init__(self, id: int) -> None:
        self.sheet_id = id

    def __hash__(self) -> int:
        return self.sheet_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sheet) and other.sheet_id == self.sheet_id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.sheet_id})"

    def _state(self) -> SheetState | None:
        return app().sheets.get(self.sheet_id)

    def id(self) -> int:
        """Its number."""
        return self.sheet_id

    @locked
    def window(self) -> Window | None:
        """The window it is in."""
        state = self._state()
        return app().window_handle(state.window) if state else None

    @locked
    def view(self) -> View | None:
        """The view in it, if it is a text sheet."""
        state = self._state()
        if state is None or state.view is None:
            return None
        return app().view_handle(state.view)

    @locked
    def name(self) -> str | None:
        """The name given to it."""
        state = self._state()
        if state is None:
            return None
        return state.name or (state.view.buffer.name if state.view else None)

    @locked
    def set_name(self, name: str) -> None:
        """Name the tab."""
        state = self._state()
        if state is not None:
            state.name = name
            if state.view is not None:
                state.view.buffer.name = name

    @locked
    def file_name(self) -> str | None:
        """The path of its file."""
        state = self._state()
        if state is None:
            return None
        return state.view.buffer.file_name if state.view else state.image

    @locked
    def is_semi_transient(self) -> bool:
        """Whether it is a side bar preview."""
        state = self._state()
        return bool(state and state.semi_transient)

    @locked
    def is_transient(self) -> bool:
        """Whether it is a preview without a tab."""
        state = self._state()
        return bool(state and state.transient)

    @locked
    def is_selected(self) -> bool:
        """Whether it is shown."""
        state = self._state()
        return bool(state and any(state in group.selected for group in state.window.groups))

    @locked
    def group(self) -> int | None:
        """The number of its group."""
        state = self._state()
        return state.window.group_of(state) if state else None

    def close(self, on_close: Callable[[bool], None] = ignore) -> None:
        """Close it; `on_close` gets whether it was closed."""

        def close() -> None:
            state = self._state()
            if state is not None:
                app().tabs.close_sheet(state, on_close)
            else:
                on_close(False)

        app().on_ui(close)


class TextSheet(Sheet):
    """A tab with a view."""


class ImageSheet(Sheet):
    """A tab with an image."""


class HtmlSheet(Sheet):
    """A tab with HTML."""

    @locked
    def set_contents(self, contents: str) -> None:
        """Show other HTML."""
        state = self._state()
        if state is not None:
            state.html = contents


def sheet_handle(state: SheetState) -> Sheet:
    """The API's object for a sheet."""
    if state.view is not None:
        return TextSheet(state.id)
    return HtmlSheet(state.id) if state.html is not None else ImageSheet(state.id)


class Buffer:
    """A text that views share."""

    def __init__(self, id: int) -> None:
        self.buffer_id = id

    def __hash__(self) -> int:
        return self.buffer_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and self.buffer_id == other.buffer_id

    def __repr__(self) -> str:
        return f"Buffer({self.buffer_id})"

    def _state(self) -> TextBuffer | None:
        for view in list(app().views.values()):
            if view.buffer.id == self.buffer_id:
                return view.buffer
        return None

    def id(self) -> int:
        """Its number."""
        return self.buffer_id

    @locked
    def file_name(self) -> str | None:
        """The path of its file."""
        state = self._state()
        return state.file_name if state is not None else None

    @locked
    def views(self) -> list[View]:
        """The views into it."""
        state = self._state()
        return [] if state is None else [app().view_handle(view) for view in app().views_of(state)]

    def primary_view(self) -> View:
        """The first view into it."""
        return self.views()[0]
