"""The editor: it owns the windows, views and buffers, and everything that works on them."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from headless import console, host, syntaxes, variations
from headless.api.flags import PopupFlags
from headless.buffer import TextBuffer
from headless.changes import Span
from headless.commands import Commands
from headless.documents import Documents
from headless.edits import Edits
from headless.listeners import Listeners
from headless.loader import PackageLoader
from headless.loop import Callback, Loop, guarded, notify
from headless.metrics import Metrics
from headless.packages import Packages
from headless.paths import Paths
from headless.questions import Questions
from headless.settings import SettingsState, SettingsStore
from headless.tabs import Tabs
from headless.window import SheetState, ViewState, WindowState

POLL_INTERVAL = 0.15
MESSAGES_KEPT = 1000


class Application:
    """One editor. The thread that makes it is the UI thread."""

    def __init__(self, paths: Paths | None = None) -> None:
        self.paths = paths or Paths.default()
        self.paths.create()
        self.lock = threading.RLock()
        self.loop = Loop()
        self.loop.after_turn = self._after_turn
        self._ids = itertools.count(1)
        self.windows: list[WindowState] = []
        self.views: dict[int, ViewState] = {}
        self.sheets: dict[int, SheetState] = {}
        self.window_order: list[WindowState] = []
        self.focused: ViewState | None = None
        # Packages that are added before this is true are loaded while the editor starts.
        self.started = False
        self.clipboard = ""
        self.log_flags: dict[str, bool] = {}
        self.messages: deque[dict[str, Any]] = deque(maxlen=MESSAGES_KEPT)
        self.dialog_answers: deque[Any] = deque()
        self.scheme = "dark"
        self.packages = Packages(self.paths)
        self.settings = SettingsStore(self.paths.user, self.packages.settings_texts)
        self.settings.deliver = self._deliver
        self.listeners = Listeners(self)
        self.commands = Commands(self)
        self.edits = Edits(self)
        self.documents = Documents(self)
        self.tabs = Tabs(self)
        self.metrics = Metrics()
        self.questions = Questions(self)
        self.loader = PackageLoader(self)
        self._unsettled: set[int] = set()
        self._consoles = console.install()
        host.install(self)

    # -- handles -------------------------------------------------------------------------------

    def view_handle(self, view: ViewState) -> Any:
        """The `sublime.View` of a view."""
        from headless.api.view import View

        return View(view.id)

    def window_handle(self, window: WindowState) -> Any:
        """The `sublime.Window` of a window."""
        from headless.api.window import Window

        return Window(window.id)

    def buffer_handle(self, buffer: TextBuffer) -> Any:
        """The `sublime.Buffer` of a buffer."""
        from headless.api.sheet import Buffer

        return Buffer(buffer.id)

    def take_id(self) -> int:
        """A new id, unique in this editor."""
        return next(self._ids)

    # -- the loop ------------------------------------------------------------------------------

    def start(self) -> None:
        """Start looking for changed files at intervals."""
        self.started = True
        self._poll()

    def _poll(self) -> None:
        try:
            self.documents.poll()
            self.settings.poll()
        finally:
            self.loop.post(self._poll, POLL_INTERVAL)

    def _after_turn(self) -> None:
        for view in self.views.values():
            view.drawn_scroll = view.scroll
        for id in list(self._unsettled):
            if id in self.views:
                self.tell_selection(self.views[id])
        self._unsettled.clear()

    def on_ui(self, function: Callback) -> Any:
        """Run `function` on the UI thread and return its result, from any thread."""
        return self.loop.call(function)

    def _deliver(self, callbacks: list[Callable[[], None]]) -> None:
        def run() -> None:
            for callback in callbacks:
                guarded(callback)

        if self.loop.on_ui_thread():
            run()
        else:
            self.loop.post(run)

    def shut_down(self, worker_timeout: float = 2.0) -> None:
        """Quit as the editor does: the API shuts down first, then EventListener.on_exit is called.

        No plugin_unloaded, no on_close: the real editor does not call them either.
        """
        listeners = list(self.listeners.global_)
        self.loop.stop()
        self.loop.worker.stop(worker_timeout)
        host.install(None)
        for listener in listeners:
            notify(listener, "on_exit")
        for each in self._consoles:
            each.restore()

    def dispose(self) -> None:
        """For tests: shut down, and forget the packages' modules."""
        self.shut_down()
        self.loader.forget_modules()

    # -- windows -------------------------------------------------------------------------------

    def new_window(self, folders: Iterable[str] = ()) -> WindowState:
        """Open a window in front of the others."""
        window = WindowState(
            self.take_id(),
            self.settings.new(lambda: [self.settings.preferences]),
            self.settings.new(),
        )
        folders = [os.path.abspath(folder) for folder in folders]
        if folders:
            window.project = {"folders": [{"path": folder} for folder in folders]}
        self.windows.append(window)
        self.window_order.append(window)
        self.listeners.emit_window("on_new_window", window)
        # As in the editor, there is an untitled tab to begin with.
        if variations.chosen("first-tab") == "yes":
            self.tabs.add(window, self.new_view(window))
        self.focus_changed()
        return window

    def window(self, id: int) -> WindowState | None:
        """The open window with this id."""
        return next((window for window in self.windows if window.id == id), None)

    def active_window(self) -> WindowState | None:
        """The window used last."""
        return self.window_order[-1] if self.window_order else None

    def bring_to_front(self, window: WindowState) -> None:
        """Make `window` the active one."""
        if window in self.window_order:
            self.window_order.remove(window)
            self.window_order.append(window)
            self.documents.poll()
            self.focus_changed()

    def close_window(self, window: WindowState) -> bool:
        """Close a window and its tabs; False if the person cancelled."""
        if window not in self.windows:
            return False
        self.listeners.emit_window("on_pre_close_window", window)
        if window.project_file or window.project:
            self.listeners.emit_window("on_pre_close_project", window)
        for sheet in list(window.sheets()):
            if sheet.id in self.sheets and not self.tabs.close_sheet(sheet):
                return False
        self.questions.cancel(window)
        for view in window.all_views():
            self.forget_view(view)
        self.windows.remove(window)
        self.window_order.remove(window)
        window.valid = False
        self.commands.forget_owner("window", window.id)
        self.focus_changed()
        return True

    # -- views ---------------------------------------------------------------------------------

    def new_view(self, window: WindowState | None, buffer: TextBuffer | None = None) -> ViewState:
        """A view that is not in a tab or panel yet; `buffer` is another view's, or a new one."""
        if buffer is None:
            buffer = TextBuffer(self.take_id())
        is_new = not self.views_of(buffer)
        view = ViewState(self.take_id(), buffer, self.settings.new())
        view.settings.is_inherited = False
        view.settings.own["syntax"] = syntaxes.PLAIN_TEXT
        view.settings.parents = lambda: self._parents_of(view)
        view.window = window
        self.views[view.id] = view
        if is_new:
            self.listeners.emit_buffer("on_new_buffer", buffer)
        return view

    def _parents_of(self, view: ViewState) -> list[SettingsState]:
        window = view.window
        if window is None:
            return [self.settings.preferences]
        project = SettingsState(0)
        project.own = dict((window.project or {}).get("settings") or {})
        parents = [project, window.settings] if project.own else [window.settings]
        return self._syntax_settings(view, parents)

    def _syntax_settings(self, view: ViewState, parents: list[SettingsState]) -> list[SettingsState]:
        syntax = view.syntax
        if syntax is None or syntax.scope == "text.plain":
            return parents
        return [*parents[:-1], self.settings.named(f"{syntax.name}.sublime-settings"), parents[-1]]

    def view(self, id: int) -> ViewState:
        """The view with this id; an empty, invalid one if it has been closed.

        The editor's API also answers for a closed view, with nothing.
        """
        view = self.views.get(id)
        if view is None:
            view = ViewState(id, TextBuffer(0), SettingsState(0))
            view.selection = []
            view.valid = False
        return view

    def views_of(self, buffer: TextBuffer) -> list[ViewState]:
        """All views into a buffer, the primary one first."""
        return [view for view in list(self.views.values()) if view.buffer is buffer]

    def primary_view(self, buffer: TextBuffer) -> ViewState:
        """The first of a buffer's views."""
        return self.views_of(buffer)[0]

    def is_primary(self, view: ViewState) -> bool:
        """Whether `view` is the first into its buffer."""
        views = self.views_of(view.buffer)
        return not views or views[0] is view

    def forget_view(self, view: ViewState) -> None:
        """Forget a view whose tab, panel or window has closed."""
        if self.views.pop(view.id, None) is not None:
            view.detach()
            view.window = None
            self.commands.forget_owner("text", view.id)

    def selection_changed(self, view: ViewState) -> None:
        """Have on_selection_modified called, at the latest when the current callback has returned."""
        if view.selection != view.told_selection:
            self._unsettled.add(view.id)
            if not self.loop.on_ui_thread():
                self.loop.post(lambda: None)

    def tell_selection(self, view: ViewState) -> None:
        """Call on_selection_modified if the selection has changed since the last call."""
        if view.valid and view.selection != view.told_selection:
            view.told_selection = view.selection
            popup = view.popup
            keeps = PopupFlags.KEEP_ON_SELECTION_MODIFIED
            if popup is not None and not popup.flags & keeps and view.selection != popup.selection:
                view.hide_popup()
            self.listeners.emit("on_selection_modified", view)

    def change_text(self, view: ViewState, command: str, changes: list[tuple[Span, str]], args: Any = None) -> None:
        """Make a built-in command's changes to a text, as one step of the undo history."""
        with self.editing(view, command, args) as edit:
            for (a, b), text in sorted(changes, reverse=True):
                self.edits.change(view, edit, a, b, text)

    @contextlib.contextmanager
    def editing(self, view: ViewState, command: str, args: Any = None) -> Any:
        """An edit for a built-in command."""
        edit = self.edits.begin(view, -1, command, args)
        try:
            yield edit
        finally:
            self.edits.end(view, edit)

    def replace_text(self, view: ViewState, text: str) -> None:
        """Replace all of a view's text."""
        self.change_text(view, "replace", [((0, len(view.buffer)), text)])

    # -- focus ---------------------------------------------------------------------------------

    def focus_changed(self) -> None:
        """Call on_deactivated and on_activated if another view has the focus now."""
        window = self.active_window()
        new = None
        if window is not None:
            question = window.question
            new = question.view if question and question.view else None
            new = new or window.panel_view or window.active_view
        old = self.focused
        if new is old:
            return
        if new is not None and new.buffer.loading and variations.chosen("activated-before-load") == "no":
            return  # told when it has been loaded
        self.focused = new
        if old is not None and old.valid:
            self.listeners.emit("on_deactivated", old)
            may_save = old.buffer.dirty and old.buffer.file_name is not None
            if may_save and old.settings.get("save_on_focus_lost"):
                self.documents.save(old)
        if new is not None and self.focused is new:
            self.listeners.emit("on_activated", new)

    # -- messages ------------------------------------------------------------------------------

    def message(self, kind: str, text: str, **more: Any) -> None:
        """Remember a status message or a dialog."""
        self.messages.append({"kind": kind, "text": text, **more})

    def ask(self, kind: str, text: str, default: Any, **more: Any) -> Any:
        """Show a dialog that wants an answer; a prepared one or `default` is given."""
        answer = self.dialog_answers.popleft() if self.dialog_answers else default
        self.message(kind, text, answer=answer, **more)
        return answer

    def packages_saved(self, path: str) -> None:
        """A file has been saved; a root module of a package is then reloaded."""
        self.settings.poll()
        self.loader.file_saved(path)
