"""The menus of the side bar, of tabs and of texts."""

from __future__ import annotations

import importlib
import os
import threading
import traceback
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import Steps, loaded
from .terminal_case import EMPTY_PROMPT, TerminalCase

MENUS = ["Main", "Context", "Side Bar", "Tab Context"]


def entries(menu: list[Any]) -> list[dict[str, Any]]:
    """The entries of a menu with a command, submenus included."""
    return [e for item in menu for e in [item, *entries(item.get("children", []))] if "command" in e]


class TestMenus(TerminalCase):
    """What a menu shows, and what its commands do with what the editor gives them."""

    def command(self, name: str) -> Any:
        """A command of the window, to ask whether a menu shows it."""
        module = "chat.pickers" if name.startswith("Chat") else "terminal.terminal_commands"
        return getattr(loaded(f"sublime_text.{module}"), f"QwenCompanion{name}Command")(self.window)

    def run_command(self, name: str, **args: Any) -> None:
        """Run a command as a menu does."""
        self.window.run_command(f"qwen_companion_{name}", args)

    def texts(self) -> list[str]:
        return [args["string"].replace("\\", "") for args in self.terminus.sent]

    def test_every_entry_has_a_command_that_is_there(self) -> None:
        plugin = importlib.import_module(f"{(__package__ or '').partition('.')[0]}.plugin")
        names = {_name(cls) for cls in vars(plugin) if cls.endswith("Command")}
        for menu in MENUS:
            tree: Any = sublime.decode_value(sublime.load_resource(f"Packages/QwenCompanion/{menu}.sublime-menu"))
            found = entries(tree)
            self.assertTrue(found, menu)
            own = {entry["command"] for entry in found} - {"edit_settings", "open_file"}
            self.assertLessEqual(own, names, menu)

    def test_the_side_bar_sends_several_files_and_folders(self) -> Steps:
        (self.folder / "lib").mkdir()
        yield from self.run_cli(shows=EMPTY_PROMPT)
        self.run_command("send", paths=[str(self.file), str(self.folder / "lib")])
        self.run_command("send", files=[str(self.file)], dirs=[str(self.folder / "lib")])
        yield lambda: self.texts() == ["@app.py @lib "] * 2

    def test_a_tab_that_is_not_the_active_one_is_sent(self) -> Steps:
        yield from self.open_view("other.py")
        yield from self.run_cli(shows=EMPTY_PROMPT)
        group, index = self.window.get_view_index(self.view)
        self.run_command("send", group=group, index=index)
        yield lambda: self.texts() == ["@app.py "]
        self.run_command("send", group=0, index=99)
        self.assertTrue(self.screen.said("This tab has no file yet"))

    def test_a_cli_runs_in_the_folder_of_the_side_bar(self) -> Steps:
        inner = self.folder / "lib"
        inner.mkdir()
        yield from self.run_cli(paths=[str(inner)])
        self.assertEqual(self.args["cwd"], str(inner))
        (inner / "x.py").write_text("x\n")
        yield from self.run_cli("gemini", paths=[str(inner / "x.py")])
        self.assertEqual(self.args["cwd"], str(inner))

    def test_a_folder_outside_of_the_window_is_refused(self) -> Steps:
        self.run_command("run", cli="qwen", paths=[str(self.folder.parent)])
        yield lambda: self.screen.said("is in no folder of this window")
        self.assertEqual(self.terminus.opened, [])

    def test_a_file_that_has_gone_is_reported_in_one_sentence(self) -> Steps:
        yield from self.run_cli()
        gone = str(self.folder / "gone.py")
        for name, args in (("send", {}), ("chat_add", {}), ("run", {"cli": "qwen"})):
            self.screen.messages.clear()
            self.run_command(name, paths=[gone], **args)
            yield lambda: self.screen.said(f"{gone} no longer exists.")
        self.assertEqual((self.texts(), len(self.terminus.opened)), ([], 1))

    def test_the_editor_does_not_wait_for_the_disk_of_what_a_menu_was_opened_on(self) -> Steps:
        """It may be a drive that hangs."""
        yield from self.run_cli(shows=EMPTY_PROMPT)
        there = self.folder / "on a drive"
        there.mkdir()
        on_the_ui_thread: list[str] = []
        stat = os.stat

        def looked(path: Any, *args: Any, **options: Any) -> os.stat_result:
            if path == str(there) and threading.current_thread() is ui_thread:
                on_the_ui_thread.append("".join(traceback.format_stack(limit=8)))
            return stat(path, *args, **options)

        ui_thread = threading.current_thread()
        with patch.object(os, "stat", looked):
            self.run_command("send", paths=[str(there)])
            yield self.texts
            self.run_command("run", cli="gemini", paths=[str(there)])
            yield lambda: len(self.terminus.opened) == 2
        self.assertEqual(on_the_ui_thread, [])

    def test_a_file_is_sent_without_a_companion(self) -> Steps:
        """The libraries may be missing: nobody but the terminal is needed."""
        yield from self.run_cli(shows=EMPTY_PROMPT)
        with patch.object(loaded("sublime_text.package").adapter().thread, "post", lambda *_: None):
            self.run_command("send", paths=[str(self.file)])
            yield self.texts
        self.assertEqual(self.texts(), ["@app.py "])

    def test_menus_hide_what_cannot_work(self) -> Steps:
        send, run, add = map(self.command, ("Send", "Run", "ChatAdd"))
        paths = [str(self.file)]
        self.assertTrue(send.is_visible())
        self.assertTrue(send.is_visible(paths=paths))
        self.assertFalse(send.is_visible(what="selection"))
        self.view.sel().add(sublime.Region(0, 3))
        self.assertTrue(send.is_visible(what="selection"))
        self.assertTrue(run.is_visible(cli="qwen", paths=paths))
        self.assertFalse(run.is_visible(cli="qwen", paths=[*paths, str(self.folder)]))
        self.assertFalse(run.is_visible(cli="qwen", files=paths, dirs=[str(self.folder)]))
        self.assertFalse(add.is_visible(paths=paths), "the chat is off")
        self.set_setting("chat_enabled", True)
        self.assertTrue(add.is_visible(paths=paths))
        self.assertTrue(add.is_visible(group=0, index=self.window.get_view_index(self.view)[1]))
        untitled = self.window.new_file()
        untitled.set_scratch(True)
        self.assertTrue(add.is_visible(files=paths))
        self.assertFalse(add.is_visible(files=[]))
        self.assertFalse(send.is_visible(group=0, index=self.window.get_view_index(untitled)[1]))
        self.terminus.is_there = False
        for command, args in ((send, {"paths": paths}), (send, {}), (run, {"cli": "qwen", "paths": paths})):
            self.assertFalse(command.is_visible(**args))
        self.assertTrue(run.is_visible(cli="qwen"), "it offers to install Terminus")
        yield 0


def _name(cls: str) -> str:
    words = "".join(f"_{char.lower()}" if char.isupper() else char for char in cls.removesuffix("Command"))
    return words.strip("_")
