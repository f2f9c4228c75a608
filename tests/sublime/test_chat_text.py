"""The text of a chat: the transcript is nobody's to edit, the prompt is the person's."""

from __future__ import annotations

from typing import Any

import sublime

from .chat_case import MARK, ChatCase, Steps
from .companion_case import loaded, text_of


class TestTranscript(ChatCase):
    """A chat with an answer in it."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.show(self.message("Hello"))
        self.before = self.shown

    def test_a_frame_is_shown_and_the_caret_is_in_the_prompt(self) -> None:
        self.show(self.message("hi", "user"), self.message("Hello"))
        self.assertEqual(self.shown, self.transcript.text)
        self.assertTrue(self.shown.endswith(MARK))
        self.assertEqual([(r.a, r.b) for r in self.view.sel()], [(self.view.size(), self.view.size())])
        self.type("x")
        self.assertEqual(self.prompt, "x")

    def test_what_the_companion_shows_comes_to_the_screen(self) -> Steps:
        render = self.transcript.update(
            self.view_values.Snapshot((), (), self.view_values.Status(title="About cats")), self.locality()
        )
        shown: list[bool] = []

        def show(companion: Any) -> None:
            async def run() -> None:
                shown.append(await self.adapter.chats.show_chat(self.chat.id, render))
                shown.append(await self.adapter.chats.show_chat(0, render))

            companion._background(run())

        yield from self.on_companion(show)
        yield lambda: len(shown) == 2
        self.assertEqual(shown, [True, False])
        self.assertEqual(self.view.name(), "[Q] Qwen Code · About cats")

    def test_nothing_edits_the_transcript(self) -> Steps:
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

    def test_deleting_stops_at_the_beginning_of_the_prompt(self) -> None:
        self.type("  ")
        self.view.run_command("delete_word", {"forward": False})
        self.assertEqual((self.shown, self.prompt), (self.before, ""))
        self.view.run_command("delete_word", {"forward": False})
        self.view.run_command("left_delete")
        self.assertEqual((self.shown, self.prompt), (self.before, ""))
        self.type("one two")
        self.view.run_command("run_macro_file", {"file": "res://Packages/Default/Delete to Hard BOL.sublime-macro"})
        self.assertEqual((self.shown, self.prompt), (self.before, ""))

    def test_cutting_and_copying_a_line_of_the_prompt_takes_nothing_of_the_transcript(self) -> None:
        """Without a selection the editor copies whole lines, and the first one begins with the transcript's end."""
        self.type("first\nsecond")
        self.put_caret(self.chat.text.length + 2)
        self.view.run_command("copy")
        self.assertEqual(sublime.get_clipboard(), "first\n")
        self.view.run_command("cut")
        self.assertEqual((self.shown, self.prompt, sublime.get_clipboard()), (self.before, "second", "first\n"))
        self.view.run_command("cut")
        self.assertEqual((self.shown, self.prompt, sublime.get_clipboard()), (self.before, "", "second"))

    def test_a_line_of_the_prompt_is_not_duplicated_with_the_end_of_the_transcript(self) -> None:
        self.type("first\nsecond")
        self.view.run_command("duplicate_line")
        self.assertEqual((self.shown, self.prompt), (self.before, "first\nsecond\nsecond"))
        self.put_caret(self.chat.text.length + 2)
        self.view.run_command("duplicate_line")
        self.assertEqual((self.shown, self.prompt), (self.before, "first\nfirst\nsecond\nsecond"))

    def test_a_command_on_the_whole_text_changes_neither_the_transcript_nor_the_prompt(self) -> None:
        """Where nothing is selected, the editor sorts all lines of a text, not only those of the prompt."""
        self.type("b\na\n")
        self.view.run_command("sort_lines", {"case_sensitive": False})
        self.assertEqual((self.shown, self.prompt), (self.before, "b\na\n"))
        start = self.chat.text.length
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(start + 2, start + 4))
        self.view.run_command("sort_lines", {"case_sensitive": False})
        self.assertEqual((self.shown, self.prompt), (self.before, "b\na\n"))

    def test_the_home_key_stops_there_too(self) -> None:
        self.type("one")
        self.view.run_command("move_to", {"to": "bol", "extend": False})
        self.assertEqual([r.to_tuple() for r in self.view.sel()], [(self.chat.text.length,) * 2])
        self.put_caret(-1)
        self.view.run_command("move_to", {"to": "hardbol", "extend": True})
        self.assertEqual([r.to_tuple() for r in self.view.sel()], [(self.view.size(), self.chat.text.length)])

    def test_commands_of_whole_lines_leave_the_first_line_alone(self) -> None:
        self.type("one")
        before = text_of(self.view)
        for command in ("indent", "swap_line_up", "toggle_comment", "join_lines"):
            self.view.run_command(command)
            self.assertEqual(text_of(self.view), before, command)

    def test_what_is_typed_in_the_transcript_goes_to_the_prompt(self) -> Steps:
        self.type("a")
        self.put_caret(3)
        yield from self.settled()
        self.assertTrue(self.view.is_read_only())
        self.assertTrue(self.applies("qwen_companion.chat_transcript"))
        self.view.run_command("qwen_companion_chat_type", {"character": "b"})
        self.put_caret(3)
        yield from self.settled()
        sublime.set_clipboard("c")
        self.view.run_command("paste")
        self.assertEqual((self.shown, self.prompt), (self.before, "abc"))

    def test_undo_never_undoes_a_frame(self) -> None:
        self.type("one")
        self.show(self.message("Hello, world"))
        for _ in range(3):
            self.view.run_command("undo")
        self.assertEqual((self.shown, self.prompt), (self.transcript.text, ""))
        self.view.run_command("redo")
        self.assertEqual((self.shown, self.prompt), (self.transcript.text, "one"))

    def test_a_transcript_that_a_command_has_damaged_is_made_anew(self) -> Steps:
        self.type("mine")
        opened = len(self.chats.of("open"))
        # As a package may do: by an edit of its own, wherever the carets are.
        loaded("sublime_text.buffers").edit(self.view, [(0, 4, "Quark")])
        yield lambda: len(self.chats.of("open")) > opened
        self.assertEqual(self.chats.of("open")[-1], (self.chat.id, self.window.id(), str(self.folder), "session-1", ""))
        self.assertEqual(self.prompt, "mine")
        self.show(self.message("Hello, world"))  # made for the text that was there before
        self.assertEqual(self.prompt, "mine")
        self.show(self.message("Hello, world"), replaces_all=True)
        self.assertEqual((self.shown, self.prompt), (self.transcript.text, "mine"))
        self.show(self.message("Hello, world!"))
        self.assertEqual((self.shown, self.prompt), (self.transcript.text, "mine"))


