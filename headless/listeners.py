"""Listeners of all three kinds, and how events reach them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from headless import hooks
from headless.loop import report_exception

if TYPE_CHECKING:
    from headless.buffer import TextBuffer
    from headless.editor import Editor
    from headless.window import ViewState, WindowState

VIEW_EVENTS = (
    "on_new", "on_clone", "on_load", "on_reload", "on_revert", "on_pre_move", "on_post_move",
    "on_pre_close", "on_close", "on_pre_save", "on_post_save", "on_modified",
    "on_selection_modified", "on_activated", "on_deactivated",
)  # fmt: skip
# A burst of one of these makes a single asynchronous call, after the last.
COALESCED = ("on_modified", "on_selection_modified")


class Listeners:
    """The registered listeners of all packages; every call goes to the UI thread first."""

    def __init__(self, app: Editor) -> None:
        self._app = app
        self.global_: list[Any] = []
        self.view_classes: list[type[Any]] = []
        self.text_classes: list[type[Any]] = []
        self.by_view: dict[int, list[Any]] = {}
        self.by_buffer: dict[int, list[Any]] = {}
        self._pending: set[tuple[str, int]] = set()
        # The views whose own listeners are being made.
        self._attaching: set[int] = set()

    # -- calling ------------------------------------------------------------------------------

    def _call(self, listener: Any, name: str, *args: Any) -> Any:
        method = getattr(listener, name, None)
        if method is None:
            return None
        try:
            return method(*args)
        except Exception:
            report_exception()
            return None

    def _call_async(self, listener: Any, name: str, *args: Any) -> None:
        if name in hooks.ASYNCHRONOUS and getattr(listener, name, None) is not None:
            self._app.loop.worker.post(lambda: self._call(listener, name, *args))

    def _on_ui(self, function: Callable[[], None]) -> None:
        if self._app.loop.on_ui_thread():
            function()
        else:
            self._app.loop.post(function)

    def emit(self, event: str, view: ViewState) -> None:
        """Tell the listeners of a view's event, then the asynchronous ones."""
        self._on_ui(lambda: self._emit_view(event, view))

    def _emit_view(self, event: str, view: ViewState) -> None:
        handle = self._app.view_handle(view)
        if event not in ("on_pre_close", "on_close"):
            self.attach(view)
        own = list(self.by_view.get(view.id, ())) if event in hooks.VIEW_EVENT_LISTENER else []
        for listener in list(self.global_):
            self._call(listener, event, handle)
        for listener in own:
            self._call(listener, event)
        if event in COALESCED:
            self._emit_coalesced(event, view)
            return
        for listener in list(self.global_):
            self._call_async(listener, event + "_async", handle)
        for listener in own:
            self._call_async(listener, event + "_async")

    def _emit_coalesced(self, event: str, view: ViewState) -> None:
        name, key, handle = event + "_async", (event, view.id), self._app.view_handle(view)
        everyone = self.global_ + self.by_view.get(view.id, [])
        if key in self._pending or not any(hasattr(each, name) for each in everyone):
            return
        self._pending.add(key)

        def deliver() -> None:
            self._pending.discard(key)
            for listener in list(self.global_):
                self._call(listener, name, handle)
            for listener in list(self.by_view.get(view.id, ())):
                self._call(listener, name)

        self._app.loop.worker.post(deliver)

    def emit_window(self, event: str, window: WindowState) -> None:
        """Tell the listeners of an event of a window or its project."""
        self._on_ui(lambda: self._emit_handle(event, self._app.window_handle(window)))

    def new_buffer(self, buffer: TextBuffer) -> None:
        """Attach a new buffer's text listeners at once, then call on_new_buffer."""

        def tell() -> None:
            self._check_text(buffer)
            self._emit_handle("on_new_buffer", self._app.buffer_handle(buffer))

        self._on_ui(tell)

    def associate_buffer(self, buffer: TextBuffer) -> None:
        """Call on_associate_buffer: a buffer now belongs to a file, perhaps to another one than before."""

        def tell() -> None:
            self._check_text(buffer)
            self._emit_handle("on_associate_buffer", self._app.buffer_handle(buffer))

        self._on_ui(tell)

    def _emit_handle(self, event: str, handle: Any) -> None:
        for listener in list(self.global_):
            self._call(listener, event, handle)
            self._call_async(listener, event + "_async", handle)

    def emit_text(self, event: str, buffer: TextBuffer, *args: Any) -> None:
        """Tell the TextChangeListeners of a buffer."""

        def tell() -> None:
            for listener in list(self.by_buffer.get(buffer.id, ())):
                self._call(listener, event, *args)
                self._call_async(listener, event + "_async", *args)

        self._on_ui(tell)

    def rewrite(self, event: str, view: ViewState | None, handle: Any, name: str, args: Any) -> tuple[str, Any]:
        """Ask on_text_command or on_window_command whether to run another command instead.

        A view's own listeners are asked first. The first answer counts: a name and arguments, or a name alone.
        """
        own = list(self.by_view.get(view.id, ())) if view else []
        for listener in own + self.global_:
            given = (name, args) if listener in own else (handle, name, args)
            answer = self._call(listener, event, *given)
            if isinstance(answer, tuple):
                return answer
            if answer:
                return answer, None
        return name, args

    def ran(self, event: str, view: ViewState | None, handle: Any, name: str, args: Any) -> None:
        """Call on_post_text_command or on_post_window_command."""
        for listener in list(self.global_):
            self._call(listener, event, handle, name, args)
        for listener in list(self.by_view.get(view.id, ())) if view else ():
            self._call(listener, event, name, args)

    def query_context(self, view: ViewState, key: str, operator: int, operand: Any, match_all: bool) -> bool | None:
        """Whether a key binding's context holds: True if any listener says so, None if none has an answer.

        The listeners are asked until one says True.
        """
        question = key, operator, operand, match_all
        handle, known = self._app.view_handle(view), None
        own = list(self.by_view.get(view.id, ()))
        for listener in self.global_ + own:
            given = question if listener in own else (handle, *question)
            answer = self._call(listener, "on_query_context", *given)
            if answer:
                return True
            known = False if answer is not None else known
        return known

    def query_completions(self, view: ViewState, prefix: str, locations: list[int]) -> list[Any]:
        """What the listeners complete a prefix with; those that give None have nothing to say."""
        handle = self._app.view_handle(view)
        answers = [
            self._call(listener, "on_query_completions", handle, prefix, list(locations))
            for listener in list(self.global_)
        ]
        answers += [
            self._call(listener, "on_query_completions", prefix, list(locations))
            for listener in list(self.by_view.get(view.id, ()))
        ]
        return [answer for answer in answers if answer is not None]

    def hover(self, view: ViewState, point: int, zone: int) -> None:
        """Call on_hover."""
        handle = self._app.view_handle(view)
        for listener in list(self.global_):
            self._call(listener, "on_hover", handle, point, zone)
        for listener in list(self.by_view.get(view.id, ())):
            self._call(listener, "on_hover", point, zone)

    # -- registering --------------------------------------------------------------------------

    def attach(self, view: ViewState) -> None:
        """Make or remove the view's own listeners as `is_applicable` says, now and whenever a setting changes.

        A change of a setting that a listener makes while it is created does not count.
        """
        if not view.valid or view.id in self._attaching:
            return
        if view.id not in self.by_view:
            self.by_view[view.id] = []
            view.settings.listeners.append(("check_view_event_listeners", lambda: self.attach(view)))
        self._attaching.add(view.id)
        try:
            self._attach(view, self.by_view[view.id])
        finally:
            self._attaching.discard(view.id)

    def _attach(self, view: ViewState, have: list[Any]) -> None:
        for cls in self.view_classes:
            existing = next((each for each in have if type(each) is cls), None)
            if self._applies(cls, view):
                if existing is None:
                    self._make(lambda cls=cls: have.append(cls(self._app.view_handle(view))))
            elif existing is not None:
                have.remove(existing)

    def _applies(self, cls: type[Any], view: ViewState) -> bool:
        try:
            if cls.applies_to_primary_view_only() and not self._app.is_primary(view):
                return False
            return bool(cls.is_applicable(self._app.view_handle(view).settings()))
        except Exception:
            report_exception()
            return False

    def _check_text(self, buffer: TextBuffer) -> None:
        """Attach or detach a buffer's text listeners as `is_applicable` says."""
        handle = self._app.buffer_handle(buffer)
        for cls in self.text_classes:
            self._make(lambda cls=cls: self._check_text_class(cls, handle))

    def _check_text_class(self, cls: type[Any], handle: Any) -> None:
        have = self.by_buffer.get(handle.buffer_id, [])
        existing = next((each for each in have if type(each) is cls), None)
        if cls.is_applicable(handle):
            if existing is None:
                cls().attach(handle)
        elif existing is not None:
            existing.detach()

    def _make(self, function: Callable[[], None]) -> None:
        try:
            function()
        except Exception:
            report_exception()

    def attach_all(self) -> None:
        """Make the own listeners of all views and buffers there are."""
        for view in list(self._app.views.values()):
            self.attach(view)
        for buffer in self.buffers():
            self._check_text(buffer)

    def buffers(self) -> list[TextBuffer]:
        """All buffers, each once."""
        return list({view.buffer.id: view.buffer for view in self._app.views.values()}.values())

    def forget_view(self, view: ViewState) -> None:
        """Forget a closed view; if it was the last one of its buffer, call on_close_buffer."""
        self.by_view.pop(view.id, None)
        if any(other.buffer is view.buffer for other in self._app.views.values()):
            return
        for listener in list(self.by_buffer.get(view.buffer.id, ())):
            self._make(listener.detach)
        self.by_buffer.pop(view.buffer.id, None)
        self._on_ui(lambda: self._emit_handle("on_close_buffer", self._app.buffer_handle(view.buffer)))

    def remove(self, global_: Iterable[Any], classes: Iterable[type[Any]]) -> None:
        """Unregister a package's listeners."""
        gone, kinds = list(global_), set(classes)
        self.global_ = [each for each in self.global_ if each not in gone]
        self.view_classes = [cls for cls in self.view_classes if cls not in kinds]
        self.text_classes = [cls for cls in self.text_classes if cls not in kinds]
        for owned in self.by_view.values():
            owned[:] = [each for each in owned if type(each) not in kinds]
        for attached in list(self.by_buffer.values()):
            for each in [each for each in attached if type(each) in kinds]:
                self._make(each.detach)
