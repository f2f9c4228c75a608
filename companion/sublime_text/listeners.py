"""What happens in the editor: Sublime's events, told to the parts on the screen and to the companion."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import sublime
import sublime_plugin

from ..editor import ViewId, WindowId
from . import package
from .chat import vim
from .chat.vim import is_enter
from .keys import KEYS
from .own_views import REVIEWS, SIDES, VIEWS, Kind
from .panels import say
from .terminal import terminals
from .windows import OWN_SAVES, encodings_of, is_chat, is_code, to_serve

if TYPE_CHECKING:
    from .adapter import Adapter

WAITING_CONTEXT = "qwen_companion.diff_waits"
CHANGE_CONTEXT = "qwen_companion.change"
"""The view is one of a proposal, or a caret is in a change that is written already and waits for a review."""
FILE_CONTEXT = "qwen_companion.changed_file"
"""The view is one of a proposal, or of a file with such changes."""
Args = dict[str, Any] | None
_SAVES = {"save", "save_as", "prompt_save_as", "save_all"}
_CLOSES = {"close", "close_file"}
_BRINGS = {
    "focus_group",
    "focus_neighboring_group",
    "next_view",
    "next_view_in_stack",
    "prev_view",
    "prev_view_in_stack",
    "select_by_index",
}
"""The commands of keys that bring another tab to the front."""
_IN_SIDE_BAR = {"delete_file": "files", "delete_folder": "dirs", "rename_path": "paths"}
"""The side bar's commands that delete or rename, and the argument with their paths."""
_NOT_SAVED = "A diff is not saved as a file. Accept it to have the file written."
_SAVED_BY_HAND = {"async": True}
"""The arguments of `save` in the editor's own keys, menu and palette."""
_TERMINUS_BUILD = "output.Terminus Build Results"
"""While this panel exists, the keymap of Terminus, which is loaded after ours, gives Shift+Escape to `show_panel`."""

_ENTERS: dict[Kind, tuple[str, Args]] = {
    "review": ("qwen_companion_review_do", {"what": "open"}),
    "review since": ("qwen_companion_review_do", {"what": "open"}),
    "status": ("qwen_companion_status_remedy", {"at_caret": True}),
}
"""What our keymap has `Enter` do, by the kind of the view."""
_KINDS: dict[str, tuple[Kind, ...]] = {
    "qwen_companion.diff": SIDES,
    "qwen_companion.review_tab": REVIEWS,
    "qwen_companion.status": ("status",),
    "qwen_companion.comment_input": ("comment input",),
    "qwen_companion.question_input": ("question input",),
}
"""The contexts that hold in views of ours, and in which."""


FOCUSED = "focused"
"""Remembered of a window: from the paths of its files to when they last had the focus, in Unix milliseconds."""
FOCUSED_KEPT = 50
"""How many of them."""


