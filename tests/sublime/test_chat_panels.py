"""Models, modes, sessions and the daemon's page ("Models, modes, sessions" and "Locality")."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase, Recorder, Steps, loaded
from .companion_case import CompanionCase, text_of
from .own import tabs


class TestSwitching(ChatCase):
    def test_the_models_and_that_one_becomes_the_default(self) -> Steps:
        choice = self.view_values.Choice
        self.show(model="b", models=(choice("a", "Ay", "small"), choice("b", "Bee", "large")))
        shown: list[dict[str, Any]] = []
        show = lambda _, items, picked, **named: shown.append({"items": items, "picked": picked, **named})  # noqa: E731
        with patch.object(sublime.Window, "show_quick_panel", show):
            self.window.run_command("qwen_companion_chat_model")
        [panel] = shown
        items = [(item.trigger, item.details, item.annotation) for item in panel["items"]]
        self.assertEqual(items, [("Ay", "small", ""), ("Bee", "large", "current")])
        self.assertEqual(panel["selected_index"], 1)
        self.assertIn("default", panel["placeholder"])
        panel["picked"](0)
        yield from self.told("switch")
        self.assertEqual(self.chats.of("switch"), [(self.chat.id, "model", "a")])

    def test_the_modes(self) -> Steps:
        choice = self.view_values.Choice
        self.show(mode="plan", modes=(choice("plan", "Plan", "Reads only"), choice("yolo", "YOLO", "Asks nothing")))
        self.window.run_command("qwen_companion_chat_mode")
        self.screen.pick("YOLO")
        yield from self.told("switch")
        self.assertEqual(self.chats.of("switch"), [(self.chat.id, "mode", "yolo")])


class TestOptions(ChatCase):
    """What an agent lets one set besides."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        values = self.view_values
        style = values.SessionOption("style", "Style", "a", "How it writes", (values.Choice("a", "Short"),))
        self.options = values.SessionOption("fast", "Fast Mode", True), style

    def test_a_switch_is_turned_over(self) -> Steps:
        self.show(options=self.options)
        self.window.run_command("qwen_companion_chat_options")
        shown = [(item.trigger, item.details, item.annotation) for item in self.screen.panels[-1][0]]
        self.assertEqual(shown, [("Fast Mode", "", "on"), ("Style", "How it writes", "Short")])
        self.screen.pick("Fast Mode")
        yield from self.told("set_option")
        self.assertEqual(self.chats.of("set_option"), [(self.chat.id, "fast", False)])

    def test_the_value_of_another_option_is_asked(self) -> Steps:
        self.show(options=self.options)
        self.window.run_command("qwen_companion_chat_options")
        self.screen.pick("Style")
        yield lambda: len(self.screen.panels) == 2
        self.assertEqual([item.annotation for item in self.screen.panels[-1][0]], ["current"])
        self.screen.pick("Short")
        yield from self.told("set_option")
        self.assertEqual(self.chats.of("set_option"), [(self.chat.id, "style", "a")])

    def test_the_bar_has_what_is_turned_on_and_without_options_there_is_no_command(self) -> None:
        command = loaded("sublime_text.chat.pickers").QwenCompanionChatOptionsCommand(self.window)
        self.assertFalse(command.is_enabled())
        render = self.show(options=self.options, model="m")
        self.assertTrue(command.is_enabled())
        self.assertEqual(loaded("sublime_text.chat.html").facts(render), ["m", "Fast Mode"])


class TestStop(ChatCase):
    """What the editor runs for an agent has a button below its tool call."""

    def test_the_button_stops_it_and_goes_with_it(self) -> Steps:
        tool = self.view_values.Tool("t", "", "npm test", "execute", "in_progress", terminals=("terminal-1",))
        self.show(tool)
        [shown] = self.screen.phantoms(self.chat.view, "qwen_companion.chat_running")
        self.assertIn("■ Stop", shown)
        self.screen.click(self.chat.view, "stop_terminals:terminal-1")
        yield from self.told("tasks.stop_terminals")
        self.assertEqual(self.chats.of("tasks.stop_terminals"), [(self.chat.id, ["terminal-1"])])
        self.assertEqual([item.caption for item in self.adapter.chats.clicks.links(self.chat)].count("■ Stop"), 1)
        self.show(self.view_values.Tool("t", "", "npm test", "execute", "completed"))
        self.assertEqual(self.screen.phantoms(self.chat.view, "qwen_companion.chat_running"), [])


