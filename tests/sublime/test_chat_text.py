"""The text of a chat: the transcript is nobody's to edit, the prompt is the person's (Issue 5, "The view")."""

from __future__ import annotations

import sublime

from .chat_case import MARK, ChatCase, Steps, loaded
from .companion_case import text_of


class TestTranscript(ChatCase):
    def test_a_frame_is_shown_and_the_caret_is_in_the_prompt(self) -> Steps:
        self.show(self.message("hi", "user"), self.message("Hello"))
        self.assertEqual(self.shown, self.transcript.text)
        self.assertTrue(self.shown.endswith(MARK))
        self.assertEqual([(r.a, r.b) for r in self.view.sel()], [(self.view.size(), self.view.size())])
        self.type("x")
        self.assertEqual(self.prompt, "x")
        yield 1

    def test_what_the_companion_shows_comes_to_the_screen(self) -> Steps:
        frame = self.transcript.update(
            self.view_values.View(1, (), (), self.view_values.Status(title="About cats")), self.locality()
        )
        shown: list[bool] = []

        def show(companion: object) -> None:
            async def run() -> None:
                shown.append(await self.adapter.show_chat(self.window.id(), frame))
                shown.append(await self.adapter.show_chat(0, frame))

            companion._background(run())

        yield from self.on_companion(show)
        yield lambda: len(shown) == 2
        self.assertEqual(shown, [True, False])
        self.assertEqual(self.view.name(), "About cats")

    def test_nothing_edits_the_transcript(self) -> Steps:
        self.show(self.message("Hello"))
        self.type("mine")
        before = text_of(self.view)
        start = self.chat.text.length
        for carets in ((5,), (start - 1,), (3, start + 2)):
            self.put_caret(*carets)
            yield from self.settled()
            for command in ("left_delete", "right_delete", "cut", "undo", "redo"):
                self.view.run_command(command)
                self.assertEqual(text_of(self.view), before, command)
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(2, self.view.size()))
        yield from self.settled()
        for command in ("left_delete", "right_delete", "cut"):
            self.view.run_command(command)
            self.assertEqual(text_of(self.view), before, command)


class TestMore(ChatCase):
    def test_deleting_stops_at_the_beginning_of_the_prompt(self) -> Steps:
        self.show(self.message("Hello"))
        before = self.shown
        self.type("  ")
        self.view.run_command("delete_word", {"forward": False})
        self.assertEqual((self.shown, self.prompt), (before, ""))
        self.view.run_command("delete_word", {"forward": False})
        self.view.run_command("left_delete")
        self.assertEqual((self.shown, self.prompt), (before, ""))
        self.type("one two")
        self.view.run_command("run_macro_file", {"file": "res://Packages/Default/Delete to Hard BOL.sublime-macro"})
        self.assertEqual((self.shown, self.prompt), (before, ""))
        yield 1
