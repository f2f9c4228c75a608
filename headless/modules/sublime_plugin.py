"""The module `sublime_plugin`: the classes that plugins derive from."""

from __future__ import annotations

import sys
from collections.abc import Callable as _Callable
from typing import Any, Generic, TypeVar

from headless import hooks as _hooks
from headless import host as _host
from headless.api import sheet as _sheet
from headless.api import view as _view
from headless.api import window as _window
from headless.api.items import Html as _Html
from headless.api.items import ListInputItem as _ListInputItem
from headless.api.region import Edit as _Edit
from headless.api.settings import Settings as _Settings
from headless.api.types import Event as Event
from headless.api.types import Value as Value
from headless.commands import snake_name as _snake_name

_T = TypeVar("_T")


def __getattr__(name: str) -> Any:
    """The tables of listeners and commands, which packages read; some are copies."""
    tables = {
        "view_event_listeners": "by_view",
        "text_change_listeners": "by_buffer",
        "view_event_listener_classes": "view_classes",
        "text_change_listener_classes": "text_classes",
    }
    if name in tables:
        return getattr(_host.app().listeners, tables[name])
    app = _host.app()
    if name == "api_ready":
        return app.started
    if name == "all_callbacks":
        heard = app.listeners.global_
        return {event: [each for each in heard if hasattr(each, event)] for event in _hooks.EVENT_LISTENER}
    commands = {
        "application_command_classes": [type(each) for each in app.commands.application.values()],
        "window_command_classes": list(app.commands.window.values()),
        "text_command_classes": list(app.commands.text.values()),
    }
    if name == "all_command_classes":
        return list(commands.values())
    if name not in commands:
        raise AttributeError(f"module 'sublime_plugin' has no attribute {name!r}")
    return commands[name]


def find_view_event_listener(view: _view.View, cls: type[_T]) -> _T | None:
    """The listener of exactly this class that is attached to a view."""
    attached = _host.app().listeners.by_view.get(view.view_id, ())
    return next((each for each in attached if type(each) is cls), None)


def reload_plugin(modulename: str) -> None:
    """Reimport a module and register what is in it."""
    _host.app().loader.load(modulename)


def unload_plugin(modulename: str) -> None:
    """Unregister what is in a module, and forget it."""
    sys.modules.pop(modulename, None)
    _host.app().loader.unload(modulename)


def check_view_event_listeners(view: _view.View) -> None:
    """Create or remove a view's own listeners, as `is_applicable` says."""
    _host.app().listeners.attach(_host.app().view(view.view_id))


class CommandInputHandler(Generic[_T]):
    """Asks for one argument of a command."""

    def name(self) -> str:
        """The argument's name: `foo_bar` for FooBarInputHandler."""
        return _snake_name(type(self).__name__, "InputHandler")

    def placeholder(self) -> str:
        """Shown while nothing has been typed."""
        return ""

    def initial_text(self) -> str:
        """The text in the input box at first."""
        return ""

    def initial_selection(self) -> list[tuple[int, int]]:
        """The selected parts of the initial text."""
        return []

    def preview(self, text: _T) -> str | _Html:
        """Shown while the person types."""
        return ""

    def validate(self, text: _T, event: Event | None = None) -> bool:
        """Whether the value will do."""
        return True

    def cancel(self) -> None:
        """The person does not want to answer."""

    def confirm(self, text: _T, event: Event | None = None) -> None:
        """The person has answered."""

    def next_input(self, args: dict[str, Value]) -> CommandInputHandler[Any] | None:
        """What to ask for next."""
        return None

    def want_event(self) -> bool:
        """Whether `validate` and `confirm` want an event."""
        return False

    def create_input_handler_(self, args: dict[str, Value]) -> CommandInputHandler[Any] | None:
        """What the editor calls to know what to ask for next."""
        return self.next_input(args)

    def preview_(self, v: _T) -> tuple[str, int]:
        """What the editor calls for the preview: the text, and 1 if it is HTML."""
        shown = self.preview(v)
        return (shown.data, 1) if isinstance(shown, _Html) else (shown or "", 0)

    def validate_(self, v: _T, event: Event | None) -> bool:
        """What the editor calls to validate."""
        return self.validate(v, event) if self.want_event() else self.validate(v)

    def cancel_(self) -> None:
        """What the editor calls to cancel."""
        self.cancel()

    def confirm_(self, v: _T, event: Event | None) -> None:
        """What the editor calls to confirm."""
        if self.want_event():
            self.confirm(v, event)
        else:
            self.confirm(v)

    def _properties(self, kind: str) -> dict[str, Any]:
        return {
            "initial_text": self.initial_text(),
            "initial_selection": self.initial_selection(),
            "placeholder_text": self.placeholder(),
            "type": kind,
        }


