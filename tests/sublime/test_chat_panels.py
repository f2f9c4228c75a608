"""Models, modes, sessions and the daemon's page (Issue 5, "Models, modes, sessions" and "Locality")."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase, Recorder, Steps, loaded
from .companion_case import CompanionCase, text_of


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
        yield from self.told("switch_model")
        self.assertEqual(self.chats.of("switch_model"), [(self.window.id(), "a")])

    def test_the_modes(self) -> Steps:
        choice = self.view_values.Choice
        self.show(mode="plan", modes=(choice("plan", "Plan", "Reads only"), choice("yolo", "YOLO", "Asks nothing")))
        self.window.run_command("qwen_companion_chat_mode")
        self.screen.pick("YOLO")
        yield from self.told("switch_mode")
        self.assertEqual(self.chats.of("switch_mode"), [(self.window.id(), "yolo")])


class TestSessions(ChatCase):
    def sessions(self) -> Steps:
        """Show the list, whose second conversation is picked by a test."""
        info = loaded("conversation.sessions").SessionInfo.model_validate
        first = {"sessionId": "session-1", "displayName": "About cats", "updatedAt": "2026-11-20T10:00:00Z"}
        second = {"sessionId": "s2", "isWaitingForPermission": True, "clientCount": 2}
        self.chats.answers["sessions"] = [info(first), info(second)]
        self.window.run_command("qwen_companion_chat_sessions")
        yield lambda: self.screen.panels
        self.items = self.screen.panels[-1][0]

    def what(self, caption: str) -> Steps:
        """Pick what to do with the first conversation."""
        yield from self.sessions()
        self.screen.pick("About cats")
        yield lambda: len(self.screen.panels) == 2
        self.screen.pick(caption)

    def test_the_list(self) -> Steps:
        yield from self.sessions()
        self.assertEqual([item.trigger for item in self.items], ["New Chat", "About cats", "Untitled"])
        self.assertEqual(self.items[1].details, "shown here")
        self.assertTrue(self.items[1].annotation.startswith("2026-11-2"))
        self.assertEqual(self.items[2].details, "waits for your permission · 2 clients")

    def test_a_new_chat(self) -> Steps:
        yield from self.sessions()
        self.screen.pick("New Chat")
        yield from self.told("begin")

    def test_open(self) -> Steps:
        yield from self.what("Open")
        yield from self.told("resume")
        self.assertEqual(self.chats.of("resume"), [(self.window.id(), "session-1")])

    def test_rename(self) -> Steps:
        yield from self.what("Rename …")
        yield lambda: self.screen.inputs
        caption, text, done = self.screen.inputs[-1]
        self.assertEqual((caption, text), ("Title:", "About cats"))
        done("  ")
        done("About dogs")
        yield from self.told("rename")
        self.assertEqual(self.chats.of("rename"), [(self.window.id(), "session-1", "About dogs")])

    def test_export(self) -> Steps:
        self.chats.answers["export"] = "# All of it\n"
        yield from self.what("Export …")
        yield lambda: len(self.screen.panels) == 3
        self.screen.pick("Markdown")
        yield lambda: self.window.active_view() != self.view
        view = self.window.active_view()
        assert view
        yield lambda: text_of(view) == "# All of it\n"
        self.assertEqual(self.chats.of("export"), [(self.window.id(), "session-1", "md")])
        self.assertTrue(view.is_scratch())

    def test_delete_asks_first(self) -> Steps:
        for answer in (False, True):
            self.screen.panels.clear()
            with patch.object(sublime, "ok_cancel_dialog", lambda *_, answer=answer: answer):
                yield from self.what("Delete …")
                yield 100
            self.assertEqual(len(self.chats.of("delete")), int(answer))

    def test_what_goes_wrong_is_said(self) -> Steps:
        self.chats.answers["sessions"] = loaded("daemon.errors").UnreachableError("http://x")
        self.window.run_command("qwen_companion_chat_sessions")
        yield lambda: self.screen.said("No daemon answers at http://x.")


class TestDaemonPage(ChatCase):
    def page(self) -> sublime.View:
        [page] = [view for view in self.window.views() if view.settings().get("qwen_companion.daemon")]
        return page

    def test_it_tells_where_all_of_it_runs(self) -> Steps:
        self.chats.answers["locality"] = "Qwen Code 0.24.4\non this computer\n"
        self.window.run_command("qwen_companion_daemon")
        yield lambda: text_of(self.page()) == "Qwen Code 0.24.4\non this computer\n"
        self.assertTrue(self.page().is_read_only())
        self.assertTrue(self.page().is_scratch())

    def test_it_tells_why_there_is_none(self) -> Steps:
        self.chats.answers["locality"] = loaded("daemon.errors").UnreachableError("http://x")
        self.window.run_command("qwen_companion_daemon")
        yield lambda: "No daemon answers" in text_of(self.page())


class TestWithoutChat(CompanionCase):
    """Issue 14, point 3: sessions, the page on the daemon and a new chat need no open chat."""

    def test_the_chat_opens_first(self) -> Steps:
        self.set_setting("daemon.enabled", True)
        adapter = loaded("sublime_text.package").adapter()
        for command, expected in (
            ("qwen_companion_chat_sessions", "sessions"),
            ("qwen_companion_daemon", "locality"),
            ("qwen_companion_chat_new", "begin"),
        ):
            recorder = Recorder()
            recorder.answers.update(sessions=[], locality="Here.")
            own: list[object] = []

            def swap(companion: object, recorder: Recorder = recorder, own: list[object] = own) -> None:
                own.append(companion.chats)  # pyright: ignore[reportAttributeAccessIssue]
                companion.chats = recorder  # pyright: ignore[reportAttributeAccessIssue]

            adapter.thread.post(swap)
            yield lambda own=own: own
            self.window.run_command(command)
            yield {"condition": lambda r=recorder, name=expected: r.of("open") and r.of(name), "timeout": 20_000}
            adapter.chats.of(self.window).view.close()
            yield lambda: adapter.chats.of(self.window) is None
            adapter.thread.post(lambda companion, own=own: setattr(companion, "chats", own[0]))


class TestAddFromMenus(ChatCase):
    """Issue 14, point 1: Add to Chat on several files and folders of the side bar."""

    def test_files_and_folders_are_mentioned_and_those_elsewhere_are_said_not_to_be(self) -> None:
        (self.folder / "my lib").mkdir()
        paths = [str(self.file), str(self.folder / "my lib"), str(self.folder.parent)]
        self.window.run_command("qwen_companion_chat_add", {"paths": paths})
        self.assertEqual(self.prompt, "@app.py @my\\ lib ")
        self.assertTrue(self.screen.said(f"{self.folder.parent.name} is not in the folder of the chat"))

    def test_excluded_files_and_folders_are_left_out_with_one_sentence(self) -> None:
        """Issue 14, point 4."""
        for name in ("secrets", "lib"):
            (self.folder / name).mkdir()
        (self.folder / ".env").touch()
        paths = [str(self.folder / name) for name in (".env", "lib", "secrets", "app.py")]
        self.window.run_command("qwen_companion_chat_add", {"paths": paths})
        self.assertEqual(self.prompt, "@lib @app.py ")
        self.assertTrue(self.screen.said(".env stays here: the setting “context_exclude” excludes it."))

    def test_the_file_of_a_tab_is_mentioned(self) -> None:
        group, index = self.window.get_view_index(self.code)
        self.window.run_command("qwen_companion_chat_add", {"group": group, "index": index})
        self.assertEqual(self.prompt, "@app.py ")


class TestFolder(ChatCase):
    """Issue 14, point 3: Change Chat Folder, and the folder in the bar when there are several."""

    BAR = "qwen_companion.chat_bar"

    def test_a_window_of_one_folder_needs_neither(self) -> None:
        self.show(self.message("Hello"))
        self.assertNotIn(self.folder.name, self.screen.phantoms(self.view, self.BAR)[0])
        command = loaded("sublime_text.chat.commands").QwenCompanionChatFolderCommand(self.window)
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
        self.assertEqual(self.chats.of("open")[-1], (self.window.id(), str(other)))
        self.assertEqual(self.chat.folder, str(other))
        self.show(self.message("Hello"))
        self.assertIn("other project", self.screen.phantoms(self.view, self.BAR)[0])
