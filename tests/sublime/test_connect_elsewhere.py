"""The command that connects a CLI over SSH, in a container or in WSL."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, loaded, text_of

PANEL = "QwenCompanion Elsewhere"


class TestConnectElsewhere(CompanionCase):
    """qwen_companion_connect_elsewhere."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.set_limit("sublime_text.terminal.terminal_commands", "ELSEWHERE_STEP", 50)
        self.asked: list[tuple[str, str, Any]] = []

        def show(_: sublime.Window, caption: str, before: str, done: Any, *__: object) -> None:
            self.asked.append((caption, before, done))

        patcher = patch.object(sublime.Window, "show_input_panel", show)
        patcher.start()
        self.addCleanup(patcher.stop)

    def connect_elsewhere(self, **args: Any) -> None:
        self.window.run_command("qwen_companion_connect_elsewhere", args)

    def shown(self) -> str:
        panel = self.window.find_output_panel(PANEL)
        return text_of(panel) if panel else ""

    def test_it_asks_where_and_what_the_folder_is_called_there(self) -> Steps:
        self.connect_elsewhere()
        self.assertEqual([item.trigger for item in self.screen.panels[-1][0]], ["Over SSH", "In a container", "In WSL"])
        self.screen.pick("Over SSH")
        yield lambda: self.asked
        caption, _, done = self.asked.pop()
        self.assertEqual(caption, "SSH host:")
        done("me@buildbox")
        caption, before, done = self.asked.pop()
        self.assertEqual((caption, before), (f"{self.folder.name} is there at:", str(self.folder)))
        done("app")
        self.assertTrue(self.screen.said("app is not an absolute path."))
        done("/srv/app")
        yield lambda: "Waiting for the connection…" in self.shown()
        self.assertIn("1. Here, in a terminal:\n\nssh -R ", self.shown())
        self.assertIn("export QWEN_CODE_IDE_WORKSPACE_PATH=/srv/app\n", self.shown())
        self.assertIn("cd /srv/app\n", self.shown())
        self.assertIn("export GEMINI_CLI_IDE_AUTH_TOKEN=", sublime.get_clipboard())
        self.assertNotIn("ssh -R", sublime.get_clipboard())
        data: Any = self.window.project_data()
        self.assertEqual(data["settings"]["QwenCompanion"], {"path_maps": {str(self.folder): "/srv/app"}})
        # The next time the folder's name is known.
        self.connect_elsewhere(place="container")
        self.assertEqual(self.asked.pop()[1], "/srv/app")

    def test_a_project_whose_settings_are_none_gets_the_names_all_the_same(self) -> Steps:
        wrong: list[Any] = [None, [], {"QwenCompanion": []}, {"QwenCompanion": {"path_maps": "x"}}]
        for settings in wrong:
            self.window.set_project_data({"folders": [{"path": str(self.folder)}], "settings": settings})
            self.connect_elsewhere(place="container")
            self.asked.pop()[2]("/srv/app")
            data: Any = self.window.project_data()
            self.assertEqual(data["settings"]["QwenCompanion"], {"path_maps": {str(self.folder): "/srv/app"}})
            yield lambda: "Waiting for the connection…" in self.shown()

    def test_a_folder_with_the_same_name_on_both_sides_needs_no_mapping(self) -> Steps:
        before = self.window.project_data()
        self.connect_elsewhere(place="container", folders={str(self.folder): str(self.folder)})
        yield self.shown
        self.assertEqual(self.window.project_data(), before)

    def test_the_connection_is_waited_for(self) -> Steps:
        self.connect_elsewhere(place="container", folders={str(self.folder): "/work"})
        yield lambda: "Waiting" in self.shown()
        states = loaded("server.window_screen").ElsewhereState
        adapter = loaded("sublime_text.package").adapter()
        ask = adapter.ask
        state = [states(refused="token")]
        with patch.object(adapter, "ask", lambda _, answer: answer(state[0])):
            yield lambda: "with a token that is not valid. Paste the lines again" in self.shown()
            state[0] = states(("Qwen Code in a container",))
            yield lambda: "Qwen Code in a container is connected." in self.shown()
        self.assertTrue(self.screen.said("Qwen Code in a container is connected."))
        self.assertEqual(adapter.ask, ask)

    def test_it_says_what_is_wrong_if_none_comes(self) -> Steps:
        self.set_limit("sublime_text.terminal.terminal_commands", "ELSEWHERE_PATIENCE", 2)
        self.connect_elsewhere(place="ssh", host="me@buildbox", folders={str(self.folder): "/srv/app"})
        why = "Nothing has reached this window yet. Is the connection with “-R” still open, and did it say"
        yield lambda: why in self.shown()
        said = [text for text in self.screen.messages if "Nothing has reached this window yet" in text]
        self.assertEqual(len(said), 1)
        panel = self.window.find_output_panel(PANEL)
        assert panel
        panel.sel().clear()
        panel.sel().add(sublime.Region(3, 9))  # the person is about to copy it
        yield 300
        self.assertEqual(list(panel.sel()), [sublime.Region(3, 9)])

    def test_a_folder_that_is_added_meanwhile_is_not_among_those_that_are_named(self) -> Steps:
        self.connect_elsewhere(place="container")
        (self.folder / "more").mkdir()
        folders = [{"path": str(self.folder)}, {"path": str(self.folder / "more")}]
        self.window.set_project_data({"folders": folders})
        yield lambda: len(self.window.folders()) == 2
        self.asked.pop()[2]("/srv/app")
        yield lambda: "Waiting" in self.shown()
        self.assertNotIn("more", self.shown())

    def test_the_lines_of_the_last_time_stay_on_the_screen(self) -> Steps:
        self.set_limit("sublime_text.terminal.terminal_commands", "ELSEWHERE_PATIENCE", 2)
        folders = {str(self.folder): "/srv/app"}
        self.connect_elsewhere(place="ssh", host="me@wrong", folders=folders)
        yield lambda: "me@wrong" in self.shown()
        self.connect_elsewhere(place="ssh", host="me@right", folders=folders)
        yield lambda: "Nothing has reached this window yet." in self.shown()
        yield 300  # several looks
        self.assertIn("me@right", self.shown())
        self.assertNotIn("wrong", self.shown())
        said = [text for text in self.screen.messages if "Nothing has reached this window yet" in text]
        self.assertEqual(len(said), 1)

    def test_a_companion_that_does_not_answer_is_reported(self) -> Steps:
        self.set_limit("sublime_text.terminal.terminal_commands", "PATIENCE", 50)
        with patch.object(loaded("sublime_text.package").adapter(), "ask", lambda *_: None):
            self.connect_elsewhere(place="wsl", folders={str(self.folder): "/mnt/app"})
        yield lambda: self.screen.said("The companion doesn't answer")

    def test_without_a_folder_it_says_so(self) -> Steps:
        self.window.set_project_data({"folders": []})
        self.connect_elsewhere()
        self.assertTrue(self.screen.said("Open a folder first"))
        yield 0
