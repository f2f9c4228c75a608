"""How a person answers what a chat asks: when a key or a click counts as an answer, options to pick, a form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING

import sublime

from ...chats.transcript.plain import flat
from ...platforms.programs import browse
from ..panels import PanelItem, choose, say
from ..windows import is_visible

if TYPE_CHECKING:
    from ...chats.transcript.render import Ask
    from ...conversation.forms import Form, FormField, Value, Values
    from ...conversation.snapshot import Permission, Question
    from .text import ChatText


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
    answer = sublime.yes_no_cancel_dialog(question, "Not Now", "Open the Page", "QwenCompanion")
    if answer != sublime.DialogResult.NO:
        return False
    browse(form.page)
    return True


CALM = 1.0
"""Seconds that a question must be on the screen, with an empty prompt, before a key answers it.

They begin again with each part of it that comes on the screen for the first time.

A click answers it if its buttons have been at their place for as long.
"""
LOOKS = 200
"""Milliseconds between checks while a question waits: scrolling and hiding a tab cause no event."""
STALL = 0.6
"""Seconds without a check after which the editor must have hung: keys typed meanwhile were typed blindly."""
OTHER = "Other…"


class _Reading:
    """Which parts of a question have been on the screen. Points count from its beginning: text above may move it."""

    def __init__(self, ask: Ask) -> None:
        self.of = ask.permission, ask.end - ask.start
        self._unseen = [(0, ask.end - ask.start)]
        self.since = 0.0
        """When something of it came on the screen for the first time."""

    def see(self, start: int, end: int) -> None:
        """A range is on the screen."""
        parts = [part for a, b in self._unseen for part in ((a, min(b, start)), (max(a, end), b))]
        unseen = [(a, b) for a, b in parts if a < b]
        if unseen != self._unseen:
            self._unseen, self.since = unseen, monotonic()

    @property
    def unseen(self) -> int | None:
        """Where the first part begins that has not been on the screen; None if all has."""
        return self._unseen[0][0] if self._unseen else None


class AskAttention:
    """Watches over the questions of a chat, from when they are asked until they are answered."""

    def __init__(self, text: ChatText) -> None:
        self._text = text
        self._asks: tuple[Ask, ...] = ()
        self._since: float | None = None
        """When the first question came on the screen with an empty prompt."""
        self._places: dict[str, tuple[object, float]] = {}
        """Where the buttons of each question are, and since when."""
        self._read: dict[str, _Reading] = {}
        self._looked = 0.0
        self._is_ticking = False

    def asked(self, asks: Sequence[Ask]) -> None:
        """The questions have changed or moved. There are none when the chat closes."""
        if not asks or not self._asks or asks[0].permission.id != self._asks[0].permission.id:
            self._since = None
        self._asks = tuple(asks)
        self.look()
        if asks and not self._is_ticking:
            self._is_ticking = True
            sublime.set_timeout(self._tick, LOOKS)

    def look(self) -> None:
        """Check whether the first question is on the screen with an empty prompt, and where the buttons are."""
        now = monotonic()
        has_hung = now - self._looked > STALL
        self._see()
        if not self._asks or not self._is_calm(self._asks[0]):
            self._since = None
        elif self._since is None or has_hung:
            self._since = now
        before = {} if has_hung or not is_visible(self._text.view) else self._places
        self._places = {}
        for at, ask in enumerate(self._asks):
            # The keys are named on the first question's buttons alone, which makes them wider.
            place = (ask.permission, at == 0, self._text.view.text_to_window(ask.end))
            known = before.get(ask.permission.id)
            self._places[ask.permission.id] = known if known and known[0] == place else (place, now)
        self._looked = now

    @property
    def is_due(self) -> bool:
        """Whether a key counts as an answer now."""
        self.look()
        if self._since is None:
            return False
        return monotonic() - max(self._since, self._read[self._asks[0].permission.id].since) >= CALM

    def is_steady(self, permission: str) -> bool:
        """Whether a click on a question's button counts: the button has not moved under the mouse."""
        self.look()
        return permission in self._places and monotonic() - self._places[permission][1] >= CALM

    def unseen(self, permission: str) -> int | None:
        """The point where the first part of a question begins that has not been on the screen; None if all has.

        Nobody allows a command whose beginning they can't have read.
        """
        self.look()
        for ask in self._asks:
            if ask.permission.id == permission and (begin := self._read[permission].unseen) is not None:
                return ask.start + begin
        return None

    def _see(self) -> None:
        """Note which parts of the questions are on the screen."""
        before, self._read = self._read, {}
        seen = self._text.view.visible_region() if self._is_in_front() else None
        for ask in self._asks:
            known = before.get(ask.permission.id)
            reading = known if known and known.of == (ask.permission, ask.end - ask.start) else _Reading(ask)
            self._read[ask.permission.id] = reading
            if seen is not None:
                reading.see(seen.begin() - ask.start, seen.end() - ask.start)

    def _is_in_front(self) -> bool:
        view = self._text.view
        return is_visible(view) and view.window() == sublime.active_window()

    def _is_calm(self, ask: Ask) -> bool:
        view = self._text.view
        is_written = view.size() > self._text.length
        return self._is_in_front() and not is_written and view.visible_region().contains(ask.end)

    def _tick(self) -> None:
        self._is_ticking = bool(self._asks) and self._text.view.is_valid()
        if self._is_ticking:
            self.look()
            sublime.set_timeout(self._tick, LOOKS)