class EditorEvents:
    """Hears of views and windows, and tells the parts on the screen and the companion. Lives on the UI thread.

    Does little: the companion thread does the rest. The editor calls the methods that end with `_async` on its worker
    thread.
    """

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._in_side_bar = 0
        """When the last command of the side bar began, in nanoseconds of Unix time."""

    def start(self) -> None:
        """Tell the companion when each file had the focus last, and clear what an earlier session has left."""
        for window in sublime.windows():
            VIEWS.restore(window)
            self.on_load_project(window)
            focused = _focused(window)
            for view in window.views():
                self._adapter.loaded.loaded(view)
                at = focused.get(view.file_name() or "")
                if isinstance(at, int):
                    self._tell_focus(window, view, at, is_active=False)
            if view := window.active_view():
                self._adapter.focus.activated(window, view)
                self._tell_focus(window, view, _now(), is_active=True)

    def on_activated(self, view: sublime.View) -> None:
        """A view got the focus."""
        window = view.window()
        if window is None:
            return
        VIEWS.activated(window, view)
        self._adapter.focus.activated(window, view)
        self._adapter.settings.glance(window, view)
        self.set_keys(view)
        self._adapter.status_bar.activated(window, view)
        self._adapter.chats.activated(window, view)
        self._adapter.diffs.activated(window, view)
        self._adapter.comments.activated(view)
        self._adapter.following.activated(window, view)
        self._adapter.written.activated(window, view)
        self._adapter.review.activated(window, view)
        terminals.activated(view)
        identifier, number, now = WindowId(window.id()), ViewId(view.id()), _now()
        if is_code(view):
            if path := view.file_name():
                others = {name: at for name, at in _focused(window).items() if name != path}
                latest = list(others.items())[1 - FOCUSED_KEPT :]
                VIEWS.remember(window, FOCUSED, {**dict(latest), path: now})
            self._adapter.thread.post(lambda companion: companion.focused(identifier, number, now), ("focused", number))
        else:
            self._adapter.thread.post(lambda companion: companion.window_focused(identifier), "window_focused")

    def on_selection_modified(self, view: sublime.View) -> None:
        """The carets have moved; what waits for a review hears of it at once."""
        self._adapter.diffs.caret_moved(view)
        self._adapter.written.caret_moved(view)

    def on_selection_modified_async(self, view: sublime.View) -> None:
        """The carets have moved."""
        if (window := view.window()) and is_code(view):
            identifier, number = WindowId(window.id()), ViewId(view.id())
            self._adapter.thread.post(lambda companion: companion.touched(identifier, number), ("touched", number))

    def on_modified(self, view: sublime.View) -> None:
        """A view was edited."""
        self._adapter.focus.typed(view)
        self._adapter.written.edited(view)
        self._adapter.unsaved.edited(view)
        self._adapter.diffs.edited(view)
        self._adapter.comments.edited(view)
        self._adapter.following.edited(view)

    def on_modified_async(self, view: sublime.View) -> None:
        """A text has changed: its language server needs a moment."""
        self._adapter.problems.edited(view)

    def on_load(self, view: sublime.View) -> None:
        """A file was loaded."""
        if (window := view.window()) and is_code(view):
            identifier = WindowId(window.id())
            self._adapter.written.loaded(view)
            self._adapter.unsaved.settled(view)
            before = self._adapter.loaded.text(view)
            self._adapter.loaded.loaded(view)
            self._adapter.comments.loaded(view, before)
            if view.file_name():
                self._adapter.thread.post(lambda companion: companion.changes.scan(identifier), ("loaded", identifier))

    on_reload = on_revert = on_load
    """It was loaded again: it has changed on the disk, or the person gave their edits up."""

    def on_load_async(self, view: sublime.View) -> None:
        """A file was loaded."""
        self.on_selection_modified_async(view)
        self._adapter.problems.edited(view, is_new=True)

    def on_reload_async(self, view: sublime.View) -> None:
        """A file has changed on the disk and was loaded again."""
        self.on_selection_modified_async(view)
        self._adapter.problems.reloaded(view)

    def on_pre_save(self, view: sublime.View) -> None:
        """A view is about to be saved."""
        self._adapter.loaded.saving(view)

    def on_post_save(self, view: sublime.View) -> None:
        """A view was saved. What the person has changed in it is not an agent's."""
        if VIEWS.has_become_file(view):
            self._adapter.chats.became_file(view)
            self._adapter.diffs.became_file(view)
            self._adapter.review.became_file(view)
            VIEWS.release(view)
        self._adapter.unsaved.settled(view)
        name, saved = view.file_name(), self._adapter.loaded.saved(view)
        if name and name.endswith(".sublime-keymap"):
            KEYS.forget()
            self._adapter.status_bar.draw()
        if name and is_code(view) and not OWN_SAVES.is_own(name):
            encodings = encodings_of(name)
            self._adapter.thread.post(lambda companion: companion.changes.saved(name, saved, encodings))
            if (window := view.window()) and saved.loaded is not None and saved.text is not None:
                number, before, after = WindowId(window.id()), saved.loaded, saved.text
                self._adapter.thread.post(lambda companion: companion.provenance.saved(number, name, before, after))

    on_post_save_async = on_selection_modified_async
    """It may have a new name."""

    def on_pre_close(self, view: sublime.View) -> None:
        """A view is about to close."""
        self._adapter.diffs.view_closing(view)
        self._adapter.problems.closing(view)
        terminals.closing(view)

    def on_close(self, view: sublime.View) -> None:
        """A view was closed."""
        self._adapter.diffs.view_closed(view)
        self._adapter.written.closed(view)
        self._adapter.unsaved.closed(view)
        self._adapter.loaded.closed(view)
        self._adapter.chats.closed(view)
        self._adapter.comments.views.forget(view)
        self._adapter.review.closed(view)
        VIEWS.closed(view)
        number = view.id()
        self._adapter.thread.post(lambda companion: companion.view_closed(ViewId(number)))

    def on_new_window(self, window: sublime.Window) -> None:
        """A window was opened."""
        VIEWS.opened(window)
        self.on_load_project(window)
        opened = to_serve(window)
        self._adapter.settings.look(window)
        self._adapter.thread.post(lambda companion: companion.window_opened(opened))

    def on_load_project(self, window: sublime.Window) -> None:
        """A window has opened a project, with the views that it had when it was closed, or was restored by the editor.

        Clears the diffs and the baselines among them.
        """
        if not window.is_valid():
            return
        VIEWS.restore(window)
        self._adapter.written.sides.clear_leftovers(window)
        self._adapter.review.restored(window)
        if self._adapter.diffs.are_awaited:  # nobody knows yet which diffs are still waited for
            self._adapter.diffs.later(lambda: self.on_load_project(window))
            return
        for name in self._adapter.diffs.clear_leftovers(window):
            what = f"“{name}” is a diff from before this session started."
            self._adapter.messenger.say(
                f"{what} No CLI waits for it any more. Your edits are kept in its tab.", WindowId(window.id())
            )

    def on_pre_close_project(self, window: sublime.Window) -> None:
        """The project of a window is about to close."""
        identifier = WindowId(window.id())
        VIEWS.closing(window)
        self._adapter.diffs.window_closing(window, elsewhere=False)
        self._adapter.thread.post(lambda companion: companion.reviews.reject_window(identifier))

    def on_pre_close_window(self, window: sublime.Window) -> None:
        """A window is about to close."""
        VIEWS.closing(window)
        self._adapter.diffs.window_closing(window, elsewhere=True)
        self._adapter.written.window_closed(window)
        self._adapter.review.forget(window)
        self._adapter.focus.forget(window)
        self._adapter.following.forget(window)
        self._adapter.settings.forget(window)
        self._adapter.status_bar.forget(window)
        self._adapter.messenger.forget(window)
        self._adapter.chats.window_closed(window)
        identifier = WindowId(window.id())
        self._adapter.thread.post(lambda companion: companion.window_closed(identifier))

    def on_window_command(self, window: sublime.Window, command_name: str, args: Args) -> tuple[str, Args] | None:
        """In a proposal, the person's own save accepts it. A save by a package, such as an autosave, does nothing."""
        if command_name in _IN_SIDE_BAR:
            self._in_side_bar = time.time_ns()
        view = window.active_view()
        if view is None:
            return None
        if command_name == "show_panel" and self._takes_shift_escape(window, view, args):
            if VIEWS.is_ours(view, *REVIEWS):
                return "qwen_companion_review_decide", {"what": "reject"}
            return "qwen_companion_reject_diff", {"by_key": True}
        return _instead(view, command_name, args)

    def _takes_shift_escape(self, window: sublime.Window, view: sublime.View, args: Args) -> bool:
        """Whether Terminus shows a panel for a Shift+Escape that rejects (docs/protocols/sublime.md#keys)."""
        if not VIEWS.is_ours(view, *SIDES, *REVIEWS) or self._adapter.focus.last(window) != view:
            return False
        panel = "output.exec" if window.active_panel() == _TERMINUS_BUILD else _TERMINUS_BUILD
        has_build = window.find_output_panel(_TERMINUS_BUILD.removeprefix("output.")) is not None
        return args == {"panel": panel} and has_build

    def on_text_command(self, view: sublime.View, command_name: str, args: Args) -> tuple[str, Args] | None:
        """The same for a command that arrives as a text command; `Enter` in Vim's normal mode is ours in our pages."""
        if is_enter(command_name, args):
            return _ENTERS.get(own.kind) if (own := VIEWS.of(view)) else None
        return _instead(view, command_name, args)

    def on_post_window_command(self, window: sublime.Window, command_name: str, args: Args) -> None:
        """A key may have brought a diff to the front; the person may have deleted or renamed files in the side bar."""
        if command_name in _BRINGS and (view := window.active_view()):
            self._adapter.diffs.brought(view)
        if (name := _IN_SIDE_BAR.get(command_name)) and args and (paths := args.get(name)):
            is_renamed, since = command_name == "rename_path", self._in_side_bar
            self._adapter.thread.post(
                lambda companion: companion.changes.handled(paths, is_renamed=is_renamed, since=since)
            )
        elif command_name == "hide_panel" and args and args.get("cancel"):  # Escape, perhaps instead of a name
            self._adapter.thread.post(lambda companion: companion.changes.naming_over())

    def on_post_text_command(self, view: sublime.View, command_name: str, args: Args) -> None:
        """A click into a view is the command `drag_select`."""
        if command_name == "drag_select":
            self._adapter.diffs.clicked(view)
        elif command_name == "terminus_keypress":
            self._adapter.focus.typed(view)

    def on_query_context(
        self, view: sublime.View, key: str, operator: sublime.QueryOperator, operand: object, match_all: bool
    ) -> bool | None:
        """The contexts of our key bindings: the focus is in a view of ours; a diff or a change waits."""
        if kinds := _KINDS.get(key):
            holds = VIEWS.is_ours(view, *kinds)
        elif key == WAITING_CONTEXT:
            holds = package.is_waiting(view.window())
        elif key == CHANGE_CONTEXT:
            holds = package.is_in_change(view)
        elif key == FILE_CONTEXT:
            holds = package.is_in_changed_file(view)
        else:
            return None
        return holds == operand if operator == sublime.QueryOperator.EQUAL else holds != operand

    def _tell_focus(self, window: sublime.Window, view: sublime.View, at: int, *, is_active: bool) -> None:
        identifier, number = WindowId(window.id()), ViewId(view.id())
        self._adapter.thread.post(
            lambda companion: (companion.active if is_active else companion.seen)(identifier, number, at)
        )

    def set_keys(self, view: sublime.View) -> None:
        """Give a chat the keys of Vim, or take them, as the settings say."""
        if is_chat(view):
            (vim.leave_on if self._adapter.settings.value("chat_vim_keys") else vim.turn_off)(view)


