"""What goes with a prompt by itself, pictures from the clipboard, and notifications."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase, Steps, loaded
from .companion_case import at_once, text_of


class TestContext(ChatCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.set_setting("chat_context", True)
        yield lambda: self.adapter.settings.value("chat_context")
        self.code = yield from self.active("app.py", "one\ntwo\nthree\n")

    def active(self, name: str, text: str) -> Steps:
        """Make a file the active one, then go back to the chat."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        view = self.window.open_file(str(path))
        # A file that is open already is read again a moment later.
        yield lambda: not view.is_loading() and text_of(view) == text
        self.window.focus_view(view)
        yield lambda: self.adapter.focus.last_code(self.window) == view
        self.window.focus_view(self.view)
        self.adapter.chats.context.look(self.window)
        return view

    def select_text(self, first: int, end: int) -> None:
        self.code.sel().clear()
        self.code.sel().add(sublime.Region(first, end))

    def sent(self, prompt: str = "Explain it") -> Any:
        """Send a prompt. Returns its excerpts."""
        self.chat.text.write(prompt)
        self.window.run_command("qwen_companion_chat_send")
        yield lambda: len(self.chats.of("send")) > self.before
        self.before = len(self.chats.of("send"))
        return self.chats.of("send")[-1][1].excerpts

    before = 0

    def bar(self) -> str:
        return " ".join(self.screen.phantoms(self.view, "qwen_companion.chat_bar"))

    def test_the_active_file_goes_by_its_name(self) -> Steps:
        self.assertIn("app.py (active)", self.bar())
        [excerpt] = yield from self.sent()
        self.assertEqual((excerpt.name, excerpt.uri), ("app.py", (self.folder / "app.py").as_uri()))
        self.assertNotIn("one", excerpt.text)

    def test_what_is_selected_goes_with_its_lines(self) -> Steps:
        self.window.focus_view(self.code)
        yield from self.settled()
        self.select_text(4, 13)
        yield lambda: self.chat.context and self.chat.context.name == "app.py:2-3"
        self.assertIn("app.py:2-3 (active)", self.bar())
        [excerpt] = yield from self.sent()
        self.assertEqual((excerpt.name, excerpt.text), ("app.py:2-3", "two\nthree"))

    def test_a_tab_without_a_file_is_excluded_by_its_name(self) -> Steps:
        view = self.window.new_file()
        view.set_scratch(True)
        view.run_command("insert", {"characters": "KEY"})
        view.run_command("select_all")
        yield lambda: self.adapter.focus.last_code(self.window) == view
        self.adapter.chats.context.look(self.window)
        yield lambda: self.chat.context and self.chat.context.text == "KEY"
        view.set_name("new.pem")
        self.adapter.chats.context.look(self.window)
        yield lambda: self.chat.context is None

    def test_a_disk_that_hangs_does_not_hold_up_the_editor_and_nothing_of_it_goes(self) -> Steps:
        self.assertTrue(self.chat.context)
        answers, resolve = threading.Event(), os.path.realpath

        def hanging(path: Any, *args: Any, **options: Any) -> Any:
            if str(path) == str(self.folder / "app.py"):
                answers.wait(600)
            return resolve(path, *args, **options)

        try:
            with patch("os.path.realpath", hanging):
                self.adapter.chats.context.look(self.window)
                self.assertIsNone(self.chat.context)
                self.assertIn(
                    "disk does not answer", self.adapter.refusal(self.window, [str(self.folder / "app.py")]) or ""
                )
                answers.set()
                yield self.looked
        finally:
            answers.set()

    def looked(self) -> bool:
        self.adapter.chats.context.look(self.window)
        return self.chat.context is not None

    def test_one_key_leaves_it_out_until_another_file_is_active(self) -> Steps:
        self.chat.text.to_prompt()
        self.view.run_command("left_delete")
        self.assertNotIn("app.py", self.bar())
        self.assertEqual((yield from self.sent()), ())
        self.select_text(0, 3)
        self.adapter.chats.context.look(self.window)
        self.assertEqual((yield from self.sent()), ())
        self.code = yield from self.active("other.py", "x\n")
        self.assertIn("other.py (active)", self.bar())
        self.assertEqual([each.name for each in (yield from self.sent())], ["other.py"])

    def test_a_link_and_a_command_leave_it_out(self) -> Steps:
        [link] = [item for item in self.adapter.chats.clicks.links(self.chat) if item.caption == "leave out"]
        self.adapter.chats.clicks.do(self.chat, link.href)
        self.assertIsNone(self.chat.context)
        self.code = yield from self.active("other.py", "x\n")
        self.window.run_command("qwen_companion_chat_leave_out")
        yield lambda: self.chat.context is None

    def test_a_setting_turns_it_off(self) -> Steps:
        self.set_setting("chat_context", False)
        yield lambda: not self.adapter.settings.value("chat_context")
        self.adapter.chats.context.look(self.window)
        self.assertNotIn("app.py", self.bar())
        self.assertEqual((yield from self.sent()), ())

    def test_an_excluded_file_never_goes(self) -> Steps:
        for name in (".env", "secrets/plan.md"):
            self.code = yield from self.active(name, "TOKEN=1\n")
            self.select_text(0, 7)
            self.adapter.chats.context.look(self.window)
            self.assertNotIn("(active)", self.bar())
            self.assertEqual((yield from self.sent()), ())

    def test_nothing_goes_with_a_command_or_into_a_running_turn(self) -> Steps:
        self.assertEqual((yield from self.sent("/compress")), ())
        self.show(self.message("Hello"), running="turn")
        self.chat.text.write("And this")
        self.window.run_command("qwen_companion_chat_send", {"mid_turn": True})
        yield lambda: len(self.chats.of("send")) > self.before
        self.assertEqual(self.chats.of("send")[-1][1].excerpts, ())

    def test_a_prompt_that_comes_back_brings_no_second_copy_of_it(self) -> Steps:
        [excerpt] = yield from self.sent()
        draft = self.prompts.Draft("Explain it", (excerpt, self.prompts.Excerpt("file:///b", "b.py", "b")))
        at_once(self.adapter.chats.return_draft, self.chat.id, draft, "Why.")
        self.assertEqual([each.name for each in self.chat.excerpts], ["b.py"])
        self.assertEqual([each.name for each in (yield from self.sent("Again"))], ["b.py", "app.py"])

    def test_a_long_selection_is_cut(self) -> Steps:
        context = loaded("sublime_text.chat.prompt")
        self.code.run_command("append", {"characters": "x" * (context.MOST_SELECTED + 10)})
        self.select_text(0, self.code.size())
        self.adapter.chats.context.look(self.window)
        read: list[int] = []
        substr = sublime.View.substr

        def watched(view: sublime.View, where: sublime.Region | int) -> str:
            read.append(where.size() if isinstance(where, sublime.Region) and view == self.code else 0)
            return substr(view, where)

        with patch.object(sublime.View, "substr", watched):
            self.adapter.chats.context.look(self.window)
        self.assertLessEqual(max(read), context.MOST_SELECTED + 1, "a long one would hold the editor up")
        [excerpt] = yield from self.sent()
        self.assertTrue(excerpt.text.endswith("x\n(The rest of the selection is left out.)"))
        self.assertLess(len(excerpt.text), context.MOST_SELECTED + 100)