class BackInputHandler(CommandInputHandler[Any]):
    """Goes back to the previous handler."""

    def name(self) -> str:
        """The editor's name for it."""
        return "_Back"


class TextInputHandler(CommandInputHandler[str]):
    """Asks for a text."""

    def description(self, text: str) -> str:
        """Shown once another handler is asked."""
        return text

    def setup_(self, args: dict[str, Value]) -> tuple[list[Any], dict[str, Any]]:
        """What the editor calls to show it: no items, and how it begins."""
        return [], self._properties("text")

    def description_(self, value: str, text: str) -> str:
        """What the editor calls once another handler is asked."""
        return self.description(text) or ""


class ListInputHandler(CommandInputHandler[_T]):
    """Asks for one of a list."""

    def list_items(self) -> Any:
        """The items, or the items and the number of the selected one."""
        return []

    def description(self, value: _T, text: str) -> str:
        """Shown once another handler is asked."""
        return text

    def setup_(self, args: dict[str, Value]) -> tuple[list[Any], dict[str, Any]]:
        """What the editor calls to show it: the rows with their values, and how it begins.

        Raises TypeError for an item that is neither a string, a pair nor a ListInputItem.
        """
        items, selected = self.list_items(), -1
        if isinstance(items, tuple):
            items, selected = items
        return [_row_and_value(item) for item in items], {**self._properties("list"), "selected": selected}

    def description_(self, value: _T, text: str) -> str:
        """What the editor calls once another handler is asked."""
        return self.description(value, text) or ""


def _row_and_value(item: Any) -> Any:
    """What a list shows for an item, and what is passed to the command."""
    if isinstance(item, str):
        return item, item
    if isinstance(item, (list, tuple)):
        return item
    if not isinstance(item, _ListInputItem):
        raise TypeError("items must contain only str, list, tuple or sublime.ListInputItem objects")
    details = item.details if isinstance(item.details, str) else "\x1f".join(item.details or ())
    kind, letter, name = item.kind
    if item.annotation or (kind, letter, name) != (0, "", ""):
        code = ord(letter) if isinstance(letter, str) and len(letter) == 1 else 0
        return (item.text, details, item.annotation, (kind, code, name)), item.value
    return ((item.text, details, True) if details else item.text), item.value


class Command:
    """What all commands have."""

    def name(self) -> str:
        """`foo_bar` for FooBarCommand."""
        return _snake_name(type(self).__name__, "Command")

    def is_enabled(self) -> bool:
        """Whether it can be run now."""
        return True

    def is_visible(self) -> bool:
        """Whether menus show it."""
        return True

    def is_checked(self) -> bool:
        """Whether menus show it with a check mark."""
        return False

    def description(self) -> str | None:
        """The menu entry's text, if the menu has no caption for it."""
        return ""

    def want_event(self) -> bool:
        """Whether it wants the mouse's event."""
        return False

    def input(self, args: dict[str, Value]) -> CommandInputHandler[Any] | None:
        """What to ask before it is run from the palette."""
        return None

    def input_description(self) -> str:
        """Its name in the palette's input box."""
        return ""

    def create_input_handler_(self, args: dict[str, Value]) -> CommandInputHandler[Any] | None:
        """What the editor calls to know what to ask for."""
        return self.input(args)

    def filter_args(self, args: dict[str, Any] | None) -> dict[str, Any] | None:
        """The arguments without the mouse's event, unless the command wants it."""
        if args and "event" in args and not self.want_event():
            return {name: value for name, value in args.items() if name != "event"}
        return args

    def is_enabled_(self, args: dict[str, Any] | None) -> bool:
        """What the editor calls before it runs the command; ValueError unless the answer is a bool."""
        return _ask(self.is_enabled, self.filter_args(args), self)

    def is_visible_(self, args: dict[str, Any] | None) -> bool:
        """What the editor calls for menus and the palette; ValueError unless the answer is a bool."""
        return _ask(self.is_visible, self.filter_args(args), self)

    def is_checked_(self, args: dict[str, Any] | None) -> bool:
        """What the editor calls for menus; ValueError unless the answer is a bool."""
        return _ask(self.is_checked, self.filter_args(args), self)

    def description_(self, args: dict[str, Any] | None) -> str:
        """What the editor calls for menus."""
        try:
            return self.description(**(self.filter_args(args) or {})) or ""
        except TypeError:
            return ""

    def run_(self, edit_token: int, args: dict[str, Any] | None) -> Any:
        """What the editor calls to run it."""
        return self.run(**(self.filter_args(args) or {}))

    def run(self, **kwargs: Any) -> Any:
        """What it does: nothing, unless a class derived from this one says otherwise."""