def pick_option(
    window: sublime.Window, permission: Permission, kind: str, picked: Callable[[str | None], object]
) -> None:
    """Pick the option of a kind; ask which if there are several, or if it allows more than once.

    Rejecting where no such option is offered cancels: None.
    """
    options = [option for option in permission.options if option.kind == kind]
    if len(options) > 1 or (options and kind == "allow_always"):
        choices: list[PanelItem] = [(one.name, "", lambda one=one: picked(one.id)) for one in options]
        choose(window, choices, permission.title)
    elif options:
        picked(options[0].id)
    elif kind.startswith("reject"):
        picked(None)
    else:
        say(window, "That is not among the answers that are offered.")


class QuestionForm:
    """Asks the questions of a permission, one after another. `answered` gets the option's id and the answers.

    Closing a panel with Escape leaves the permission open.
    """

    def __init__(
        self,
        window: sublime.Window,
        permission: Permission,
        answered: Callable[[str | None, Mapping[str, str]], object],
    ) -> None:
        self._window = window
        self._permission = permission
        self._answered = answered
        self._answers: dict[str, str] = {}
        self._ask(0, ())

    def _ask(self, at: int, checked: tuple[str, ...], selected: int = -1) -> None:
        """Ask a question; `checked` are those of its answers that have been chosen so far."""
        if at == len(self._permission.questions):
            option = next((one for one in self._permission.options if one.kind == "allow_once"), None)
            if option:
                self._answered(option.id, self._answers)
            else:
                say(self._window, "That is not among the answers that are offered.")
            return
        question = self._permission.questions[at]
        choices = self._several(question, at, checked) if question.several else self._one(question, at)
        header = f"{question.header}: " if question.header else ""
        choose(self._window, choices, f"{header}{question.text}", selected=selected)

    def _one(self, question: Question, at: int) -> list[PanelItem]:
        choices: list[PanelItem] = [
            (text, description, lambda text=text: self._take(at, text)) for text, description in question.answers
        ]
        return [*choices, (OTHER, "Type an answer", lambda: self._write(question, lambda text: self._take(at, text)))]

    def _several(self, question: Question, at: int, checked: tuple[str, ...]) -> list[PanelItem]:
        proposed = [text for text, _ in question.answers]
        rows = [*question.answers, *((text, "") for text in checked if text not in proposed)]

        def toggle(row: int) -> None:
            text = rows[row][0]
            now = tuple(one for one in checked if one != text) if text in checked else (*checked, text)
            self._ask(at, now, row)

        choices: list[PanelItem] = [
            (f"{'☑' if text in checked else '☐'} {text}", description, lambda row=row: toggle(row))
            for row, (text, description) in enumerate(rows)
        ]
        write = lambda: self._write(question, lambda text: self._ask(at, (*checked, text), len(rows)))  # noqa: E731
        choices.append((OTHER, "Type an answer", write))
        if checked:
            choices.append((DONE, ", ".join(checked), lambda: self._take(at, ", ".join(checked))))
        return choices

    def _write(self, question: Question, written: Callable[[str], object]) -> None:
        def done(text: str) -> None:
            # An empty answer is none: ask again.
            sublime.set_timeout(lambda: written(text.strip()) if text.strip() else self._write(question, written))

        self._window.show_input_panel(f"{question.header or 'Answer'}:", "", done, None, None)

    def _take(self, at: int, answer: str) -> None:
        self._answers[str(at)] = answer
        self._ask(at + 1, ())
