"""A disk that hangs never holds up the editor, whatever a person asks of a chat: the editor's thread looks at none."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase, Steps, loaded


class TestHangingDisk(ChatCase):
    """A folder whose disk doesn't answer until a test lets it."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.slow = self.folder / "slow"
        self.slow.mkdir()
        self.picture = self.slow / "a.png"
        self.picture.write_bytes(b"p")
        self.looks: list[bool] = []
        """For each look at that folder, whether it was the editor's thread that looked."""
        self.answers = threading.Event()
        self.addCleanup(self.answers.set)
        editor, stat = threading.current_thread(), os.stat

        def hanging(path: Any, *args: Any, **options: Any) -> os.stat_result:
            if not self.answers.is_set() and isinstance(path, str) and Path(path).is_relative_to(self.slow):
                self.looks.append(threading.current_thread() is editor)
                if not self.looks[-1]:
                    self.answers.wait(600)
            return stat(path, *args, **options)

        patcher = patch("os.stat", hanging)
        patcher.start()
        self.addCleanup(patcher.stop)

    def looked(self) -> Steps:
        """Wait until the disk is looked at, and have it answer."""
        yield lambda: self.looks
        self.assertNotIn(True, self.looks)
        self.answers.set()

    def test_a_link_is_opened_once_its_file_is_found(self) -> Steps:
        (self.slow / "app.py").write_text("one\ntwo\n")
        self.show(self.message("See `slow/app.py:2` for it"), state="done")
        yield from self.enter_at(self.chat.render.links[0].start + 1)
        yield from self.looked()
        yield lambda: (self.window.active_view() or self.view).file_name() == str(self.slow / "app.py")

    def test_what_would_hang_the_editor_or_fill_its_memory_is_not_opened(self) -> Steps:
        """A pipe has no end until somebody writes it, and a file of 600 MB takes as much memory."""
        if sublime.platform() == "windows":
            self.skipTest("Windows has no pipes in folders")
        self.answers.set()
        assert sys.platform != "win32"
        os.mkfifo(self.slow / "pipe.py")
        with (self.slow / "large.py").open("wb") as large:
            large.truncate(600 << 20)
        (self.slow / "zero.py").symlink_to("/dev/zero")
        opened: list[str] = []
        window_type = type(self.window)
        with patch.object(window_type, "open_file", lambda _, path, *more: opened.append(path)):
            for name, why in (("pipe", "is no file"), ("large", "is larger than 64 MB"), ("zero", "is no file")):
                path = str(self.slow / f"{name}.py")
                loaded("sublime_text.places").open_place(self.adapter, self.window, path, 1)
                yield lambda path=path, why=why: self.screen.said(path) and self.screen.said(why)
        self.assertEqual(opened, [])

    def test_a_picture_whose_path_is_in_the_clipboard_is_attached_once_it_is_found(self) -> Steps:
        sublime.set_clipboard(str(self.picture))
        self.window.run_command("qwen_companion_chat_picture", {"clipboard": True})
        yield from self.looked()
        yield lambda: self.chat.pictures == [str(self.picture)]

    def test_which_picture_is_meant_is_asked_without_a_look_at_its_file(self) -> Steps:
        sublime.set_clipboard(str(self.picture))
        self.window.run_command("qwen_companion_chat_picture")
        yield lambda: self.screen.panels
        self.assertNotIn(True, self.looks)
        self.screen.pick("From the Clipboard")
        yield from self.looked()
        yield lambda: self.chat.pictures == [str(self.picture)]

    def test_a_file_of_the_side_bar_is_mentioned_once_it_is_found(self) -> Steps:
        self.window.run_command("qwen_companion_chat_add", {"paths": [str(self.picture)]})
        yield from self.looked()
        yield lambda: "@slow/a.png" in self.prompt


class TestOtherThreads(ChatCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.threads: list[threading.Thread] = []
        """What has called `noted`."""

    def noted(self, call: Any) -> Any:
        """The same function, which notes the thread that calls it."""

        def note(*args: Any) -> Any:
            self.threads.append(threading.current_thread())
            return call(*args)

        return note

    def called_elsewhere(self) -> Steps:
        yield lambda: self.threads
        self.assertNotIn(threading.current_thread(), self.threads)

    def test_what_an_agent_has_written_into_an_open_file_is_looked_at_on_another_thread(self) -> Steps:
        files, stamps = loaded("sublime_text.buffers"), []
        with patch.object(files, "stamp", self.noted(files.stamp)):
            for path in (str(self.file), str(self.folder / "none.py")):
                self.adapter.ask_later(
                    self.window, lambda _, path=path: self.adapter.files.replace_buffer(path, "two\n"), stamps.append
                )
            yield lambda: len(stamps) == 2
        yield from self.called_elsewhere()
        self.assertCountEqual(stamps, [loaded("review.disk").stamp(str(self.file)), None])
        self.assertEqual(self.file.read_text(), "two\n")

    def test_a_page_is_opened_on_another_thread(self) -> Steps:
        """Some browsers are waited for, and to find out which one is the person's takes a program."""
        opened: list[str] = []
        self.show(self.message("See https://a.example/x."), state="done")
        self.put_caret(self.shown.index("https") + 1)
        yield from self.settled()
        with (
            patch.object(sublime, "ok_cancel_dialog", lambda *_: True),
            patch.object(loaded("platforms.programs"), "open_page", self.noted(lambda page, _: opened.append(page))),
        ):
            self.press("enter")
            yield lambda: opened
        yield from self.called_elsewhere()
        self.assertEqual(opened, ["https://a.example/x"])
