"""What an agent asks in a chat: forms in panels that can be left, pages by their host, answers by their numbers."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import AnswersCase, Steps, loaded
from .companion_case import at_once

ASKS = "qwen_companion.chat_asks"


class TestForms(AnswersCase):
    def field(self, name: str, kind: str, **more: Any) -> Any:
        """A field whose title is its name."""
        return loaded("conversation.forms").FormField(name, kind, name.title(), **more)

    def ask_form(self, *fields: Any, page: str = "") -> None:
        """Show a form that waits."""
        self.ask("allow_once", "reject_once", form=loaded("conversation.forms").Form(fields, page))

    def test_a_form_is_one_panel_with_a_row_for_each_field(self) -> Steps:
        choice = loaded("conversation.forms").FormChoice
        self.ask_form(
            self.field(
                "colour", "string", is_required=True, choices=(choice("r", "Red", "a rose"), choice("b", "Blue"))
            ),
            self.field("count", "integer", least=1, default=2),
        )
        self.assertEqual(self.screen.phantoms(self.view, ASKS), ["Answer… (y) Option 1 (n)"])
        self.wait(1.1)
        self.assertEqual(self.press("y"), "qwen_companion_chat_answer")
        yield from self.panel(1)
        self.assertEqual(
            self.items,
            [
                ("Colour *: —", "Required"),
                ("Count: 2", ""),
                ("Send", "Not complete: Colour"),
                ("Decline", "Answer nothing"),
            ],
        )
        self.screen.pick("Colour *: —")
        yield from self.panel(2)
        self.assertEqual(self.items, [("Red", "a rose"), ("Blue", "")])
        self.screen.pick("Blue")
        yield from self.panel(3)
        self.assertEqual((self.items[0][0], self.screen.selected[-1]), ("Colour *: Blue", 2))
        self.screen.pick("Send")
        yield from self.voted("accept", {"colour": "b", "count": 2})

    def test_a_wrong_value_is_said_where_it_is_written_and_a_form_that_was_left_goes_on(self) -> Steps:
        self.ask_form(self.field("count", "integer", most=3, is_required=True))
        self.screen.click(self.view, "answer:p1")
        yield from self.choose("Count *: —")
        yield lambda: self.screen.inputs
        for wrong, caption in (("many", "Count (Enter a whole number):"), ("4", "Count (It must be at most 3):")):
            self.screen.inputs[-1][2](wrong)
            yield lambda wrong=wrong: self.screen.inputs[-1][1] == wrong
            self.assertEqual(self.screen.inputs[-1][0], caption)
        self.screen.inputs[-1][2]("3")
        yield from self.panel(2)
        self.screen.panels[-1][1](-1)  # left with Escape
        yield 5
        self.assertEqual(self.chats.of("approvals.give"), [])
        self.screen.click(self.view, "answer:p1")
        yield from self.panel(3)
        self.assertEqual(self.items[0], ("Count *: 3", "Required"))
        self.screen.pick("Decline")
        yield from self.voted("decline", {})

    def test_what_is_missing_is_said_when_it_is_sent(self) -> Steps:
        self.ask_form(self.field("name", "string", is_required=True, description="Yours"))
        self.screen.click(self.view, "answer:p1")
        yield from self.choose("Send")
        yield from self.panel(2)
        self.assertEqual(self.items[0], ("Name *: —", "It is required. Yours"))
        self.assertEqual(self.chats.of("approvals.give"), [])

    def test_several_answers_and_a_switch(self) -> Steps:
        choices = tuple(loaded("conversation.forms").FormChoice(each, each.upper()) for each in "xyz")
        self.ask_form(self.field("many", "array", choices=choices, most=2), self.field("sure", "boolean"))
        self.screen.click(self.view, "answer:p1")
        yield from self.choose("Many: —", "☐ Z", "☐ X")
        yield from self.panel(4)
        self.assertEqual([trigger for trigger, _ in self.items], ["☑ X", "☐ Y", "☑ Z", "Done"])
        self.screen.pick("Done")
        yield from self.panel(5)
        self.assertEqual(self.items[0][0], "Many: X, Z")
        yield from self.choose("Sure: —", "No", "Send")
        yield from self.voted("accept", {"many": ("x", "z"), "sure": False})

    def test_a_page_is_opened_only_after_its_host_was_seen(self) -> Steps:
        self.ask_form(page="https://evil.example/bank.example")
        self.assertEqual(self.screen.phantoms(self.view, ASKS), ["Open evil.example in Browser… (y) Option 1 (n)"])
        opened: list[str] = []
        asked: list[str] = []
        with patch.object(loaded("sublime_text.chat.permissions"), "browse", opened.append):
            # The first answer is the one that Enter gives.
            for answer in (sublime.DialogResult.CANCEL, sublime.DialogResult.YES, sublime.DialogResult.NO):
                with patch.object(
                    sublime,
                    "yes_no_cancel_dialog",
                    lambda text, yes, no, *_, answer=answer: asked.extend([text, yes, no]) or answer,
                ):
                    self.screen.click(self.view, "answer:p1")
                self.assertEqual(len(opened), answer == sublime.DialogResult.NO)
        self.assertIn("a page of\n\n    evil.example\n", asked[0])
        self.assertEqual(asked[1:3], ["Not Now", "Open the Page"])
        yield from self.voted("accept", {})

    def test_an_agents_words_can_not_take_over_the_dialog_of_a_page(self) -> None:
        form = loaded("conversation.forms").Form((), "https://evil.example/")
        asked: list[str] = []
        with patch.object(
            sublime, "yes_no_cancel_dialog", lambda text, *_: asked.append(text) or sublime.DialogResult.CANCEL
        ):
            opens = loaded("sublime_text.chat.permissions").open_page(
                "A\n\u202eB" * 99, "Fine.\n\n\u202e" + "x" * 9999, form
            )
        self.assertFalse(opens)
        self.assertNotIn("\u202e", asked[0])
        self.assertEqual(asked[0].count("\n"), 7)
        self.assertLess(len(asked[0]), 1000)

    def test_an_agents_words_can_not_take_over_the_dialog_of_a_file(self) -> None:
        asked: list[str] = []
        with patch.object(sublime, "ok_cancel_dialog", lambda text, *_: asked.append(text) or False):
            may_touch = loaded("sublime_text.package").adapter().questions.may_touch
            at_once(may_touch, "A\n\u202eB" * 99, "/etc/\u202epasswd\n\nFine", writes=True)
        self.assertIn("\n\n    /etc/\\u202epasswd ↵ Fine\n\n", asked[0])
        self.assertEqual(asked[0].count("\n"), 4)

    def test_a_form_that_is_complete_is_not_sent_by_a_stray_enter(self) -> Steps:
        self.ask_form(self.field("sure", "boolean", default=True), self.field("name", "string", default="Ada"))
        self.screen.click(self.view, "answer:p1")
        yield from self.panel(1)
        self.assertEqual(self.screen.selected[-1], 0)

    def test_answers_that_are_offered_have_their_numbers_as_keys(self) -> Steps:
        self.ask("allow_once", "allow_once", "reject_once")
        self.assertEqual(self.screen.phantoms(self.view, ASKS), ["Option 0 (1) Option 1 (2) Option 2 (3)"])
        self.assertFalse(self.applies("qwen_companion.chat_choice"))
        self.wait(1.1)
        self.assertEqual(self.press("2"), "qwen_companion_chat_answer")
        yield from self.voted("id1", None)

    def test_a_number_is_a_letter_like_others_where_something_is_only_allowed(self) -> None:
        self.ask("allow_once", "reject_once")
        self.wait(1.1)
        self.assertEqual(self.press("1"), "")
