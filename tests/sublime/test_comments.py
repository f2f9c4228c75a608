"""Comments at lines: written, drawn, kept, and sent to an agent."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, loaded, text_of
from .terminal_case import Terminus

WORDS = "use the helper in money.py"


class TestComments(CompanionCase):
    """One window with a file, a diff and a terminal."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.panel = loaded("sublime_text.package").adapter().comments
        self.addCleanup(lambda: self.panel.delete(list(self.panel.comments)))
        self.view.sel().clear()
        self.view.sel().add(0)

    def comment(self, words: str = WORDS, view: sublime.View | None = None) -> None:
        (view or self.view).run_command("qwen_companion_comment", {"text": words})

    def drawn(self, view: sublime.View) -> str:
        phantoms = self.panel.views._phantoms.get(view.id())
        return "".join(phantom.content for phantom in phantoms.phantoms) if phantoms else ""

    def terminal(self, prompt: str) -> Terminus:
        terminus = Terminus(self)
        self.window.run_command("qwen_companion_run", {"cli": "qwen", "folder": str(self.folder)})
        return terminus

    def test_a_comment_is_drawn_under_its_lines_and_counted(self) -> Steps:
        self.comment()
        self.assertIn(WORDS, self.drawn(self.view))
        yield lambda: "1 comment to send" in self.view.get_status("zz_qwen_companion")
        [comment] = self.panel.unsent(self.window)
        self.assertEqual((comment.first, comment.lines, comment.side), (1, ("def greet(name):",), "file"))

    def test_the_input_panel_keeps_what_is_written_and_a_draft_when_it_is_left(self) -> Steps:
        asked = []

        def show(_: sublime.Window, caption: str, before: str, done: object, changed: object, left: object):
            asked.append((caption, before, done, changed, left))
            return self.view

        with patch.object(sublime.Window, "show_input_panel", show):
            self.view.run_command("qwen_companion_comment")
            caption, before, _, changed, left = asked.pop()
            self.assertEqual((caption, before), ("Comment on line 1", ""))
            changed("half a th")
            left()
            self.view.run_command("qwen_companion_comment")
            _, before, done, _, _ = asked.pop()
            self.assertEqual(before, "half a th")
            done("half a thought\nof two lines")
        self.assertIn("half a thought<br>of two lines", self.drawn(self.view))
        self.assertEqual(self.panel.comments.draft((str(self.file), "file", 1)), "")
        yield 0

    def test_an_edited_comment_has_other_words_and_an_empty_text_deletes_it(self) -> Steps:
        self.comment()
        [comment] = self.panel.unsent(self.window)
        for words, left in (("other", 1), ("  ", 0)):
            with patch.object(
                sublime.Window, "show_input_panel", lambda *args, words=words: args[3](words) or self.view
            ):
                self.panel._clicked(self.view, f"edit:{comment.id}")
            self.assertEqual(len(self.panel.unsent(self.window)), left)
        self.assertEqual(self.drawn(self.view), "")
        yield 0

    def test_a_comment_moves_with_its_lines_and_says_if_they_have_changed(self) -> Steps:
        self.comment()
        self.view.run_command("insert", {"characters": "import os\n\n"})
        [comment] = self.panel.settled(self.window)
        self.assertEqual((comment.first, comment.lines), (3, ("def greet(name):",)))
        self.view.run_command("revert")
        self.file.write_text("nothing of it\n")
        self.view.run_command("revert")
        yield lambda: text_of(self.view) == "nothing of it\n"
        self.view.erase_regions(f"qwen_companion.comment.{comment.id}")
        self.panel.views.draw(self.view)
        self.assertIn("the lines have changed", self.drawn(self.view))

    def test_the_text_of_a_comment_is_no_markup(self) -> Steps:
        self.comment('<a href="delete:x">&amp;</a>\x07')
        self.assertIn("&lt;a href=&quot;delete:x&quot;&gt;&amp;amp;&lt;/a&gt;\ufffd", self.drawn(self.view))
        yield 0

    def test_comments_outlive_a_reload_of_the_package(self) -> Steps:
        self.comment()
        kept = self.panel.kept
        path = Path(kept._store.path(str(self.folder)))
        yield lambda: path.exists() and WORDS in path.read_text(encoding="utf-8")
        found = kept._store.load(str(self.folder))
        self.assertEqual([comment.words for comment in found], [WORDS])

    def test_both_sides_of_a_diff_are_commented_each_for_itself(self) -> Steps:
        yield from self.open_diff("def greet(name):\n    return name\n")
        for view in (self.original, self.proposal):
            view.sel().clear()
            view.sel().add(view.text_point(1, 0))
            self.comment(f"on {view.name()}", view)
        sides = {comment.side: (comment.lines, comment.agent) for comment in self.panel.unsent(self.window)}
        self.assertEqual(
            sides, {"original": (('    print("hi")',), "Qwen Code"), "proposal": (("    return name",), "Qwen Code")}
        )
        self.assertNotIn(f"on {self.proposal.name()}", self.drawn(self.original))

    def test_comments_go_into_the_empty_prompt_of_the_cli_as_one_text(self) -> Steps:
        terminus = Terminus(self)
        self.comment()
        self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        yield lambda: terminus.views
        terminal = terminus.views[0]
        yield lambda: terminal.settings().has("qwen_companion.terminal")
        terminal.run_command("append", {"characters": "> Type your message or @path/to/file\n"})
        self.window.run_command("qwen_companion_send_comments")
        yield lambda: terminus.sent
        [sent] = terminus.sent
        self.assertEqual(sent["string"], f"@app.py line 1\n```\ndef greet(name):\n```\n{WORDS}")
        self.assertTrue(sent["bracketed"])
        self.assertEqual(len(self.panel.unsent(self.window)), 1)
        terminal.run_command("select_all")
        terminal.run_command("right_delete")
        yield lambda: not self.panel.unsent(self.window)
        self.assertIn("(sent)", self.drawn(self.view))

    def test_nothing_is_typed_into_a_question_and_the_comments_wait_in_the_clipboard(self) -> Steps:
        terminus = Terminus(self)
        self.comment()
        self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        yield lambda: terminus.views
        yield lambda: terminus.views[0].settings().has("qwen_companion.terminal")
        terminus.views[0].run_command("append", {"characters": "Apply this change?\n  1. Yes\n"})
        sublime.set_clipboard("")
        self.window.run_command("qwen_companion_send_comments")
        yield lambda: WORDS in sublime.get_clipboard()
        self.assertEqual(terminus.sent, [])
        self.assertEqual(len(self.panel.unsent(self.window)), 1)

    def test_an_excluded_file_is_told_to_nobody(self) -> Steps:
        self.comment()
        self.set_setting("context_exclude", ["app.py"])
        sublime.set_clipboard("before")
        self.window.run_command("qwen_companion_send_comments")
        self.window.run_command("qwen_companion_copy_comments")
        yield 100
        self.assertEqual(sublime.get_clipboard(), "before")

    def test_a_rejection_takes_its_comments_along(self) -> Steps:
        yield from self.open_diff("def greet(name):\n    return name\n")
        self.comment("not like this", self.proposal)
        sublime.set_clipboard("")
        self.proposal.run_command("qwen_companion_reject_with_comments")
        yield from self.closed()
        yield lambda: "not like this" in sublime.get_clipboard()
        yield lambda: self.cli.outcomes
        self.assertEqual([method for method, _ in self.cli.outcomes], ["ide/diffRejected"])

    def test_the_comments_of_a_line_are_deleted_and_the_next_one_is_gone_to(self) -> Steps:
        self.comment("one")
        self.view.sel().clear()
        self.view.sel().add(self.view.text_point(1, 0))
        self.comment("two")
        self.view.run_command("qwen_companion_go_to_comment")
        self.assertEqual(self.view.rowcol(self.view.sel()[0].b)[0], 0)
        self.window.run_command("qwen_companion_delete_comments")
        self.assertEqual([comment.words for comment in self.panel.unsent(self.window)], ["two"])
        self.view.run_command("qwen_companion_go_to_comment", {"forward": False})
        self.assertEqual(self.view.rowcol(self.view.sel()[0].b)[0], 1)
        yield 0
