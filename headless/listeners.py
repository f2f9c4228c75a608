"""Listeners of all three kinds, and how events reach them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from headless import hooks
from headless.loop import guarded, notify

if TYPE_CHECKING:
    from headless.buffer import TextBuffer
    from headless.editor import Editor
    from headless.window import ViewState, WindowState

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

    def _notify_async(self, listener: Any, name: str, *args: Any) -> None:
        if name in hooks.ASYNCHRONOUS and getattr(listener, name, None) is not None:
            self._app.loop.worker.post(lambda: notify(listener, name, *args))

    def _hearers(self, view: ViewState | None, handle: Any) -> list[tuple[Any, tuple[Any, ...]]]:
        """Who hears of a view, each with what it is told first: the handle, nothing for the view's own listeners."""
        own = self.by_view.get(view.id, ()) if view else ()
        return [*((each, (handle,)) for each in self.global_), *((each, ()) for each in own)]

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
        hearers = self._hearers(view if event in hooks.VIEW_EVENT_LISTENER else None, handle)
        for listener, first in hearers:
            notify(listener, event, *first)
        if event in COALESCED:
            self._emit_coalesced(event, view)
            return
        for listener, first in hearers:
            self._notify_async(listener, event + "_async", *first)

    def _emit_coalesced(self, event: str, view: ViewState) -> None:
        name, key, handle = event + "_async", (event, view.id), self._app.view_handle(view)
        if key in self._pending or not any(hasattr(each, name) for each, _ in self._hearers(view, handle)):
            return
        self._pending.add(key)

        def deliver() -> None:
            self._pending.discard(key)
            for listener, first in self._hearers(view, handle):
                notify(listener, name, *first)

        self._app.loop.worker.post(deliver)

    def emit_window(self, event: str, window: WindowState) -> None:
        """Tell the listeners of an event of a window or its project."""
        self._on_ui(lambda: self._emit_handle(event, self._app.window_handle(window)))

    def emit_buffer(self, event: str, buffer: TextBuffer) -> None:
        """Attach a buffer's text listeners at once, then call on_new_buffer or on_associate_buffer."""

        def tell() -> None:
            self._check_text(buffer)
            self._emit_handle(event, self._app.buffer_handle(buffer))

        self._on_ui(tell)

    def _emit_handle(self, event: str, handle: Any) -> None:
        for listener in list(self.global_):
            notify(listener, event, handle)
            self._notify_async(listener, event + "_async", handle)

    def emit_text(self, event: str, buffer: TextBuffer, *args: Any) -> None:
        """Tell the TextChangeListeners of a buffer."""

        def tell() -> None:
            for listener in list(self.by_buffer.get(buffer.id, ())):
                notify(listener, event, *args)
                self._notify_async(listener, event + "_async", *args)

        self._on_ui(tell)

    def rewrite(self, event: str, view: ViewState | None, handle: Any, name: str, args: Any) -> tuple[str, Any]:
        """Ask on_text_command or on_window_command whether to run another command instead.

        A view's own listeners are asked first. The first answer counts: a name and arguments, or a name alone.
        """
        own = list(self.by_view.get(view.id, ())) if view else []
        for listener in own + self.global_:
            given = (name, args) if listener in own else (handle, name, args)
            answer = notify(listener, event, *given)
            if isinstance(answer, tuple):
                return answer
            if answer:
                return answer, None
        return name, args

    def ran(self, event: str, view: ViewState | None, handle: Any, name: str, args: Any) -> None:
        """Call on_post_text_command or on_post_window_command."""
        for listener, first in self._hearers(view, handle):
            notify(listener, event, *first, name, args)

    def query_context(self, view: ViewState, key: str, operator: int, operand: Any, match_all: bool) -> bool | None:
        """Whether a key binding's context holds: True if any listener says so, None if none has an answer.

        The listeners are asked until one says True.
        """
        known = None
        for listener, first in self._hearers(view, self._app.view_handle(view)):
            answer = notify(listener, "on_query_context", *first, key, operator, operand, match_all)
            if answer:
                return True
            known = False if answer is not None else known
        return known

    def query_completions(self, view: ViewState, prefix: str, locations: list[int]) -> list[Any]:
        """What the listeners complete a prefix with; those that give None have nothing to say."""
        answers = [
            notify(listener, "on_query_completions", *first, prefix, list(locations))
            for listener, first in self._hearers(view, self._app.view_handle(view))
        ]
        return [answer for answer in answers if answer is not None]

    def hover(self, view: ViewState, point: int, zone: int) -> None:
        """Call on_hover."""
        for listener, first in self._hearers(view, self._app.view_handle(view)):
            notify(listener, "on_hover", *first, point, zone)

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
            if guarded(self._applies, cls, view):
                if existing is None:
                    guarded(lambda cls=cls: have.append(cls(self._app.view_handle(view))))
            elif existing is not None:
                have.remove(existing)

    def _applies(self, cls: type[Any], view: ViewState) -> bool:
        if cls.applies_to_primary_view_only() and not self._app.is_primary(view):
            return False
        return bool(cls.is_applicable(self._app.view_handle(view).settings()))

    def _check_text(self, buffer: TextBuffer) -> None:
        """Attach or detach a buffer's text listeners as `is_applicable` says."""
        handle = self._app.buffer_handle(buffer)
        for cls in self.text_classes:
            guarded(self._check_text_class, cls, handle)

    def _check_text_class(self, cls: type[Any], handle: Any) -> None:
        have = self.by_buffer.get(handle.buffer_id, [])
        existing = next((each for each in have if type(each) is cls), None)
        if cls.is_applicable(handle):
            if existing is None:
                cls().attach(handle)
        elif existing is not None:
            existing.detach()

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
            guarded(listener.detach)
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
                guarded(each.detach)
