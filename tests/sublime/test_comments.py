"""Comments at lines: written, drawn, kept, and sent to an agent."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase
from .companion_case import CompanionCase, Steps, loaded, text_of
from .terminal_case import EMPTY_PROMPT, Terminus
from .test_review_reload import ReloadCase

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
        return "".join(content for content, _ in self.screen._of(view, "qwen_companion.comments"))

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

    def test_the_input_panel_keeps_what_is_written_and_a_draft_when_it_is_left(self) -> None:
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

    def test_an_edited_comment_has_other_words_and_an_empty_text_deletes_it(self) -> None:
        self.comment()
        [comment] = self.panel.unsent(self.window)
        for words, left in (("other", 1), ("  ", 0)):
            with patch.object(
                sublime.Window, "show_input_panel", lambda *args, words=words: args[3](words) or self.view
            ):
                self.panel.clicked(self.view, f"edit:{comment.id}")
            self.assertEqual(len(self.panel.unsent(self.window)), left)
        self.assertEqual(self.drawn(self.view), "")

    def test_an_edit_that_is_left_is_a_draft_for_the_next_time(self) -> None:
        self.comment()
        [comment] = self.panel.unsent(self.window)
        asked = []

        def show(_: sublime.Window, caption: str, before: str, done: object, changed: object, left: object):
            asked.append((before, done, changed, left))
            return self.view

        with patch.object(sublime.Window, "show_input_panel", show):
            self.view.run_command("qwen_companion_comment")
            before, _, changed, left = asked.pop()
            self.assertEqual(before, WORDS)
            changed("half an ed")
            left()
            self.panel.clicked(self.view, f"edit:{comment.id}")
            before, done, _, _ = asked.pop()
            self.assertEqual(before, "half an ed")
            done("an edit")
            self.panel.clicked(self.view, f"edit:{comment.id}")
            self.assertEqual(asked.pop()[0], "an edit")
        self.assertEqual([each.words for each in self.panel.unsent(self.window)], ["an edit"])

    def test_a_selected_line_is_meant_and_not_the_one_below_on_which_the_caret_is(self) -> Steps:
        """After Ctrl+L or a triple click, an empty comment deleted the one on the line below, and so did Delete."""
        self.edit(self.view, "one\ntwo\nthree\n")
        for words, row in (("above", 0), ("below", 1)):
            self.view.sel().clear()
            self.view.sel().add(self.view.text_point(row, 0))
            self.comment(words)
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(0, self.view.text_point(1, 0)))
        self.comment("")
        left = lambda: [each.words for each in self.panel.unsent(self.window)]  # noqa: E731
        self.assertEqual(left(), ["below"])
        self.comment("again")
        self.window.focus_view(self.view)
        self.window.run_command("qwen_companion_delete_comments")
        self.assertEqual(left(), ["below"])
        yield 0

    def test_one_in_a_folder_of_two_windows_is_listed_in_both(self) -> Steps:
        """It was shown in the tab of the other one, which had nothing to send."""
        inner = self.folder / "inner"
        inner.mkdir()
        other = yield from self.another_window()
        other.set_project_data({"folders": [{"path": str(inner)}]})
        for window, words in ((self.window, "from above"), (other, "from within")):
            yield from self.open_view("inner/app.py")
            view = window.open_file(str(inner / "app.py"))
            yield lambda view=view: not view.is_loading()
            window.focus_view(view)
            self.comment(words, view)
        for window in (self.window, other):
            self.assertEqual([each.words for each in self.panel.unsent(window)], ["from above", "from within"])
            self.assertEqual(self.panel.of_window(window), list(self.panel.unsent(window)))

    def test_it_is_said_where_there_is_no_comment_to_delete(self) -> Steps:
        """All are sent, and the caret is on none of their lines."""
        self.edit(self.view, "one\ntwo\nthree\n")
        self.view.sel().clear()
        self.view.sel().add(0)
        self.comment()
        self.panel.pasted(self.panel.unsent(self.window), "Qwen Code")
        self.view.sel().clear()
        self.view.sel().add(self.view.text_point(2, 0))
        self.window.run_command("qwen_companion_delete_comments")
        self.assertTrue(self.screen.said("There is no comment on this line"))
        self.assertEqual(len(self.panel.of_window(self.window)), 1)
        yield 0

    def test_edited_lines_are_said_to_have_changed_until_the_edit_is_undone(self) -> Steps:
        self.comment()
        self.view.sel().clear()
        self.view.sel().add(4)
        self.view.run_command("insert", {"characters": "well_"})
        yield lambda: "the lines have changed" in self.drawn(self.view)
        self.view.run_command("undo")
        yield lambda: "the lines have changed" not in self.drawn(self.view)

    def test_the_review_has_the_comments_and_goes_to_one(self) -> Steps:
        self.comment("look\nhere")
        self.window.run_command("qwen_companion_review")
        tab = loaded("sublime_text.package").adapter().review.tab(self.window).view
        yield lambda: "¶\xa0app.py:1 · look here · to send · you" in text_of(tab)
        self.view.sel().clear()
        self.view.sel().add(self.view.size())
        tab.sel().clear()
        tab.sel().add(text_of(tab).index("¶"))
        tab.run_command("qwen_companion_review_do", {"what": "open"})
        yield lambda: self.view.sel()[0].b == 0
        self.assertEqual(self.window.active_view(), self.view)

    def test_a_comment_moves_with_its_lines_and_says_if_they_have_changed(self) -> Steps:
        self.comment()
        self.view.run_command("insert", {"characters": "import os\n\n"})
        [comment] = self.panel.settled(self.window)
        self.assertEqual((comment.first, comment.lines), (3, ("def greet(name):",)))
        self.view.run_command("revert")
        self.file.write_text("nothing of it\n")
        self.view.run_command("revert")
        yield lambda: text_of(self.view) == "nothing of it\n"
        yield lambda: "the lines have changed" in self.drawn(self.view)
        [comment] = self.panel.settled(self.window)
        self.assertEqual((comment.lines, comment.has_changed), (("def greet(name):",), True))

    def test_the_text_of_a_comment_is_no_markup(self) -> None:
        self.comment('<a href="delete:x">&amp;</a>\x07')
        self.assertIn("&lt;a href=&quot;delete:x&quot;&gt;&amp;amp;&lt;/a&gt;\ufffd", self.drawn(self.view))

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
        terminal = yield from terminus.run_cli(self.window, shows=EMPTY_PROMPT)
        self.window.run_command("qwen_companion_send_comments")
        yield lambda: terminus.sent
        [sent] = terminus.sent
        self.assertEqual(sent["string"], f"@app.py line 1\n```\ndef greet(name):\n```\n{WORDS}")
        self.assertTrue(sent["bracketed"])
        self.assertEqual(len(self.panel.unsent(self.window)), 1)
        terminal.run_command("select_all")
        terminal.run_command("right_delete")
        yield lambda: not self.panel.unsent(self.window)
        self.assertIn("(in the prompt of Qwen Code)", self.drawn(self.view))

    def test_nothing_is_typed_into_a_question_and_the_comments_wait_in_the_clipboard(self) -> Steps:
        terminus = Terminus(self)
        self.comment()
        yield from terminus.run_cli(self.window, shows="Apply this change?\n  1. Yes\n")
        sublime.set_clipboard("")
        self.window.run_command("qwen_companion_send_comments")
        yield lambda: WORDS in sublime.get_clipboard()
        self.assertEqual(terminus.sent, [])
        self.assertEqual(len(self.panel.unsent(self.window)), 1)

    def test_a_prompt_in_the_text_above_a_question_is_no_empty_prompt(self) -> Steps:
        terminus = Terminus(self)
        self.comment()
        above = f"{EMPTY_PROMPT}Apply this change?\n│ ● 1. Yes, allow once │\n  2. No\n"
        yield from terminus.run_cli(self.window, shows=above)
        sublime.set_clipboard("")
        self.window.run_command("qwen_companion_send_comments")
        yield lambda: WORDS in sublime.get_clipboard()
        self.assertEqual(terminus.sent, [])

    def test_of_several_terminals_of_the_agent_one_is_chosen_in_a_panel(self) -> Steps:
        terminus = Terminus(self)
        yield from self.open_diff("def greet(name):\n    return name\n")
        self.comment("here", self.proposal)
        for _ in range(2):
            yield from terminus.run_cli(self.window, shows=EMPTY_PROMPT, dirs=[str(self.folder)])
        self.window.run_command("qwen_companion_send_comments")
        yield lambda: self.screen.panels
        items, pick = self.screen.panels.pop()
        captions = [item.trigger for item in items]
        self.assertEqual(captions[-1], "Copy the comments")
        self.assertEqual(sorted(captions[:-1]), ["Send to Qwen Code", "Send to Qwen Code 2"])
        pick(captions.index("Send to Qwen Code"))
        yield lambda: terminus.sent
        self.assertEqual(terminus.sent[0]["tag"], "qwen")

    def test_accepting_asks_whether_the_comments_go_as_well(self) -> Steps:
        yield from self.open_diff("def greet(name):\n    return name\n")
        self.comment("and a test", self.proposal)
        sublime.set_clipboard("")
        asked = []
        with patch.object(sublime, "ok_cancel_dialog", lambda *args: asked.append(args[0]) or True):
            self.proposal.run_command("qwen_companion_accept_diff")
            yield lambda: asked
            yield lambda: "and a test" in sublime.get_clipboard()
        self.assertEqual(asked, ["Send your comment on what you have accepted as well?"])

    def test_the_focus_stays_if_the_prompt_is_empty_only_later(self) -> Steps:
        terminus = Terminus(self)
        yield from self.open_diff("def greet(name):\n    return name\n")
        self.comment("not so", self.proposal)
        self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        yield lambda: terminus.views
        yield lambda: terminus.views[0].settings().has("qwen_companion.terminal")
        self.window.focus_view(self.proposal)
        self.proposal.run_command("qwen_companion_reject_with_comments")
        yield from self.closed()
        self.window.focus_view(self.view)
        terminus.views[0].run_command("append", {"characters": EMPTY_PROMPT})
        yield lambda: terminus.sent
        self.assertIn("not so", terminus.sent[0]["string"])
        self.assertEqual(self.window.active_view(), self.view)

    def test_a_comment_on_a_file_elsewhere_outlives_its_closed_tab(self) -> Steps:
        elsewhere = Path(tempfile.mkdtemp(prefix="elsewhere-")).resolve()
        self.addCleanup(shutil.rmtree, elsewhere, ignore_errors=True)
        (elsewhere / "b.py").write_text("x = 1\n")
        view = self.window.open_file(str(elsewhere / "b.py"))
        yield lambda: not view.is_loading()
        self.comment("far away", view)
        view.close()
        yield lambda: not view.is_valid()
        self.assertEqual([each.words for each in self.panel.unsent(self.window)], ["far away"])
        self.window.focus_view(self.view)
        self.view.run_command("qwen_companion_go_to_comment")
        yield lambda: (self.window.active_view() or self.view).file_name() == str(elsewhere / "b.py")

    def test_sending_takes_a_checkpoint_in_the_windows_of_the_files(self) -> Steps:
        taken: list[tuple[int, str, str]] = []
        self.comment()
        rounds = loaded("changes.rounds").Rounds
        with patch.object(rounds, "checkpoint", lambda _, *args: taken.append(args)):
            self.panel.pasted(self.panel.unsent(self.window), "Qwen Code")
            yield lambda: taken
        self.assertEqual(taken, [(self.window.id(), WORDS, "Qwen Code")])

    def test_what_was_sent_is_listed_until_the_next_round(self) -> Steps:
        self.comment()
        self.panel.pasted(self.panel.unsent(self.window), "Qwen Code")
        self.assertEqual(len(self.panel.of_window(self.window)), 1)
        self.window.run_command("qwen_companion_begin_round")
        yield lambda: not self.panel.of_window(self.window)

    def test_an_excluded_file_stays_here_and_the_others_go(self) -> Steps:
        self.comment("of app")
        yield from self.open_view("other.py")
        self.comment("of other", self.opened)
        self.set_setting("context_exclude", ["app.py"])
        self.window.run_command("qwen_companion_copy_comments")
        yield lambda: "of other" in sublime.get_clipboard()
        self.assertNotIn("of app", sublime.get_clipboard())

    def test_an_excluded_file_is_told_to_nobody(self) -> Steps:
        self.comment()
        self.set_setting("context_exclude", ["app.py"])
        sublime.set_clipboard("before")
        self.window.run_command("qwen_companion_send_comments")
        self.window.run_command("qwen_companion_copy_comments")
        yield 100
        self.assertEqual(sublime.get_clipboard(), "before")

    def test_no_text_of_an_excluded_file_is_kept_and_its_comments_stay_at_their_lines(self) -> Steps:
        self.set_setting("context_exclude", ["app.py"])
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(0, self.view.text_point(2, 0)))
        self.comment("of two lines")
        folder = Path(sublime.cache_path(), "QwenCompanion", "comments")
        yield lambda: any("of two lines" in path.read_text() for path in folder.glob("*.json"))
        self.assertFalse([path for path in folder.glob("*.json") if "def greet" in path.read_text()])
        self.view.run_command("move_to", {"to": "bof"})
        self.view.run_command("insert", {"characters": "# mine\n"})
        yield lambda: [(each.first, each.last) for each in self.panel.unsent(self.window)] == [(2, 3)]
        self.assertNotIn("changed", self.drawn(self.view))

    def test_a_rejection_takes_its_comments_along(self) -> Steps:
        yield from self.open_diff("def greet(name):\n    return name\n")
        self.comment("not like this", self.proposal)
        sublime.set_clipboard("")
        self.proposal.run_command("qwen_companion_reject_with_comments")
        yield from self.closed()
        yield lambda: "not like this" in sublime.get_clipboard()
        yield lambda: self.cli.outcomes
        self.assertEqual([method for method, _ in self.cli.outcomes], ["ide/diffRejected"])

    def test_the_comments_of_a_line_are_deleted_and_the_next_one_is_gone_to(self) -> None:
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


class TestCommentsOverAReload(ReloadCase):
    """A comment that was written just before the package is loaded again."""

    def panel(self) -> Any:
        return loaded("sublime_text.package").adapter().comments

    def test_it_is_drawn_and_counted_by_the_next_instance_with_those_from_before(self) -> Steps:
        self.addCleanup(lambda: self.panel().delete(list(self.panel().comments)))
        self.view.run_command("qwen_companion_comment", {"text": "one"})
        yield from self.reload()
        yield lambda: [each.words for each in self.panel().unsent(self.window)] == ["one"]
        self.view.run_command("qwen_companion_comment", {"text": "two"})
        yield from self.reload()
        yield lambda: [each.words for each in self.panel().unsent(self.window)] == ["one", "two"]
        yield lambda: self.panel().views.shows(self.view)
        yield lambda: "2 comments to send" in self.view.get_status("zz_qwen_companion")

    def test_a_comment_written_before_the_others_are_read_loses_none(self) -> Steps:
        self.addCleanup(lambda: self.panel().delete(list(self.panel().comments)))
        self.view.run_command("qwen_companion_comment", {"text": "one"})
        self.unload()
        yield 1
        loaded("sublime_text.package").load()
        self.view.run_command("qwen_companion_comment", {"text": "two"})
        yield from self.taken_up()
        yield lambda: [each.words for each in self.panel().unsent(self.window)] == ["one", "two"]
        store = self.panel().kept._store
        yield lambda: [each.words for each in store.load(str(self.folder))] == ["one", "two"]


class TestCommentsInAChat(ChatCase):
    """The same window with a chat."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.panel = self.adapter.comments
        self.addCleanup(lambda: self.panel.delete(list(self.panel.comments)))
        self.window.focus_view(self.code)
        self.code.sel().clear()
        self.code.sel().add(0)
        self.code.run_command("qwen_companion_comment", {"text": WORDS})
        [self.comment] = self.panel.unsent(self.window)
        self.window.focus_view(self.view)

    def state(self) -> str:
        return self.panel.comments.find(self.comment.id).state

    def test_it_stands_in_the_prompt_with_its_lines_embedded_until_the_prompt_is_sent(self) -> Steps:
        self.window.run_command("qwen_companion_send_comments")
        yield lambda: self.prompt == f"`app.py` line 1:\n{WORDS}\n"
        [excerpt] = self.chat.excerpts
        self.assertEqual(
            (excerpt.uri, excerpt.name, excerpt.text), (f"{self.file.as_uri()}#L1", "app.py:1", "def greet(name):")
        )
        self.assertEqual(self.state(), f"in the prompt of {self.chat.agent}")
        self.assertEqual(self.panel.unsent(self.window), ())
        self.window.run_command("qwen_companion_chat_send")
        yield from self.told("send")
        [(_, draft, _)] = self.chats.of("send")
        self.assertEqual((draft.text, draft.excerpts), (f"`app.py` line 1:\n{WORDS}", (excerpt,)))
        self.assertEqual(self.state(), f"sent to {self.chat.agent}")
        self.adapter.chats.return_draft(self.chat.id, draft, "There is no daemon.")
        yield lambda: self.state() == f"in the prompt of {self.chat.agent}"

    def test_what_comes_back_from_a_chat_that_has_closed_is_to_be_sent_again(self) -> Steps:
        self.window.run_command("qwen_companion_send_comments")
        yield lambda: WORDS in self.prompt
        self.window.run_command("qwen_companion_chat_send")
        yield from self.told("send")
        [(_, draft, _)] = self.chats.of("send")
        before = set(self.window.views())
        self.view.close()
        yield lambda: not self.adapter.chats.find(self.view)
        self.adapter.chats.return_draft(self.chat.id, draft, "The chat was closed.")
        yield lambda: set(self.window.views()) - before
        [kept] = set(self.window.views()) - before
        kept.set_scratch(True)
        self.assertEqual(self.state(), "")
        self.assertEqual([each.id for each in self.panel.unsent(self.window)], [self.comment.id])

    def test_what_is_deleted_from_the_prompt_is_to_be_sent_again(self) -> Steps:
        self.window.run_command("qwen_companion_send_comments")
        yield lambda: WORDS in self.prompt
        self.chat.text.write("")
        self.assertEqual([each.id for each in self.panel.unsent(self.window)], [self.comment.id])

    def test_two_hundred_comments_are_one_prompt(self) -> Steps:
        for number in range(200):
            self.code.run_command("qwen_companion_comment", {"text": f"comment {number}"})
        self.window.run_command("qwen_companion_send_comments")
        yield lambda: "comment 199\n" in self.prompt
        self.assertEqual(self.prompt.count("`app.py` line 1:\n"), 201)
        self.assertEqual(len(self.chat.excerpts), 1)
        self.assertEqual(self.panel.unsent(self.window), ())