class TestDaemonPage(ChatCase):
    def page(self) -> sublime.View:
        [page] = tabs(self.window, "daemon")
        return page

    def test_it_tells_where_all_of_it_runs(self) -> Steps:
        self.chats.answers["locality"] = "Qwen Code 0.24.4\non this computer\n"
        self.window.run_command("qwen_companion_daemon")
        yield lambda: text_of(self.page()) == "Qwen Code 0.24.4\non this computer\n"
        self.assertTrue(self.page().is_read_only())
        self.assertTrue(self.page().is_scratch())

    def test_it_tells_why_there_is_none(self) -> Steps:
        self.chats.answers["locality"] = loaded("backends.daemon.errors").TemporaryError(
            "No daemon answers at http://x."
        )
        self.window.run_command("qwen_companion_daemon")
        yield lambda: "No daemon answers" in text_of(self.page())


class TestWithoutChat(CompanionCase):
    """Sessions, the page on the daemon and a new chat need no open chat."""

    def test_the_chat_opens_first(self) -> Steps:
        self.set_setting("chat_enabled", True)
        adapter = loaded("sublime_text.package").adapter()
        for command, expected in (
            ("qwen_companion_chat_sessions", "sessions.page"),
            ("qwen_companion_daemon", "locality"),
            ("qwen_companion_chat_new", "show"),
        ):
            recorder = Recorder()
            recorder.answers.update({"sessions.page": loaded("backends.agent").SessionPage(), "locality": "Here."})
            own: list[object] = []

            def swap(companion: object, recorder: Recorder = recorder, own: list[object] = own) -> None:
                own.append(companion.chats)  # pyright: ignore[reportAttributeAccessIssue]
                companion.chats = recorder  # pyright: ignore[reportAttributeAccessIssue]

            adapter.thread.post(swap)
            yield lambda own=own: own
            self.window.run_command(command)
            yield {"condition": lambda r=recorder, name=expected: r.of("open") and r.of(name), "timeout": 60_000}
            adapter.chats.of(self.window).view.close()
            yield lambda: adapter.chats.of(self.window) is None
            adapter.thread.post(lambda companion, own=own: setattr(companion, "chats", own[0]))


class TestAddFromMenus(ChatCase):
    """Add to Chat on several files and folders of the side bar."""

    def test_files_and_folders_are_mentioned_and_those_elsewhere_are_said_not_to_be(self) -> Steps:
        (self.folder / "my lib").mkdir()
        paths = [str(self.file), str(self.folder / "my lib"), str(self.folder.parent)]
        self.window.run_command("qwen_companion_chat_add", {"paths": paths})
        yield lambda: self.prompt == "@app.py @my\\ lib "
        self.assertTrue(self.screen.said(f"{self.folder.parent.name} is not in the folder of the chat"))

    def test_excluded_files_and_folders_are_left_out_with_one_sentence(self) -> Steps:
        for name in ("secrets", "lib"):
            (self.folder / name).mkdir()
        (self.folder / ".env").touch()
        paths = [str(self.folder / name) for name in (".env", "lib", "secrets", "app.py")]
        self.window.run_command("qwen_companion_chat_add", {"paths": paths})
        yield lambda: self.prompt == "@lib @app.py "
        self.assertTrue(self.screen.said(".env stays here: the setting “context_exclude” excludes it."))

    def test_the_file_of_a_tab_is_mentioned(self) -> None:
        group, index = self.window.get_view_index(self.code)
        self.window.run_command("qwen_companion_chat_add", {"group": group, "index": index})
        self.assertEqual(self.prompt, "@app.py ")


class TestFolder(ChatCase):
    """Change Chat Folder, and the folder in the bar when there are several."""

    BAR = "qwen_companion.chat_bar"

    def test_a_window_of_one_folder_needs_neither(self) -> None:
        self.show(self.message("Hello"))
        self.assertNotIn(self.folder.name, self.screen.phantoms(self.view, self.BAR)[0])
        command = loaded("sublime_text.chat.chat_commands").QwenCompanionChatFolderCommand(self.window)
        self.assertFalse(command.is_enabled())

    def test_the_chat_moves_to_the_folder_that_is_picked(self) -> Steps:
        other = self.folder / "other project"
        other.mkdir()
        self.window.set_project_data({"folders": [{"path": str(self.folder)}, {"path": str(other)}]})
        yield lambda: len(self.window.folders()) == 2
        self.show(self.message("Hello"))
        self.assertIn(self.folder.name, self.screen.phantoms(self.view, self.BAR)[0])
        before = len(self.chats.of("open"))
        self.window.run_command("qwen_companion_chat_folder")
        self.assertEqual(self.screen.selected[-1], 0)
        self.screen.pick("other project")
        yield lambda: len(self.chats.of("open")) > before
        self.assertEqual(self.chats.of("open")[-1], (self.chat.id, self.window.id(), str(other), "", ""))
        self.assertEqual(self.chat.folder, str(other))
        self.show(self.message("Hello"))
        self.assertIn("other project", self.screen.phantoms(self.view, self.BAR)[0])