class TestClipboard(ChatCase):
    def test_a_picture_in_the_clipboard_is_attached(self) -> Steps:
        """A program that can't be run keeps nobody from the next one."""
        clipboard = loaded("sublime_text.chat.prompt")
        # One of the system: a script that was just written may be held open by what another thread is starting.
        printf = shutil.which("printf")
        if printf is None:
            self.skipTest("nothing here can stand for the program")
        with TemporaryDirectory() as folder:
            broken = Path(folder, "wl-paste")
            broken.write_bytes(b"no program")
            programs = {"wl-paste": str(broken), "xclip": printf}
            words = [["wl-paste"], ["xclip", "a picture"]]
            sublime.set_clipboard("")
            with (
                patch.object(clipboard, "picture_commands", lambda *_: words),
                patch.object(clipboard.programs, "find", lambda name, _: programs.get(name)),
                patch.object(sublime, "platform", lambda: "linux"),
            ):
                self.put_caret(-1)
                self.view.run_command("paste")
                yield {"condition": lambda: self.chat.pictures, "timeout": 60_000}
        [path] = self.chat.pictures
        self.assertEqual(Path(path).read_bytes(), b"a picture")
        if os.name == "posix":
            self.assertEqual(os.stat(path).st_mode & 0o077, 0)

    def test_without_a_program_it_is_said_that_there_is_none(self) -> Steps:
        clipboard = loaded("sublime_text.chat.prompt")
        sublime.set_clipboard("no picture")
        with patch.object(clipboard.programs, "find", lambda _, __: None):
            self.window.run_command("qwen_companion_chat_picture", {"clipboard": True})
            yield {"condition": lambda: self.screen.said("no picture"), "timeout": 60_000}
        self.assertEqual(self.chat.pictures, [])

    def test_the_path_of_a_picture_is_enough(self) -> Steps:
        path = self.folder / "a b.png"
        path.write_bytes(b"p")
        sublime.set_clipboard(f'"{path}"\n')
        self.window.run_command("qwen_companion_chat_picture")
        self.screen.pick("From the Clipboard")
        yield lambda: self.chat.pictures == [str(path)]

    def test_a_text_is_pasted_as_ever(self) -> None:
        sublime.set_clipboard("some text")
        self.put_caret(-1)
        self.view.run_command("paste")
        self.assertEqual(self.prompt, "some text")


