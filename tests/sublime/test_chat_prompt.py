"""Prompting: sending, recalling, completing, and what goes with a prompt."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase, Steps, loaded
from .companion_case import CompanionCase


class TestSending(ChatCase):
    def sent(self) -> Steps:
        """Wait for a prompt: self.draft, and whether it goes into the turn that runs: self.mid_turn."""
        yield from self.told("send")
        [(window, self.draft, named)] = self.chats.of("send")
        self.assertEqual(window, self.chat.id)
        self.mid_turn = named["mid_turn"]

    def test_enter_sends_and_shift_enter_breaks_the_line(self) -> Steps:
        self.type("first")
        self.assertEqual(self.press("shift+enter"), "insert")
        self.type("second")
        self.assertEqual(self.prompt, "first\nsecond")
        self.assertEqual(self.press("enter"), "qwen_companion_chat_send")
        yield from self.sent()
        self.assertEqual((self.draft, self.mid_turn), (self.prompts.Draft("first\nsecond"), False))
        self.assertEqual(self.prompt, "")

    def test_nothing_is_not_sent(self) -> Steps:
        self.type(" \n ")
        self.press("enter")
        yield 100
        self.assertEqual(self.chats.of("send"), [])

    def test_a_text_of_a_command_goes_without_the_prompt(self) -> Steps:
        self.type("mine")
        self.window.run_command("qwen_companion_chat_send", {"text": "theirs"})
        yield from self.sent()
        self.assertEqual(self.draft.text, "theirs")
        self.assertEqual(self.prompt, "mine")

    def test_into_the_turn_that_runs(self) -> Steps:
        self.show(self.message("Hello"), running="turn")
        self.type("and")
        self.assertEqual(self.press("primary+enter"), "qwen_companion_chat_send")
        yield from self.sent()
        self.assertTrue(self.mid_turn)

    def test_without_a_turn_it_is_a_prompt_of_its_own(self) -> Steps:
        self.type("and")
        self.press("primary+enter")
        yield from self.sent()
        self.assertFalse(self.mid_turn)

    def test_escape_cancels_the_turn_that_runs(self) -> Steps:
        self.assertEqual(self.press("escape"), "")
        self.show(self.message("Hello"), running="turn")
        self.assertEqual(self.press("escape"), "qwen_companion_chat_cancel")
        yield from self.told("cancel")

    def test_what_can_not_be_sent_comes_back_before_what_was_typed_since(self) -> Steps:
        excerpt = self.prompts.Excerpt("file:///x", "x:1", "x")
        draft = self.prompts.Draft("first", (excerpt,), ("/p.png",))
        self.type("since")
        self.adapter.chats.return_draft(self.chat.id, draft, "There is no daemon.")
        yield lambda: self.prompt == "first\nsince"
        self.assertEqual(self.chat.attached, ["x:1", "/p.png"])
        yield lambda: self.screen.said("There is no daemon.")

    def test_what_comes_back_is_in_the_order_in_which_it_was_sent(self) -> None:
        excerpt = self.prompts.Excerpt
        self.type("since")
        for text in ("one", "two", ""):
            self.chat.take_back(self.prompts.Draft(text, (excerpt("u", f"x{text}", "x"),)))
        self.assertEqual(self.prompt, "one\ntwo\nsince")
        self.assertEqual(self.chat.attached, ["xone", "xtwo", "x"])
        self.chat.sent()
        self.chat.take_back(self.prompts.Draft("three"))
        self.chat.take_back(self.prompts.Draft("four"))
        self.assertEqual(self.prompt, "three\nfour")
        self.view.sel().clear()
        self.view.sel().add(self.chat.text.length)
        self.type("x")  # the person goes on with it
        self.chat.take_back(self.prompts.Draft("five"))
        self.assertEqual(self.prompt, "five\nxthree\nfour")

    def test_what_comes_back_to_a_chat_that_is_closed_is_kept(self) -> Steps:
        self.view.close()
        yield from self.told("close")
        self.adapter.chats.return_draft(self.chat.id, self.prompts.Draft("first"), "There is no daemon.")
        texts = lambda: [view.substr(sublime.Region(0, view.size())) for view in self.window.views()]  # noqa: E731
        yield lambda: "first" in texts()


class TestRecall(ChatCase):
    def test_up_and_down_go_through_what_was_sent_and_the_draft_comes_back(self) -> None:
        for text in ("one", "two\nlines"):
            self.type(text)
            self.press("enter")
        self.type("draft")
        self.assertEqual(self.press("down"), "")
        self.assertEqual(self.press("up"), "qwen_companion_chat_recall")
        self.assertEqual(self.prompt, "two\nlines")
        self.assertEqual(self.press("up"), "")  # the caret is in the second line
        self.put_caret(self.chat.text.length)
        self.press("up")
        self.assertEqual(self.prompt, "one")
        self.press("up")
        self.assertEqual(self.prompt, "one")
        self.assertEqual(self.press("down"), "qwen_companion_chat_recall")
        self.assertEqual(self.prompt, "two\nlines")
        self.press("down")
        self.assertEqual(self.prompt, "draft")

    def test_what_was_made_of_a_prompt_of_before_stays_until_it_is_sent(self) -> None:
        self.recall_and_edit()
        self.press("down")
        self.assertEqual(self.prompt, "two edited")
        self.press("enter")
        self.assertEqual(self.prompt, "draft")
        self.press("up")
        self.assertEqual(self.prompt, "two edited")
        self.press("up")
        self.assertEqual(self.prompt, "two")


class TestMentions(ChatCase):
    def draft(self) -> Steps:
        """Send the prompt: self.sent."""
        self.chats.calls.clear()
        self.window.run_command("qwen_companion_chat_send")
        yield from self.told("send")
        self.sent = self.chats.of("send")[0][1]

    def test_unsaved_buffers_that_are_mentioned_go_along(self) -> Steps:
        yield from self.open_view("my file.txt")
        self.edit(self.opened, "unsaved")
        yield from self.open_view("other.txt")
        self.edit(self.opened, "not mentioned")
        self.type("see @my\\ file.txt, and @app.py")
        yield from self.draft()
        self.assertEqual(self.sent.unsaved, {str(self.folder / "my file.txt"): "unsaved"})
        self.assertEqual(self.sent.text, "see @my\\ file.txt, and @app.py")
        for view in self.window.views():
            view.set_scratch(True)

    def test_a_selection_goes_as_a_text(self) -> Steps:
        self.code.sel().clear()
        self.code.sel().add(sublime.Region(0, self.code.size()))
        self.window.focus_view(self.code)
        self.window.run_command("qwen_companion_chat_add")
        yield lambda: self.chat.attached == ["app.py:1-2"]
        self.assertEqual(self.window.active_view(), self.view)
        self.type("why?")
        yield from self.draft()
        [excerpt] = self.sent.excerpts
        self.assertEqual(excerpt.name, "app.py:1-2")
        self.assertEqual(excerpt.uri, self.file.as_uri() + "#L1-L2")
        self.assertIn("def greet", excerpt.text)
        self.assertEqual(self.chat.attached, [])

    def test_an_excluded_file_is_not_added(self) -> Steps:
        """Neither its name nor what is selected in it; one sentence says so."""
        yield from self.open_view(".env", "PASSWORD=hunter2\n")
        for select in (False, True):
            if select:
                self.opened.run_command("select_all")
            self.window.focus_view(self.opened)
            self.window.run_command("qwen_companion_chat_add")
            why = ".env stays here: the setting “context_exclude” excludes it."
            yield lambda why=why: self.screen.said(why)
            self.screen.messages.clear()
        picture = str(self.folder / "secrets" / "a.png")
        self.window.run_command("qwen_companion_chat_picture", {"path": picture})
        self.assertTrue(self.screen.said("a.png stays here"))
        self.assertEqual((self.chat.attached, self.prompt), ([], ""))

    def test_a_tab_without_a_file_is_excluded_by_its_name(self) -> None:
        view = self.window.new_file()
        view.set_scratch(True)
        view.set_name("new.pem")
        self.window.run_command("qwen_companion_chat_add")
        self.assertTrue(self.screen.said("new.pem stays here"))
        self.assertEqual(self.chat.attached, [])

    def test_a_saved_file_is_mentioned(self) -> Steps:
        yield from self.open_view("my file.txt")
        self.type("see")
        self.window.focus_view(self.opened)
        self.window.run_command("qwen_companion_chat_add")
        yield lambda: self.prompt == "see @my\\ file.txt "

    def test_an_unsaved_text_goes_as_it_is(self) -> Steps:
        view = self.window.new_file()
        view.set_scratch(True)
        view.run_command("insert", {"characters": "unsaved"})
        self.window.run_command("qwen_companion_chat_add")
        yield lambda: self.chat.attached == ["untitled"]
        self.assertEqual(self.chat.excerpts[0].text, "unsaved")

    def test_what_is_attached_can_be_removed(self) -> None:
        self.chat.take_back(self.prompts.Draft("", (self.prompts.Excerpt("u", "x:1", "x"),), ("/p.png",)))
        [bar] = self.screen.phantoms(self.view, "qwen_companion.chat_bar")
        self.assertIn("with x:1 removewith /p.png remove", bar)
        self.screen.click(self.view, "detach:1")
        self.assertEqual(self.chat.attached, ["x:1"])
        self.screen.click(self.view, "detach:0")
        self.assertEqual(self.chat.attached, [])

    def test_a_picture_is_asked_for(self) -> Steps:
        sublime.set_clipboard("a text")
        with patch.object(sublime, "open_dialog", lambda picked, *_, **__: picked(["/p.png"])):
            self.window.run_command("qwen_companion_chat_picture")
        self.window.run_command("qwen_companion_chat_picture", {"path": "/q.png"})
        self.assertEqual(self.chat.attached, ["/p.png", "/q.png"])
        yield from self.draft()
        self.assertEqual(self.sent.pictures, ("/p.png", "/q.png"))


class TestUndo(ChatCase):
    def test_undo_and_redo_change_the_prompt_alone_while_text_streams(self) -> None:
        for text in ("first", " second", " third"):
            self.type(text)
            self.show(self.message(f"Answer before{text}"))
        self.view.run_command("undo")
        self.assertEqual(self.prompt, "first second")
        self.show(self.message("Answer, and more"))
        shown = self.shown
        self.view.run_command("undo")
        self.assertEqual(self.prompt, "first")
        self.view.run_command("redo")
        self.assertEqual(self.prompt, "first second")
        self.assertEqual([region.to_tuple() for region in self.view.sel()], [(self.view.size(),) * 2])
        for _ in range(5):
            self.view.run_command("undo")
        self.assertEqual((self.prompt, self.shown), ("", shown))
        self.type("new")
        self.view.run_command("redo")
        self.assertEqual(self.prompt, "new")

    def test_what_was_sent_is_not_brought_back(self) -> Steps:
        self.type("sent")
        self.window.run_command("qwen_companion_chat_send")
        yield from self.told("send")
        self.view.run_command("undo")
        self.assertEqual(self.prompt, "")

    def test_letters_of_a_word_are_one_step(self) -> None:
        for letter in "one two":
            self.type(letter)
        self.view.run_command("undo")
        self.assertEqual(self.prompt, "one")
        self.view.run_command("undo")
        self.assertEqual(self.prompt, "")


class TestUndoHistory(CompanionCase):
    """The steps by themselves."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.undo = loaded("sublime_text.chat.text").UndoHistory("")

    def test_a_large_paste_is_kept_once_whatever_is_typed_after_it(self) -> None:
        text = "x" * 1_000_000
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for number in range(300):
            text += f" {number}"
            self.undo.record(text, len(text), number * 10.0)
        self.assertLess(tracemalloc.get_traced_memory()[0], 10_000_000)
        for number in range(299, 99, -1):
            text = text.removesuffix(f" {number}")
            self.assertEqual(self.undo.step(-1), (text, len(text)))
        self.assertIsNone(self.undo.step(-1))

    def test_large_texts_that_replace_each_other_push_out_the_oldest(self) -> None:
        texts = [str(number) * 1_000_000 for number in range(9)]
        for number, text in enumerate(texts):
            self.undo.record(text, 1, number * 10.0)
        self.assertEqual(self.undo.step(-1), (texts[-2], 1))
        back = [texts[-2]]
        while step := self.undo.step(-1):
            back.append(step[0])
        self.assertTrue(2 <= len(back) <= 4)
        for text in [*reversed(back[:-1]), texts[-1]]:
            self.assertEqual(self.undo.step(1), (text, 1))
        self.assertIsNone(self.undo.step(1))

    def test_any_changes_are_undone_and_redone(self) -> None:
        chance = random.Random(5)  # noqa: S311 - what is typed is no secret
        text, states = "", [("", 0)]
        for number in range(150):
            start = chance.randint(0, len(text))
            end = chance.randint(start, min(len(text), start + 4))
            text = text[:start] + "".join(chance.choices("ab \n", k=chance.randint(0, 4))) + text[end:]
            if text != states[-1][0]:
                states.append((text, start))
            self.undo.record(text, start, number * 10.0)
        for state in reversed(states[:-1]):
            self.assertEqual(self.undo.step(-1), state)
        self.assertIsNone(self.undo.step(-1))
        for state in states[1:]:
            self.assertEqual(self.undo.step(1), state)