class TestPrompt(ChatCase):
    def test_what_the_person_writes_survives_every_frame(self) -> None:
        self.type("first\nsecond")
        for text in ("Hel", "Hello", "Hello, world"):
            self.show(self.message(text))
            self.assertEqual((self.shown, self.prompt), (self.transcript.text, "first\nsecond"))
        self.show(self.message("All is different"), replaces_all=True)
        self.assertEqual((self.shown, self.prompt), (self.transcript.text, "first\nsecond"))
        self.show()
        self.assertEqual((self.shown, self.prompt), (self.transcript.text, "first\nsecond"))

    def test_the_carets_and_what_is_selected_stay(self) -> None:
        self.type("first second")
        for show in (
            lambda: self.show(self.message("More")),
            lambda: self.show(self.message("Anew"), replaces_all=True),
        ):
            start = self.chat.text.length
            self.view.sel().clear()
            self.view.sel().add_all([sublime.Region(start), sublime.Region(start + 12, start + 6)])
            show()
            start = self.chat.text.length
            self.assertEqual([r.to_tuple() for r in self.view.sel()], [(start, start), (start + 12, start + 6)])

    def test_what_is_selected_in_the_transcript_stays_while_more_comes(self) -> Steps:
        self.show(self.message("Hello"))
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(2, 9))
        self.show(self.message("Hello, world"))
        self.assertEqual([r.to_tuple() for r in self.view.sel()], [(2, 9)])
        yield from self.settled()
        self.assertTrue(self.view.is_read_only())

    def test_a_pasted_sign_of_a_prompt_is_text_like_any_other(self) -> None:
        self.type(f"one{MARK}two")
        self.show(self.message("Hello"))
        self.show(self.message("Hello"), replaces_all=True)
        self.assertEqual((self.shown, self.prompt), (self.transcript.text, f"one{MARK}two"))


class TestLongChat(ChatCase):
    def test_many_frames_leave_the_text_whole_and_what_is_above_folded(self) -> None:
        """Three hundred tool calls with details, links and code blocks above what streams."""
        tools = tuple(self.tool(id=str(at), text="out\n" * 5) for at in range(300))
        said = tuple(self.message(f"See `app.py:{at}`\n```\nx\n```\n") for at in range(300))
        above = tuple(item for pair in zip(tools, said, strict=True) for item in pair)
        for at in range(100):
            text = "".join(f"chunk {number} " + ("\n" if number % 12 == 0 else "") for number in range(at))
            self.show(*above, self.message(text), running="turn")
        self.assertEqual(self.shown, self.transcript.text)
        self.assertIn("chunk 98", self.shown)
        self.assertEqual(len(self.view.folded_regions()), 300)
