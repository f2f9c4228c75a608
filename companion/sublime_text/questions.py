"""Questions that the companion asks the person by itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import sublime

from ..chats.transcript.plain import flat, spelled
from ..ids import WindowId
from ..review.review_screen import QuestionClosedError
from .bridge import UiBridge, asked
from .chat.permissions import ask_form
from .windows import Focus

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..conversation.forms import Form, Values

QUIET = 2.0
"""Seconds without a key after which a question may come."""


class EditorQuestions:
    """Dialogs and panels: `QuestionDialogs`. Their answers are waited for as long as it takes."""

    def __init__(self, bridge: UiBridge, focus: Focus) -> None:
        self.bridge = bridge
        self._focus = focus

    async def confirm(self, window: WindowId, question: str, yes: str, no: str = "") -> bool:
        """As `QuestionDialogs` has it."""
        import asyncio  # noqa: PLC0415 - it would stall the UI thread

        while True:
            if (left := self._focus.typed_at + QUIET - time.monotonic()) <= 0:
                break
            await asyncio.sleep(left)
        if (answer := await self._confirm(question, yes, no)) is None:
            raise QuestionClosedError
        return answer

    @asked(waits=True)
    def _confirm(self, question: str, yes: str, no: str) -> bool | None:
        question = flat(question, 1_000)  # it may name a folder
        if not no:
            return sublime.ok_cancel_dialog(question, yes)
        answer = sublime.yes_no_cancel_dialog(question, yes, no)
        return None if answer == sublime.DialogResult.CANCEL else answer == sublime.DialogResult.YES

    @asked(waits=True)
    def may_touch(self, agent: str, path: str, *, writes: bool) -> bool:
        verb = "write to" if writes else "read"
        question = (
            f"{flat(agent, 80)} wants to {verb} a file outside the folder of the chat:\n\n    {spelled(path)}\n\n"
            "Your answer counts for the folder of that file, until the chat ends."
        )
        return sublime.ok_cancel_dialog(question, "Allow", "QwenCompanion")

    async def elicit(self, window: WindowId, agent: str, message: str, form: Form) -> tuple[str | None, Values]:
        """As `QuestionDialogs` has it."""

        def begin(done: Callable[[tuple[str | None, Values]], None]) -> None:
            ask_form(
                sublime.Window(window),
                agent,
                message,
                form,
                form.defaults,
                lambda option, values: done((option, values)),
                lambda: done((None, {})),
            )

        return await self.bridge.ask(begin, waits=True)
