"""The panels of a chat: options of a permission, a form of questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sublime

from ..panels import PanelItem, choose, say

if TYPE_CHECKING:
    from ...conversation.snapshot import Permission, Question

OTHER = "Other …"
DONE = "Done"


def pick_option(
    window: sublime.Window, permission: Permission, kind: str, picked: Callable[[str | None], object]
) -> None:
    """Pick the option of a kind, never one of an expected id; ask which if there are several, or if it allows always.

    To reject where no such option is offered is to cancel: None.
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

    A panel that is escaped from leaves the permission open.
    """

    def __init__(
        self,
        window: sublime.Window,
        permission: Permission,
        answered: Callable[[str | None, dict[str, str]], object],
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
        return [*choices, (OTHER, "Write an answer", lambda: self._write(question, lambda text: self._take(at, text)))]

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
        choices.append((OTHER, "Write an answer", write))
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