class TestSlashCommands(ChatCase):
    """What harms in a session of the daemon is translated, or not offered."""

    def test_clear_and_its_other_names_begin_a_new_chat(self) -> Steps:
        for text in ("/clear", "/new ", "/ clear", "/\n reset", "/\ufeffclear\ufeff"):
            self.chats.calls.clear()
            self.type(text)
            self.window.run_command("qwen_companion_chat_send")
            yield from self.told("show")
            self.assertEqual(self.chats.of("send"), [])
            self.assertEqual(self.prompt, "")

    def test_what_was_written_behind_clear_and_what_was_attached_stays_for_the_new_chat(self) -> Steps:
        excerpt = self.prompts.Excerpt("file:///e", "e", "text")
        self.chat.excerpts.append(excerpt)
        self.type("/new  fix\nit")
        self.window.run_command("qwen_companion_chat_send")
        yield from self.told("show")
        self.assertEqual(self.chats.of("send"), [])
        self.assertEqual(self.prompt, "fix\nit")
        self.assertEqual(self.chat.excerpts, [excerpt])

    def test_model_alone_asks_which(self) -> Steps:
        models = (self.view_values.Choice("a", "A"), self.view_values.Choice("b", "B"))
        self.show(model="a", models=models)
        self.type("/model")
        self.window.run_command("qwen_companion_chat_send")
        yield from self.choose("B")
        yield from self.told("switch")
        for text in ("/model b", "/clearly", "/clear: it", "//clear", "/clear/x", "say /clear"):
            self.chats.calls.clear()
            self.type(text)
            self.window.run_command("qwen_companion_chat_send")
            yield from self.told("send")

    def test_commands_without_a_use_are_not_offered(self) -> None:
        self.show(commands=tuple(self.view_values.Command(name, "", "") for name in ("bug", "docs", "init")))
        self.type("/")
        found = self.listener().on_query_completions(self.view, "", [self.view.sel()[0].b])
        self.assertEqual([item.trigger for item in found.completions], ["/init"])