def _ask(method: _Callable[..., Any], args: dict[str, Any] | None, command: Command) -> bool:
    """Call a method with the command's arguments, or without if it takes none."""
    try:
        answer = method(**(args or {}))
    except TypeError:
        answer = method()
    if not isinstance(answer, bool):
        raise ValueError(f"{method.__name__} must return a bool", command)  # noqa: TRY004 - as the editor
    return answer


class ApplicationCommand(Command):
    """A command of the application; there is one instance."""


class WindowCommand(Command):
    """A command of a window; there is one instance for each window."""

    def __init__(self, window: _window.Window) -> None:
        self.window = window


class TextCommand(Command):
    """A command of a view; there is one instance for each view."""

    def __init__(self, view: _view.View) -> None:
        self.view = view

    def run_(self, edit_token: int, args: dict[str, Any] | None) -> Any:
        """What the editor calls to run it; the edit is valid until `run` returns."""
        given = self.filter_args(args)
        edit = self.view.begin_edit(edit_token, self.name(), given)
        try:
            return self.run(edit, **(given or {}))
        finally:
            self.view.end_edit(edit)

    def run(self, edit: _Edit, **kwargs: Any) -> Any:  # type: ignore[override]
        """What it does: nothing, unless a class derived from this one says otherwise."""


class EventListener:
    """Receives the events of all views; methods as in headless.hooks."""


class ViewEventListener:
    """Receives the events of one view; methods as in headless.hooks."""

    @classmethod
    def is_applicable(cls, settings: _Settings) -> bool:
        """Whether to make one for a view with these settings."""
        return True

    @classmethod
    def applies_to_primary_view_only(cls) -> bool:
        """Whether clones get none."""
        return True

    def __init__(self, view: _view.View) -> None:
        self.view = view


class TextChangeListener:
    """Receives the changes of one buffer; methods as in headless.hooks."""

    @classmethod
    def is_applicable(cls, buffer: _sheet.Buffer) -> bool:
        """Whether to make one for a buffer."""
        return True

    def __init__(self) -> None:
        self.buffer: Any = None
        self._attached = False

    def attach(self, buffer: _sheet.Buffer) -> None:
        """Receive the changes of `buffer`; ValueError if it already receives those of a buffer."""
        if not isinstance(buffer, _sheet.Buffer):
            raise TypeError("not a buffer")
        if self.is_attached():
            raise ValueError("TextChangeListener is already attached")
        self.buffer = buffer
        self._attached = True
        _host.app().listeners.by_buffer.setdefault(buffer.buffer_id, []).append(self)

    def detach(self) -> None:
        """Receive no more changes; `buffer` stays as it was. ValueError if it receives none."""
        if not self.is_attached():
            raise ValueError("TextChangeListener is not attached")
        attached = _host.app().listeners.by_buffer.get(self.buffer.buffer_id, [])
        attached[:] = [each for each in attached if each is not self]
        self._attached = False

    def is_attached(self) -> bool:
        """Whether it receives the changes of a buffer."""
        return self._attached