class TestNotifications(ChatCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.notices: list[str] = []
        notify = patch.object(loaded("sublime_text.chat.chats"), "notify", self.notices.append)
        notify.start()
        self.addCleanup(notify.stop)
        clock = patch.object(loaded("sublime_text.chat.view"), "monotonic", lambda: self.now)
        clock.start()
        self.addCleanup(clock.stop)

    def turn(self, seconds: float) -> None:
        self.show(self.message("Hello"), running="turn")
        self.now += seconds
        self.show(self.message("Hello"), state="done", last="done")

    def test_a_long_turn_that_nobody_sees_ends_with_a_notification_and_a_mark(self) -> Steps:
        self.window.focus_view(self.code)
        yield lambda: not loaded("sublime_text.windows").is_visible(self.view)
        self.turn(19)
        self.assertEqual(self.notices, [])
        self.turn(21)
        self.assertEqual(self.notices, ["Qwen Code is done in the chat."])
        self.assertTrue(self.view.name().startswith("• "))
        self.assertIn("Qwen Code is done in the chat.", " ".join(self.screen.messages))
        self.window.focus_view(self.view)
        yield lambda: not self.view.name().startswith("• ")

    def test_one_that_ends_while_another_program_has_the_focus_is_told(self) -> Steps:
        self.window.focus_view(self.view)
        yield from self.settled()
        self.turn(21)
        self.assertEqual(self.notices, [])
        self.listener().on_deactivated(self.view)
        self.turn(21)
        self.assertEqual(self.notices, ["Qwen Code is done in the chat."])
        self.listener().on_activated(self.view)

    def test_a_question_in_a_chat_that_nobody_sees_is_told_without_what_it_is_about(self) -> Steps:
        self.window.focus_view(self.code)
        yield lambda: not loaded("sublime_text.windows").is_visible(self.view)
        self.ask("allow_once", "reject_once")
        self.assertEqual(self.notices, ["Qwen Code asks in the chat."])
        self.assertTrue(self.view.name().startswith("? "))

    def test_a_setting_turns_it_off(self) -> Steps:
        self.set_setting("chat_notifications", False)
        yield lambda: not self.adapter.settings.value("chat_notifications")
        self.window.focus_view(self.code)
        yield lambda: not loaded("sublime_text.windows").is_visible(self.view)
        self.turn(21)
        self.assertEqual(self.notices, [])


class TestPrograms(ChatCase):
    """The systems' programs, without running them."""

    def test_texts_are_never_a_part_of_code(self) -> None:
        module = loaded("sublime_text.messenger")
        text = 'x" & (do shell script "rm") & $(rm) `rm`'
        for system in ("linux", "osx", "windows"):
            words, variables = module.notification(system, text)
            with_text = [word for word in words if text in word] + list(variables.values())
            self.assertTrue(all(word in (text, module.TITLE) for word in with_text))

    def test_a_program_that_is_missing_fails_or_hangs_disturbs_nobody(self) -> Steps:
        module = loaded("sublime_text.messenger")
        with TemporaryDirectory() as folder:
            program = Path(folder, "notify-send")
            program.write_text("#!/bin/sh\nexit 3\n", "utf-8")
            program.chmod(0o755)
            for found in (None, str(program), str(Path(folder, "none"))):
                with patch.object(module.programs, "find", lambda _, __, found=found: found):
                    thread = module.notify("Hello")
                    yield lambda thread=thread: not thread.is_alive()
