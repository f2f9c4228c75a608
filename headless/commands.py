"""Commands: their names, and how they are found, asked and run."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

# The last four register the built-in commands.
from headless import builtin, jsonc, variations
from headless import builtin_lines as builtin_lines
from headless import builtin_moves as builtin_moves
from headless import builtin_text as builtin_text
from headless import builtin_window as builtin_window
from headless.loop import guarded, report_exception

if TYPE_CHECKING:
    from headless.editor import Editor
    from headless.window import ViewState, WindowState

_ACRONYM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
MOST_REWRITES = 10


def snake_name(class_name: str, suffix: str) -> str:
    """`FooBarCommand` → `foo_bar`, as the editor names commands and input handlers."""
    return _words(class_name).removesuffix(f"_{_words(suffix)}")


def _words(name: str) -> str:
    return _ACRONYM.sub("_", name).lower()


class Commands:
    """The registered command classes of all packages."""

    def __init__(self, app: Editor) -> None:
        self._app = app
        self.application: dict[str, Any] = {}
        self.window: dict[str, type[Any]] = {}
        self.text: dict[str, type[Any]] = {}
        self._instances: dict[tuple[str, int], Any] = {}

    def forget(self, classes: Collection[type[Any]]) -> None:
        """Unregister a package's commands."""
        self.application = {name: each for name, each in self.application.items() if type(each) not in classes}
        self.window = {name: cls for name, cls in self.window.items() if cls not in classes}
        self.text = {name: cls for name, cls in self.text.items() if cls not in classes}
        self._instances = {key: each for key, each in self._instances.items() if type(each) not in classes}

    def forget_owner(self, kind: str, owner_id: int) -> None:
        """Forget the commands of a view or a window that is gone."""
        for key in [key for key in self._instances if key[1] == owner_id and key[0].startswith(f"{kind}:")]:
            del self._instances[key]

    def _instance(self, kind: str, name: str, owner_id: int, cls: type[Any], handle: Any) -> Any:
        key = (f"{kind}:{name}", owner_id)
        if type(self._instances.get(key)) is not cls:
            self._instances[key] = cls(handle)
        return self._instances[key]

    def find(self, name: str, view: ViewState | None, window: WindowState | None) -> Any:
        """The instance of a package's command; None if there is none, or none can be made."""
        return guarded(self._find, name, view, window)

    def _find(self, name: str, view: ViewState | None, window: WindowState | None) -> Any:
        if name in self.text and view is not None:
            handle = self._app.view_handle(view)
            return self._instance("text", name, view.id, self.text[name], handle)
        if name in self.window and window is not None:
            handle = self._app.window_handle(window)
            return self._instance("window", name, window.id, self.window[name], handle)
        return self.application.get(name)

    def run(
        self,
        name: str,
        args: dict[str, Any] | None,
        view: ViewState | None,
        window: WindowState | None,
    ) -> None:
        """Run a command for a view and window, on the UI thread; wait for it on any other."""
        args = dict(args) if args else None
        self._app.loop.call(lambda: self._run(name, args, view, window))

    def run_text(self, name: str, args: dict[str, Any] | None, view: ViewState) -> None:
        """Run a text command, as View.run_command does; other commands are ignored."""
        if self._kind(name) == "text":
            self.run(name, args, view, view.window)

    def _run(self, name: str, args: Any, view: ViewState | None, window: WindowState | None) -> None:
        kind, handle, name, args = self._resolve(name, args, view, window)
        if self._app.log_flags.get("commands"):
            print(f"command: {name} {args or ''}".rstrip())
        if self._execute(kind, name, args, view, window) and handle is not None:
            event = f"on_post_{kind}_command"
            self._app.listeners.ran(event, view if kind == "text" else None, handle, name, args)

    def _resolve(
        self, name: str, args: Any, view: ViewState | None, window: WindowState | None
    ) -> tuple[str, Any, str, Any]:
        """The kind, the handle, the name and the arguments after listeners have rewritten them.

        A rewritten command may be of another kind, whose listeners are asked next; the number of rounds is limited.
        """
        kind, handle = self._kind(name), None
        for _ in range(MOST_REWRITES):
            kind = self._kind(name)
            handle = self._handle(kind, view, window)
            if handle is None:
                break
            event, own = f"on_{kind}_command", view if kind == "text" else None
            before = name, args
            name, args = self._app.listeners.rewrite(event, own, handle, name, args)
            if (name, args) == before:
                break
            if variations.chosen("rewritten-commands") == "run-at-once":
                kind = self._kind(name)
                handle = self._handle(kind, view, window)
                break
        return kind, handle, name, args

    def _kind(self, name: str) -> str:
        if name in self.text or name in builtin.TEXT:
            return "text"
        if name in self.window or name in builtin.WINDOW:
            return "window"
        return "application"

    def _handle(self, kind: str, view: ViewState | None, window: WindowState | None) -> Any:
        if kind == "text" and view is not None:
            return self._app.view_handle(view)
        if kind == "window" and window is not None:
            return self._app.window_handle(window)
        return None

    def _execute(
        self,
        kind: str,
        name: str,
        args: Any,
        view: ViewState | None,
        window: WindowState | None,
    ) -> bool:
        command = self.find(name, view, window)
        if command is not None:
            return bool(guarded(self._run_package_command, kind, command, args, view, window))
        return bool(guarded(builtin.run, self._app, name, args or {}, view, window))

    def _run_package_command(
        self,
        kind: str,
        command: Any,
        args: Any,
        view: ViewState | None,
        window: WindowState | None,
    ) -> bool:
        if not command.is_enabled_(args):
            return False
        try:
            if kind == "text":
                assert view is not None
                self._app.edits.run_text_command(command, args)
            else:
                command.run_(0, args)
        except TypeError as error:
            # The editor's host looks for the same words; the error for a keyword-only argument has others.
            if "required positional argument" not in str(error) or not self._accepts_input(command, args or {}):
                raise
            self._app.questions.ask_input(command, dict(args or {}), view, window)
        return True

    def _accepts_input(self, command: Any, args: dict[str, Any]) -> bool:
        """Whether a command is in the palette and has something to ask."""
        return command.name() in self._in_palette() and command.input(args) is not None

    def _in_palette(self) -> set[str]:
        names: set[str] = set()
        for resource in self._app.packages.find("*.sublime-commands"):
            try:
                entries = jsonc.loads(self._app.packages.read(resource).decode("utf-8"))
            except ValueError:
                report_exception()
                continue
            names.update(str(entry.get("command")) for entry in entries)
        return names

    def exists(self, name: str) -> bool:
        """Whether any package or the editor itself has a command of this name."""
        own = (self.text, self.window, self.application)
        return any(name in commands for commands in (*own, builtin.TEXT, builtin.WINDOW, builtin.APPLICATION))

    def is_enabled(self, name: str, args: Any, view: ViewState | None, window: Any) -> bool:
        """What the command's `is_enabled` says; True for a built-in command."""
        command = self.find(name, view, window)
        return command is None or bool(command.is_enabled_(args))
