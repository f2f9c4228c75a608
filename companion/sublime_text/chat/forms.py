"""A form of an agent's as quick panels: one with a row for each field, which can be left and come back to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sublime

from ...chats.transcript.plain import flat
from ...web import browse
from ..panels import PanelItem, choose

if TYPE_CHECKING:
    from ...conversation.forms import Form, FormField, Value, Values

ACCEPT, DECLINE = "accept", "decline"
SEND, NOTHING, EMPTY = "Send", "Decline", "—"
LEAVE_OUT = "Leave it out"
DONE = "Done"

FormAnswered = Callable[[str, "Values"], object]
"""Gets the id of the option, and what was entered."""


class FormPanel:
    """Asks a form. What is entered is kept in `entered`, also if the panel is left.

    Args:
        window: where it is asked.
        message: what it is about.
        form: the form.
        entered: what was entered so far, by the names of the fields; changed in place.
        answered: gets the answer.
        left: called if the form is left with Escape.
    """

    def __init__(
        self,
        window: sublime.Window,
        message: str,
        form: Form,
        entered: dict[str, Value],
        answered: FormAnswered,
        left: Callable[[], object] | None = None,
    ) -> None:
        self._window = window
        self._message = message
        self._form = form
        self._entered = entered
        self._answered = answered
        self._left = left
        self._problems: dict[str, str] = {}
        self._show()

    def _show(self, selected: int | None = None) -> None:
        """Show all fields; `selected` is the row with the caret; else it is on the first field that needs something.

        It is on the first one if none does, and not on Send, so that an Enter that was meant for something else sends
        nothing.
        """
        fields = self._form.fields
        if selected is None:
            selected = next((at for at, field in enumerate(fields) if self._is_wanted(field)), 0)
        choices: list[PanelItem] = [
            (self._caption(field), self._details(field), lambda field=field: self._edit(field)) for field in fields
        ]
        wanted = [field.title for field in fields if field.problem(self._entered.get(field.name))]
        choices.append((SEND, f"Not complete: {', '.join(wanted)}" if wanted else "", self._send))
        choices.append((NOTHING, "Answer nothing", lambda: self._answered(DECLINE, {})))
        choose(self._window, choices, self._message, selected=selected, left=self._left)

    def _is_wanted(self, field: FormField) -> bool:
        value = self._entered.get(field.name)
        return bool(field.problem(value)) or (value is None and not any(self._entered))

    def _caption(self, field: FormField) -> str:
        mark = " *" if field.is_required else ""
        return f"{field.title}{mark}: {field.shown(self._entered.get(field.name)) or EMPTY}"

    def _details(self, field: FormField) -> str:
        about = field.description or ("Required" if field.is_required else "")
        problem = self._problems.get(field.name, "")
        return f"{problem} {about}".strip() if problem else about

    def _send(self) -> None:
        self._problems = self._form.problems(self._entered)
        if self._problems:
            self._show()
        else:
            self._answered(ACCEPT, dict(self._entered))

    def _edit(self, field: FormField) -> None:
        if field.kind == "array":
            value = self._entered.get(field.name, ())
            self._pick_several(field, value if isinstance(value, tuple) else ())
        elif field.kind == "boolean":
            self._pick(field, [("Yes", "", True), ("No", "", False)])
        elif field.choices:
            self._pick(field, [(choice.name, choice.description, choice.id) for choice in field.choices])
        else:
            self._write(field, field.shown(self._entered.get(field.name)))

    def _take(self, field: FormField, value: Value | None) -> None:
        """A field holds a value now: the next that needs one is selected."""
        if value is None or value in ("", ()):
            self._entered.pop(field.name, None)
        else:
            self._entered[field.name] = value
        self._problems.pop(field.name, None)
        fields = self._form.fields
        after = fields.index(field) + 1
        at = next((at for at in range(after, len(fields)) if fields[at].name not in self._entered), None)
        wanted = next((at for at, each in enumerate(fields) if each.problem(self._entered.get(each.name))), None)
        self._show(len(fields) if wanted is None and at is None else wanted if wanted is not None else at)

    def _pick(self, field: FormField, offered: list[tuple[str, str, Value]]) -> None:
        choices: list[PanelItem] = [
            (name, description, lambda value=value: self._take(field, value)) for name, description, value in offered
        ]
        if not field.is_required:
            choices.append((LEAVE_OUT, "", lambda: self._take(field, None)))
        now = self._entered.get(field.name)
        selected = next((at for at, (_, _, value) in enumerate(offered) if value is now or value == now), -1)
        choose(self._window, choices, self._asked(field), selected=selected, left=self._show)

    def _pick_several(self, field: FormField, checked: tuple[str, ...], selected: int = -1) -> None:
        def toggle(at: int) -> None:
            name = field.choices[at].id
            # In the order in which they are offered.
            now = {*checked} ^ {name}
            self._pick_several(field, tuple(each.id for each in field.choices if each.id in now), at)

        choices: list[PanelItem] = [
            (f"{'☑' if each.id in checked else '☐'} {each.name}", each.description, lambda at=at: toggle(at))
            for at, each in enumerate(field.choices)
        ]
        problem = field.problem(checked)
        choices.append((DONE, problem or field.shown(checked), lambda: self._take(field, checked)))
        choose(self._window, choices, self._asked(field), selected=selected, left=self._show)

    def _write(self, field: FormField, text: str, problem: str = "") -> None:
        """Have a text written, and say what is wrong with it."""

        def done(written: str) -> None:
            if not written:
                self._take(field, None)
                return
            try:
                value = field.read(written)
                why = field.problem(value)
            except ValueError as error:
                why = str(error)
            else:
                if not why:
                    self._take(field, value)
                    return
            self._write(field, written, why)

        caption = f"{field.title} ({problem.rstrip('.')}):" if problem else f"{field.title}:"
        calls = [done]

        def over(written: str | None) -> None:
            """Only the first call counts: another panel takes the place of one that has been answered."""
            if calls:
                done = calls.pop()
                # Only after the panel has closed and moved the focus.
                sublime.set_timeout(self._show if written is None else lambda: done(written))

        self._window.show_input_panel(caption, text, over, None, lambda: over(None))

    def _asked(self, field: FormField) -> str:
        return f"{field.title}: {field.description}" if field.description else field.title


def ask_form(
    window: sublime.Window,
    agent: str,
    message: str,
    form: Form,
    entered: dict[str, Value],
    answered: FormAnswered,
    left: Callable[[], object] | None = None,
) -> None:
    """Ask what an agent asks: a form, or whether to open a page. See FormPanel."""
    if not form.page:
        FormPanel(window, message, form, entered, answered, left)
    elif open_page(agent, message, form):
        answered(ACCEPT, {})
    elif left:
        left()


def open_page(agent: str, message: str, form: Form) -> bool:
    """Open an agent's page if the person agrees after they have seen its host."""
    if not form.host:
        return False
    question = (
        f"{flat(agent, 80)} asks you to go to a page of\n\n    {form.host}\n\n{flat(message, 500)}\n\n"
        f"Its address:\n{flat(form.page, 1_000)}"
    )
    # The first button is the one that Enter presses.
    answer = sublime.yes_no_cancel_dialog(question, "Not Now", "Open the Page", "Qwen Companion")
    if answer != sublime.DialogResult.NO:
        return False
    browse(form.page)
    return True
