"""How a chat begins and ends: off by default, one for each window, there again afterwards."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import MARK, ChatCase, Steps, loaded
from .companion_case import at_once, text_of
from .own import kind_of, tabs, views


class ClosedCase(ChatCase):
    """A window whose chat is not open yet."""

    def open_chat(self) -> Steps:
        yield 1

    def is_open(self) -> bool:
        return self.adapter.chats.of(self.window) is not None


class TestOpening(ClosedCase):
    def test_it_is_off_until_the_person_turns_it_on(self) -> Steps:
        self.set_setting("chat_enabled", False)
        asked: list[str] = []

        def dialog(text: str, *_: Any) -> bool:
            asked.append(text)
            return len(asked) == 2

        saved: list[str] = []
        with patch.object(sublime, "ok_cancel_dialog", dialog), patch.object(sublime, "save_settings", saved.append):
            self.window.run_command("qwen_companion_chat")
            yield lambda: asked
            self.assertFalse(self.is_open())
            self.assertEqual(saved, [])
            self.window.run_command("qwen_companion_chat")
            yield self.is_open
        self.assertIn("500 MB", asked[0])
        self.assertIn("on this computer", asked[0])
        self.assertEqual(saved, ["QwenCompanion.sublime-settings"])
        self.assertTrue(sublime.load_settings(saved[0]).get("chat_enabled"))

    def test_it_is_said_where_it_works_before_it_is_turned_on(self) -> Steps:
        """Whatever names the address is what the chat connects to."""
        self.set_setting("chat_enabled", False)
        asked: list[str] = []
        named = "QWEN_IDE_DAEMON_URL"
        cases: list[tuple[dict[str, Any], dict[str, str], tuple[str, ...]]] = [
            ({"daemon.url": "http://10.1.2.3:4170/"}, {}, ("http://10.1.2.3:4170", "another machine")),
            ({}, {named: "http://10.1.2.3:4170"}, ("http://10.1.2.3:4170", "another machine")),
            ({"daemon.managed": False}, {}, ("http://127.0.0.1:4170", "the machine on which that runs")),
            ({"daemon.url": "https://h"}, {named: "http://10.1.2.3:4170"}, ("https://h.", "another machine")),
            ({"daemon.managed": True}, {named: " "}, ("this computer", "500 MB")),
        ]
        with patch.object(sublime, "ok_cancel_dialog", lambda text, *_: asked.append(text)):
            for settings, environment, expected in cases:
                for name, value in {"daemon.url": "", "daemon.managed": True, **settings}.items():
                    self.set_setting(name, value)
                before = len(asked)
                with patch.dict("os.environ", environment):
                    self.window.run_command("qwen_companion_chat")
                    yield lambda before=before: len(asked) > before
                for words in expected:
                    self.assertIn(words, asked[-1], (settings, environment))
                self.assertEqual("500 MB" in asked[-1], "500 MB" in expected)
            self.assertEqual(len(asked), len(cases))
            self.set_setting("daemon.url", "http://a:secret@h")
            self.window.run_command("qwen_companion_chat")
            yield lambda: self.screen.said("must not hold a name or a password")
        self.assertEqual(len(asked), len(cases))

    def test_a_window_without_a_folder_has_none(self) -> Steps:
        self.window.set_project_data({})
        yield lambda: not self.window.folders()
        self.window.run_command("qwen_companion_chat")
        yield lambda: self.screen.said("Open a folder first")
        self.assertFalse(self.is_open())

    def test_of_several_folders_one_is_picked_and_remembered(self) -> Steps:
        other = Path(tempfile.mkdtemp(prefix="other-")).resolve()
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        self.window.set_project_data({"folders": [{"path": str(self.folder)}, {"path": str(other)}]})
        yield lambda: len(self.window.folders()) == 2
        self.window.run_command("qwen_companion_chat")
        yield lambda: self.screen.panels
        self.assertEqual([item.details for item in self.screen.panels[-1][0]], [str(self.folder), str(other)])
        self.screen.pick(other.name)
        yield from self.told("open")
        view = self.adapter.chats.of(self.window).view
        self.assertEqual(self.chats.of("open"), [(view.id(), self.window.id(), str(other), "", "")])
        view.close()
        yield from self.told("close")
        self.window.run_command("qwen_companion_chat")
        yield lambda: len(self.screen.panels) == 2
        self.assertEqual(self.screen.selected, [-1, 1])
        self.screen.pick(self.folder.name)
        yield lambda: len(self.chats.of("open")) == 2
        self.assertEqual(self.chats.of("open")[-1][2:], (str(self.folder), "", ""))

    def test_a_chat_from_before_a_restart_is_gone_on_with_in_its_own_folder(self) -> Steps:
        self.window.set_project_data({"folders": [{"path": str(self.folder)}, {"path": str(self.folder.parent)}]})
        yield lambda: len(self.window.folders()) == 2
        view = self.window.new_file()
        views().take(view, "chat", folder=str(self.folder.parent))
        self.window.focus_view(self.view)
        if not self.is_open():
            self.window.run_command("qwen_companion_chat")
        yield from self.told("open")
        self.assertEqual(self.chats.of("open"), [(view.id(), self.window.id(), str(self.folder.parent), "", "")])
        self.assertEqual(self.screen.panels, [])

    def test_a_companion_that_does_not_answer_is_said_to_and_gets_no_prompt(self) -> Steps:
        self.set_limit("sublime_text.chat.chats", "PATIENCE", 100)
        self.window.run_command("qwen_companion_chat")
        yield self.is_open
        view = self.adapter.chats.of(self.window).view
        yield lambda: self.screen.said("The companion doesn't answer")
        view.run_command("insert", {"characters": "mine"})
        self.window.run_command("qwen_companion_chat_send")
        yield 100
        self.assertEqual(text_of(view), "mine")
        self.assertEqual(self.chats.of("send"), [])

    def test_a_prompt_of_a_command_opens_it(self) -> Steps:
        self.window.run_command("qwen_companion_chat_send", {"text": "hello"})
        yield from self.told("send")
        # The status bar may ask for the questions in between.
        told = [call[0] for call in self.chats.calls if call[0] in {"open", "send"}]
        self.assertEqual(told, ["open", "send"])


class TestView(ChatCase):
    def test_the_view(self) -> None:
        settings = self.view.settings()
        self.assertEqual(kind_of(self.view), "chat")
        self.assertTrue(self.view.is_scratch())
        self.assertTrue(settings.get("word_wrap"))
        self.assertFalse(settings.get("line_numbers"))
        self.assertEqual(self.window.active_view(), self.view)

    def test_it_has_one_view(self) -> None:
        """A second one would have the text, but neither keys nor commands."""
        before = len(self.window.views())
        self.window.run_command("clone_file")
        self.assertTrue(self.screen.said("one view"))
        group, index = self.window.get_view_index(self.view)
        self.window.focus_view(self.code)
        self.assertIsNotNone(
            self.listener().on_window_command(self.window, "clone_file", {"group": group, "index": index})
        )
        self.assertIsNone(self.listener().on_window_command(self.window, "clone_file", None))
        self.assertEqual(len(self.window.views()), before)

    def test_there_is_one_for_a_window(self) -> Steps:
        self.window.focus_view(self.code)
        self.window.run_command("qwen_companion_chat")
        yield lambda: self.window.active_view() == self.view
        self.assertEqual(len(tabs(self.window, "chat")), 1)

    def test_it_is_no_code_to_the_clis(self) -> None:
        self.assertFalse(loaded("sublime_text.windows").is_code(self.view))
        self.assertEqual(self.adapter.focus.last_code(self.window), self.code)

    def test_it_stays_on_the_screen_beside_a_diff(self) -> Steps:
        """The questions are answered there, and what is asked is in the diff."""
        yield lambda: self.window.active_view() == self.view
        yield from self.open_diff("other\n")
        self.assertEqual(self.selected(), [self.view, self.proposal])
        self.assertEqual(self.focused(), self.view)

    def test_closing_it_closes_the_chat(self) -> Steps:
        self.view.close()
        yield from self.told("close")
        self.assertEqual(self.chats.of("close"), [(self.chat.id,)])
        self.assertFalse(at_once(self.adapter.chats.show_chat, self.chat.id, self.chat.render))

    def test_frames_of_an_instance_before_are_left_out(self) -> None:
        render = self.show(self.message("Hello"))
        before = text_of(self.view)
        self.adapter.chats.close_all()
        self.adapter.chats.adopt_visible()
        later = self.transcript.update(
            self.view_values.Snapshot((), (), self.view_values.Status()), self.locality(), "session-1"
        )
        self.assertFalse(later.replaces_all)
        self.assertTrue(at_once(self.adapter.chats.show_chat, self.chat.id, later))
        self.assertEqual(text_of(self.view), before)
        self.assertTrue(render.session)

    def test_commands_are_there_when_they_make_sense(self) -> Steps:
        def enabled(name: str) -> bool:
            return getattr(loaded("sublime_text.chat.pickers"), name)(self.window).is_enabled()

        choice = self.view_values.Choice
        for name, models, modes in (
            ("QwenCompanionChatModelCommand", (choice("a", "A"),), ()),
            ("QwenCompanionChatModeCommand", (), (choice("a", "A"),)),
        ):
            self.show()
            self.assertFalse(enabled(name))
            self.show(models=models, modes=modes)
            self.assertTrue(enabled(name))
        self.assertTrue(enabled("QwenCompanionChatSessionsCommand"))
        self.view.close()
        yield from self.told("close")
        self.assertTrue(enabled("QwenCompanionChatSessionsCommand"), "it opens the chat")

    def test_every_key_binding_has_a_context_of_ours_and_a_command(self) -> None:
        package = (__package__ or "").partition(".")[0]
        bindings: Any = sublime.decode_value(sublime.load_resource(f"Packages/{package}/Default.sublime-keymap"))
        modules = [loaded(f"sublime_text.chat.{name}") for name in ("chat_commands", "pickers")]
        known = {each.removesuffix("Command") for module in modules for each in module.__dict__}
        for binding in bindings:
            own = [each["key"] for each in binding["context"]]
            keys = [key for key in own if key.startswith("qwen_companion.")]
            self.assertTrue(keys, binding)
            for key in keys:
                if key.startswith("qwen_companion.chat"):
                    self.applies(key)
            name = "".join(part.title() for part in binding["command"].split("_"))
            if binding["command"].startswith("qwen_companion_chat"):
                self.assertIn(name, known)


class TestReload(ChatCase):
    """A reload, or a restart as far as it can be had here: the views are there, the package comes anew."""

    def reload(self, says_farewell: bool = True) -> Steps:
        self.adapter.chats.close_all()
        self.chats.calls.clear()
        if not says_farewell:
            views().hand_over()
            views().restore(self.window)
        yield 1

    def back(self) -> None:
        self.adapter.chats.adopt_visible()
        self.chat = self.adapter.chats.of(self.window)
        self.show(self.message("Hello"), replaces_all=True)

    def test_a_visible_chat_goes_on_with_its_session_and_its_prompt(self) -> Steps:
        self.show(self.message("Hello"))
        self.type("mine\nand more")
        self.chat.take_back(self.prompts.Draft("", (self.prompts.Excerpt("u", "x:1", "x"),), ("/p.png",)))
        yield from self.reload()
        self.assertEqual(self.screen.phantoms(self.view, "qwen_companion.chat_bar"), [])
        self.assertIn("Hello", text_of(self.view))
        self.back()
        yield from self.told("open")
        self.assertEqual(self.chats.of("open"), [(self.chat.id, self.window.id(), str(self.folder), "session-1", "")])
        self.assertEqual((self.shown, self.prompt), (self.transcript.text, "mine\nand more"))
        self.assertEqual(self.chat.attached, ["x:1", "/p.png"])
        self.assertFalse(self.view.is_read_only())

    def test_an_instance_that_has_ended_takes_up_no_chat(self) -> Steps:
        """It may still be about to open one."""
        self.view.close()
        yield lambda: self.adapter.chats.of(self.window) is None
        opened: list[object] = []
        loaded("sublime_text.chat.opening").have_chat(self.window, lambda _, chat: opened.append(chat))
        with patch.object(loaded("sublime_text.package"), "_adapter", None):
            yield from self.reload()
            view = self.window.new_file()
            views().take(view, "chat", folder=str(self.folder))
            yield 100
        self.assertEqual((opened, self.adapter.chats.of(self.window)), ([], None))

    def test_a_panel_of_an_instance_that_has_ended_opens_no_chat(self) -> Steps:
        self.window.run_command("qwen_companion_chat_with")
        yield lambda: self.screen.panels
        before = self.window.views()
        with patch.object(loaded("sublime_text.package"), "_adapter", None):
            yield from self.reload()
            self.screen.pick("Qwen Code, by its daemon")
            yield 100
        self.assertEqual(self.window.views(), before)

    def test_a_hidden_one_does_when_it_is_looked_at(self) -> Steps:
        self.window.focus_view(self.code)
        yield from self.reload()
        self.adapter.chats.adopt_visible()
        self.assertIsNone(self.adapter.chats.of(self.window))
        self.window.focus_view(self.view)
        yield from self.told("open")

    def test_without_a_word_of_farewell_the_prompt_is_what_it_was(self) -> Steps:
        """As when the editor is started again; with signs in it, typed, pasted or recalled, while an answer grows."""
        for at, text in enumerate(("mine", f"mine{MARK}and{MARK}", "❯ mine")):
            self.show(self.message("Hello"))
            self.chat.text.write(text) if at % 2 else self.type(text)
            yield from self.settled()
            self.show(self.message(f"Hello{MARK}world"))
            yield from self.reload(says_farewell=False)
            self.back()
            self.assertEqual((self.shown, self.prompt), (self.transcript.text, text))
            self.chat.text.write("")

    def test_it_stays_as_it_is_while_the_chat_is_off(self) -> Steps:
        self.show(self.message("Hello"))
        before = text_of(self.view)
        yield from self.reload()
        self.set_setting("chat_enabled", False)
        self.adapter.chats.adopt_visible()
        self.assertIsNone(self.adapter.chats.of(self.window))
        self.assertEqual(text_of(self.view), before)

    def test_what_was_sent_can_be_recalled_afterwards(self) -> Steps:
        self.type("one")
        self.press("enter")
        yield from self.reload()
        self.back()
        self.press("up")
        self.assertEqual(self.prompt, "one")

    def test_a_draft_and_an_edit_behind_a_recalled_prompt_are_there_afterwards(self) -> Steps:
        self.recall_and_edit()
        yield from self.reload()
        self.back()
        self.assertEqual(self.prompt, "one")
        self.press("down")
        self.assertEqual(self.prompt, "two edited")
        self.press("down")
        self.assertEqual(self.prompt, "draft")

    def test_a_new_conversation_stays_the_one_that_is_shown(self) -> Steps:
        """Not the one before it."""
        self.show(self.message("Hello"))
        self.show(replaces_all=True, session="")
        self.assertEqual(self.chat.session, "")
        yield from self.reload()
        self.adapter.chats.adopt_visible()
        yield from self.told("open")
        self.assertEqual(self.chats.of("open"), [(self.chat.id, self.window.id(), str(self.folder), "", "")])