class TestCompletions(ChatCase):
    def complete(self) -> Any:
        return self.listener().on_query_completions(self.view, "", [self.view.sel()[0].b])

    def listed(self, found: Any) -> Steps:
        """Wait for the completions: self.items."""
        yield lambda: found.completions is not None
        self.items = [item.trigger for item in found.completions]

    def test_files_follow_an_at_sign(self) -> Steps:
        self.chats.answers["files"] = ["src/my file.py", "src/main.py"]
        self.type("see @src/m")
        found = self.complete()
        yield from self.listed(found)
        self.assertEqual(self.items, ["src/my file.py", "src/main.py"])
        self.assertEqual(self.chats.of("files"), [(self.chat.id, "src/m")])
        # What the editor takes for a word may be gone by now, or not.
        self.view.run_command("qwen_companion_chat_complete", {"text": "@src/my\\ file.py "})
        self.assertEqual(self.prompt, "see @src/my\\ file.py ")

    def test_without_a_daemon_there_are_none(self) -> Steps:
        self.chats.answers["files"] = loaded("backends.daemon.errors").TemporaryError("No daemon answers at http://x.")
        self.type("@a")
        yield from self.listed(self.complete())
        self.assertEqual(self.items, [])

    def test_slash_commands_are_at_the_beginning(self) -> Steps:
        commands = (
            self.view_values.Command("help", "Show <help>", ""),
            self.view_values.Command("init", "Begin", "[x]"),
        )
        self.show(commands=commands)
        self.type("/h")
        found = self.complete()
        yield from self.listed(found)
        self.assertEqual(self.items, ["/help", "/init"])
        self.assertEqual(found.completions[0].details, "Show &lt;help&gt;")
        self.view.run_command("qwen_companion_chat_complete", {"text": "/help "})
        self.assertEqual(self.prompt, "/help ")
        self.type("/h")
        self.assertEqual(self.complete().completions, [])

    def test_the_caret_is_behind_what_was_completed_and_nothing_is_selected(self) -> None:
        """The editor selects what `replace` puts into an empty region at a caret."""
        replace = sublime.View.replace

        def selecting(view: sublime.View, edit: sublime.Edit, region: sublime.Region, text: str) -> None:
            replace(view, edit, region, text)
            if region.empty():
                view.sel().clear()
                view.sel().add(sublime.Region(region.begin(), region.begin() + len(text)))

        with patch.object(sublime.View, "replace", selecting):
            for before in ("", "/", "/h"):
                self.type(before)
                self.view.run_command("qwen_companion_chat_complete", {"text": "/help "})
                self.assertEqual(self.prompt, "/help ")
                self.assertEqual([region.to_tuple() for region in self.view.sel()], [(self.view.size(),) * 2])

    def test_nothing_is_completed_in_the_transcript(self) -> None:
        self.show(self.message("mail me @ home"))
        self.put_caret(self.shown.index("@") + 1)
        self.assertEqual(self.complete().completions, [])

    def test_no_word_of_the_text_is_offered(self) -> None:
        """Enter would take it in place of sending the prompt."""
        self.show(self.message("wonderful"))
        self.type("won")
        found = self.complete()
        self.assertEqual(found.completions, [])
        self.assertTrue(found.flags & sublime.AutoCompleteFlags.INHIBIT_WORD_COMPLETIONS)

    def test_the_sign_opens_them(self) -> None:
        triggers = self.view.settings().get("auto_complete_triggers")
        self.assertEqual("".join(each["characters"] for each in triggers), "@/")