class QwenCompanionListener(sublime_plugin.EventListener):
    """Has the methods of `EditorEvents` whose names are those of the editor's events, while the package is loaded."""

    def on_exit(self) -> None:
        """The editor quits."""
        package.hand_over()


def _passing(name: str) -> Callable[..., Any]:
    def event(_: QwenCompanionListener, *about: Any) -> Any:
        adapter = package.adapter()
        return getattr(adapter.events, name)(*about) if adapter else None

    return event


for _name in vars(EditorEvents):
    if _name.startswith("on_"):
        setattr(QwenCompanionListener, _name, _passing(_name))


def _instead(view: sublime.View, command_name: str, args: Args) -> tuple[str, Args] | None:
    """The command to run instead in a diff: its views are never written to a file, and are closed one by one.

    The editor's own command may close all selected tabs (sublimehq/sublime_text#4643), and that beside a baseline is
    the person's own.
    """
    if command_name in _CLOSES and VIEWS.is_ours(view, *SIDES, "baseline"):
        return "qwen_companion_close_diff_view", {}
    if command_name not in _SAVES or not VIEWS.is_ours(view, *SIDES):
        return None
    if command_name == "save" and args == _SAVED_BY_HAND:
        return "qwen_companion_accept_diff", {"by_key": True}
    if window := view.window():
        say(window, _NOT_SAVED)
    return None if command_name == "save_all" else ("noop", {})


def _focused(window: sublime.Window) -> dict[str, object]:
    found = VIEWS.remembered(window, FOCUSED)
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def _now() -> int:
    return time.time_ns() // 1_000_000
