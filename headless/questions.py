"""Quick panels, input panels and the palette's inputs: asked, kept, and answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headless.api.flags import QuickPanelFlags
from headless.api.items import QuickPanelItem
from headless.loop import guarded
from headless.window import Question

if TYPE_CHECKING:
    from headless.editor import Editor
    from headless.window import ViewState, WindowState

BACK = "_Back"
"""The name of the handler that removes the one before it instead of asking for something."""


def _row(item: Any) -> dict[str, Any]:
    """What a quick panel's item shows."""
    if isinstance(item, QuickPanelItem):
        details = item.details if isinstance(item.details, str) else list(item.details)
        letter = {"letter": item.kind[1]} if len(item.kind) > 1 and item.kind[1] else {}
        return {"trigger": item.trigger, "details": details, "annotation": item.annotation, **letter}
    if isinstance(item, str):
        return {"trigger": item, "details": "", "annotation": ""}
    if not isinstance(item, (list, tuple)):
        raise TypeError("items must contain only str, list, tuple or QuickPanelItem objects")
    return {"trigger": item[0], "details": list(item[1:]), "annotation": ""}


class Questions:
    """At most one question is open in a window; a new one cancels the one before."""

    def __init__(self, app: Editor) -> None:
        self._app = app

    def _open(self, window: WindowState, question: Question) -> None:
        self.cancel(window)
        window.question = question
        self._app.focus_changed()

    def cancel(self, window: WindowState) -> None:
        """Close the window's question without an answer."""
        question = self._close(window)
        if question is not None:
            guarded(question.cancel)

    def _close(self, window: WindowState) -> Question | None:
        question, window.question = window.question, None
        if question is not None:
            if question.view is not None:
                self._app.forget_view(question.view)
            self._app.focus_changed()
        return question

    def answer(self, window: WindowState, value: Any) -> None:
        """Answer the window's question: an index or a text; None cancels.

        Raises ValueError if there is none, or none with such an item.
        """
        question = window.question
        if question is None:
            raise ValueError(f"window {window.id} has no open panel")
        if value is None:
            self.cancel(window)
            return
        if question.items and isinstance(value, int) and value >= len(question.items):
            raise ValueError(f"the panel has only {len(question.items)} items")
        self._close(window)
        guarded(question.answer, value)

    def quick_panel(
        self,
        window: WindowState,
        items: list[Any],
        on_select: Callable[..., None] | None,
        flags: int,
        selected_index: int,
        on_highlight: Callable[[int], None] | None,
        placeholder: str | None,
    ) -> None:
        """Show a list to choose from."""
        extra = ({},) if flags & QuickPanelFlags.WANT_EVENT else ()

        def done(index: int) -> None:
            if on_select is not None:
                on_select(index, *extra)

        rows = [_row(item) for item in items]
        self._open(window, Question("quick_panel", rows, "", done, lambda: done(-1), placeholder or "", selected_index))
        if on_highlight is not None and selected_index >= 0:
            guarded(on_highlight, selected_index)

    def input_panel(
        self,
        window: WindowState,
        caption: str,
        text: str,
        on_done: Callable[[str], None] | None,
        on_change: Callable[[str], None] | None,
        on_cancel: Callable[[], None] | None,
    ) -> ViewState:
        """Ask for a line of text; returns the view of the input."""
        view = self._app.new_view(window)
        view.element = "input:input"
        view.settings.own["is_widget"] = True
        self._app.replace_text(view, text)

        def done(value: str) -> None:
            if on_change is not None and value != text:
                on_change(value)
            if on_done is not None:
                on_done(value)

        cancel = on_cancel or (lambda: None)
        self._open(window, Question("input_panel", [], text, done, cancel, caption, view=view))
        return view

    def ask_input(
        self,
        command: Any,
        args: dict[str, Any],
        view: ViewState | None,
        window: WindowState | None,
    ) -> None:
        """Ask for what a command's input handlers want, one after the other; then run it."""
        handler = command.create_input_handler_(args)
        if window is not None and handler is not None:
            self._ask_handler([(handler, args)], command, view, window)

    def _ask_handler(
        self,
        stack: list[tuple[Any, dict[str, Any]]],
        command: Any,
        view: ViewState | None,
        window: WindowState,
    ) -> None:
        """Ask the last handler of the stack, which has each handler with the arguments that were known before it."""
        handler, args = stack[-1]
        entries, properties = handler.setup_(args)
        is_list = properties["type"] == "list"

        def answer(given: Any) -> None:
            value = entries[given][1] if is_list and isinstance(given, int) else given
            if not handler.validate_(value, {}):
                self._ask_handler(stack, command, view, window)
                return
            handler.confirm_(value, {})
            complete = {**args, handler.name(): value}
            following = handler.create_input_handler_(complete)
            if following is None:
                self._app.commands.run(command.name(), complete, view, window)
            elif following.name() != BACK:
                self._ask_handler([*stack, (following, complete)], command, view, window)
            elif len(stack) > 1:
                self._ask_handler(stack[:-1], command, view, window)

        question = Question(
            f"{properties['type']}_input",
            [_input_row(shown) for shown, _ in entries],
            properties["initial_text"] or "",
            answer,
            handler.cancel_,
            command.input_description() or properties["placeholder_text"] or "",
            properties.get("selected", -1),
        )
        self._open(window, question)


def _input_row(shown: Any) -> dict[str, Any]:
    """What a list input handler's item shows: a text, or that with details and perhaps an annotation."""
    if isinstance(shown, str):
        return {"trigger": shown, "details": "", "annotation": ""}
    text, details, *more = shown
    annotation = more[0] if more and isinstance(more[0], str) else ""
    lines = details.split("\x1f")
    return {"trigger": text, "details": lines if len(lines) > 1 else details, "annotation": annotation}
