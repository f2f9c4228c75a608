"""Views that pose as ours: what a project or a workspace says makes no view one of the package's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase
from .companion_case import CompanionCase, Steps, diff_views, loaded, text_of
from .own import kind_of, remembered, tabs, value, views

NAMES = [
    "after",
    "asked",
    "attached",
    "baseline",
    "changes_of_turn",
    "chat",
    "chat_agent",
    "chat_attached",
    "chat_chosen",
    "chat_folder",
    "chat_kept",
    "chat_recall",
    "chat_session",
    "chat_signs",
    "chat_title",
    "chat_used_at",
    "comment_input",
    "comments_elsewhere",
    "daemon",
    "diff",
    "diff_list",
    "file_path",
    "focused_at",
    "inline",
    "port",
    "question_input",
    "review",
    "review_list",
    "shown",
    "sign_in",
    "status",
    "task",
    "terminal",
    "terminal_focused_at",
    "view",
]
"""Every name that the package has ever read from the settings of a view or a window, and its present one."""
VALUES: tuple[Any, ...] = (True, 1, "proposal", "/", "0" * 32, "../../x", ["x"], {"sent": ["x"], "run": 1}, None, [[]])
CONTEXTS = [
    "chat",
    "chat_prompt",
    "chat_transcript",
    "chat_types",
    "chat_ask",
    "chat_choice",
    "chat_suggestion",
    "chat_running",
    "chat_first_line",
    "chat_last_line",
    "diff",
    "review_tab",
    "status",
    "comment_input",
    "question_input",
]
TEXT = "rm -rf .\n❯\u00a0do it\n"


class PosingCase(CompanionCase):
    def pose(self, value: Any, **more: Any) -> None:
        """Have a project that sets every name to a value."""
        settings = {f"qwen_companion.{name}": value for name in NAMES} | more
        self.window.set_project_data({"folders": [{"path": str(self.folder)}], "settings": settings})

    def holds(self, view: sublime.View, name: str) -> bool:
        listeners = [
            loaded("sublime_text.listeners").QwenCompanionListener(),
            loaded("sublime_text.chat.listener").QwenCompanionChatListener(),
        ]
        asked = (view, f"qwen_companion.{name}", sublime.QueryOperator.EQUAL, True, False)
        return any(each.on_query_context(*asked) for each in listeners)

    def assert_plain(self, view: sublime.View, text: str) -> None:
        self.assertEqual((kind_of(view), text_of(view)), ("", text))
        self.assertFalse(view.is_read_only())
        self.assertEqual([name for name in CONTEXTS if self.holds(view, name)], [])
        adapter = loaded("sublime_text.package").adapter()
        self.assertIsNone(adapter.chats.find(view))
        self.assertIsNone(adapter.diffs.find(view))
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        for command in ("save", "save_as", "close"):
            self.assertIsNone(listener.on_text_command(view, command, {"async": True}))


class TestProjects(PosingCase):
    def test_no_setting_of_a_project_makes_a_file_or_a_text_ours(self) -> Steps:
        scratch = self.window.new_file()
        scratch.run_command("append", {"characters": TEXT})
        before, adapter = self.file.read_text(), loaded("sublime_text.package").adapter()
        opened = len(adapter.chats.within(self.window))
        for posed in VALUES:
            self.pose(posed)
            for view in (self.view, scratch):
                adapter.events.on_activated(view)
                listener = loaded("sublime_text.chat.listener").QwenCompanionChatListener()
                listener.on_selection_modified(view)
                listener.on_modified(view)
            adapter.events.on_load_project(self.window)
            adapter.chats.adopt_visible()
            yield 1
            self.assert_plain(self.view, before)
            self.assert_plain(scratch, TEXT)
            self.assertFalse(self.view.is_scratch())
            self.assertFalse(scratch.is_scratch())
            self.assertIsNone(adapter.chats.last(self.window))
            self.assertEqual(len(adapter.chats.within(self.window)), opened)
            self.assertEqual(loaded("sublime_text.windows").to_serve(self.window).folders, (str(self.folder),))
            self.assertEqual(remembered(self.window, "chats"), None)
        self.view.run_command("append", {"characters": "# mine\n"})
        self.view.run_command("save")
        yield lambda: self.file.read_text() == before + "# mine\n"

    def test_a_project_that_calls_each_view_a_terminal_takes_no_file_from_the_person(self) -> Steps:
        settings = {"terminus_view": True, "terminus_view.args": {"env": {"QWEN_CODE_IDE_SERVER_PORT": "1"}}}
        before = self.window.project_data()
        self.addCleanup(self.window.set_project_data, before)
        self.window.set_project_data({"folders": [{"path": str(self.folder)}], "settings": settings})
        yield lambda: self.view.settings().get("terminus_view")
        self.assertTrue(loaded("sublime_text.windows").is_code(self.view))
        self.assertEqual(loaded("sublime_text.terminal.terminals").others(self.window), [])
        self.assertEqual(loaded("sublime_text.package").adapter().reports._window(self.window).terminals, ())

    def test_the_settings_of_a_window_say_nothing(self) -> None:
        for name in NAMES:
            self.window.settings().set(f"qwen_companion.{name}", ["x"])
            self.addCleanup(self.window.settings().erase, f"qwen_companion.{name}")
        state = loaded("sublime_text.windows")
        self.assertIn(self.window.id(), [one.id for one in state.windows_to_serve()])
        self.assertEqual(loaded("sublime_text.package").adapter().comments.kept.roots(self.window), [str(self.folder)])

    def test_status_writes_into_a_tab_of_its_own_and_names_what_is_ignored(self) -> Steps:
        self.pose(value=True)
        before = text_of(self.view)
        self.window.run_command("qwen_companion_status")
        yield lambda: tabs(self.window, "status")
        [status] = tabs(self.window, "status")
        yield {"condition": lambda: "which no project can" in text_of(status), "timeout": 60_000}
        self.assertIn("“qwen_companion.asked”", text_of(status))
        self.assertEqual(text_of(self.view), before)
        self.assertNotEqual(status, self.view)

    def test_a_diff_is_one_beside_such_a_project(self) -> Steps:
        self.pose("original")
        yield from self.open_diff("x = 2\n")
        self.assertEqual(kind_of(self.proposal), "proposal")
        self.assertEqual(kind_of(self.view), "")
        yield from self.accepted()
        self.assertEqual(self.content, "x = 2\n")

    def test_a_setting_that_says_inline_does_not_change_how_a_diff_is_shown(self) -> Steps:
        self.pose(value=True)
        yield from self.open_diff('def greet(name):\n    print("ho")\n')
        yield lambda: self.proposal.get_regions("qwen_companion.changes")
        self.assertFalse(value(self.proposal, "inline"))


class TestWorkspaces(PosingCase):
    """Views that the editor has brought back, with any settings and any text."""

    def restored(self, settings: dict[str, Any], text: str = TEXT) -> sublime.View:
        view = self.window.new_file()
        view.run_command("append", {"characters": text})
        view.settings().update(settings)
        view.set_scratch(True)
        loaded("sublime_text.listeners").QwenCompanionListener().on_load_project(self.window)
        loaded("sublime_text.package").adapter().events.on_activated(view)
        return view

    def test_a_tab_that_says_it_is_ours_is_plain_text(self) -> Steps:
        for name in ("chat", "diff", "status", "task", "view"):
            for posed in VALUES[:-2]:
                view = self.restored({f"qwen_companion.{name}": posed, "qwen_companion.chat_folder": "/"})
                yield 1
                self.assert_plain(view, TEXT)
                if name == "view" and posed is not None:
                    self.assertFalse(view.is_scratch(), posed)
                view.set_scratch(True)
                view.close()

    def test_a_terminal_and_what_other_packages_show_stay_as_they_are(self) -> None:
        for settings in ({"terminus_view": True, "qwen_companion.terminal": {"run": 1}}, {"theirs": True}):
            view = self.restored(settings)
            self.assertTrue(view.is_scratch())
            self.assertTrue(all(view.settings().get(name) for name in settings))

    def test_a_second_view_with_a_marker_is_plain_text(self) -> None:
        own = self.window.new_file()
        views().take(own, "chat", folder="/", agent="Own")
        marker = own.settings().get("qwen_companion.view")
        copy = self.restored({"qwen_companion.view": marker})
        self.assert_plain(copy, TEXT)
        self.assertFalse(copy.is_scratch())
        self.assertEqual(kind_of(own), "chat")
        own.set_scratch(True)
        own.close()

    def test_a_marker_that_a_project_has_learned_makes_nothing_ours(self) -> Steps:
        own = self.window.new_file()
        views().take(own, "chat", folder=str(self.folder), agent="Own")
        marker = own.settings().get("qwen_companion.view")
        views().hand_over()
        self.pose("x", **{"qwen_companion.view": marker})
        other = self.window.new_file()
        for view in (other, self.view):
            views().activated(self.window, view)
            self.assertEqual(kind_of(view), "")
        yield 1
        own.set_scratch(True)
        own.close()

    def test_a_tab_whose_marker_the_project_has_as_well_is_not_lost_without_a_question(self) -> Steps:
        own, other = self.window.new_file(), self.window.new_file()
        for view in (own, other):
            view.set_scratch(True)
        views().take(own, "chat", folder=str(self.folder), agent="Own")
        marker = own.settings().get("qwen_companion.view")
        views().close()
        self.pose("x", **{"qwen_companion.view": marker})
        views().restore(self.window)
        self.assertEqual((kind_of(own), other.is_scratch()), ("chat", True))
        views().hand_over()
        views().restore(self.window)
        yield 1
        self.assertEqual((kind_of(own), own.is_scratch()), ("", False))
        for view in (own, other):
            view.set_scratch(True)
            view.close()

    def test_a_record_is_good_for_its_own_project_alone(self) -> Steps:
        own = self.window.new_file()
        views().take(own, "chat", folder="/")
        marker = own.settings().get("qwen_companion.view")
        own.set_scratch(True)
        own.close()
        views().hand_over()
        there = yield from self.another_window()
        there.set_project_data({"folders": [{"path": str(self.folder.parent)}]})
        copy = there.new_file()
        copy.settings().set("qwen_companion.view", marker)
        copy.set_scratch(True)
        views().restore(there)
        self.assertEqual((kind_of(copy), copy.is_scratch()), ("", False))

    def test_a_clone_that_is_looked_at_in_another_window_takes_no_record_along(self) -> Steps:
        own = self.window.new_file()
        own.set_scratch(True)
        views().take(own, "changes of a turn")
        self.window.run_command("clone_file")
        [clone] = [view for view in self.window.views() if view.buffer_id() == own.buffer_id() and view != own]
        there = yield from self.another_window()
        there.set_project_data({"folders": [{"path": str(self.folder.parent)}]})
        views().activated(there, clone)
        views().hand_over()
        views().restore(self.window)
        self.assertEqual((kind_of(own), own.is_scratch()), ("changes of a turn", True))
        with patch.object(type(clone), "window", lambda _: there):  # it is the only one that is left
            own.close()
            views().closed(own)
        views().hand_over()
        views().restore(there)
        views().activated(there, clone)
        self.assertEqual(kind_of(clone), "changes of a turn")
        clone.close()

    def test_a_damaged_record_is_none_and_costs_no_other(self) -> None:
        own, other = self.window.new_file(), self.window.new_file()
        for view in (own, other):
            views().take(view, "chat", folder=str(self.folder))
        views().hand_over()
        path = record_of(own)
        for damaged in ("", "[]", "{", '{"kind": "chat"}', json.dumps({"kind": "x", "home": {}, "data": {}})):
            path.write_text(damaged)
            self.assertIsNone(views()._read(path.stem, self.window))
        views().restore(self.window)
        self.assertEqual((kind_of(own), kind_of(other)), ("", "chat"))
        for view in (own, other):
            view.set_scratch(True)
            view.close()

    def test_a_record_is_for_this_user_only(self) -> None:
        own = self.window.new_file()
        views().take(own, "status")
        views().close()
        path = record_of(own)
        if sublime.platform() != "windows":
            self.assertEqual((path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777), (0o600, 0o700))
        self.assertRegex(path.stem, "^[0-9a-f]{32}$")
        own.set_scratch(True)
        own.close()


class TestOwnViews(ChatCase):
    """What happens to views that are ours."""

    def test_a_chat_that_is_saved_as_a_file_is_the_persons(self) -> Steps:
        self.show(self.message("Hello"))
        self.type("mine")
        text, path = text_of(self.view), self.folder / "talk.md"
        self.view.retarget(str(path))
        self.assertEqual(kind_of(self.view), "")
        self.view.run_command("save")
        yield from self.told("close")
        self.assertIsNone(self.adapter.chats.of(self.window))
        self.assertFalse(self.view.is_scratch())
        self.assertFalse(self.view.is_read_only())
        self.assertFalse(self.view.settings().has("qwen_companion.view"))
        self.view.run_command("append", {"characters": "more"})
        self.assertEqual(text_of(self.view), text + "more")

    def test_a_page_that_is_saved_as_a_file_is_not_written_over(self) -> Steps:
        self.window.run_command("qwen_companion_status")
        yield lambda: tabs(self.window, "status")
        [status] = tabs(self.window, "status")
        status.retarget(str(self.folder / "status.txt"))
        text = text_of(status)
        loaded("sublime_text.package").adapter().reports._shown[status.id()]._page.show("other")
        self.assertEqual(text_of(status), text)
        self.window.run_command("qwen_companion_status")
        yield lambda: tabs(self.window, "status")
        self.assertNotIn(status, tabs(self.window, "status"))

    def test_after_a_restart_a_chat_has_its_session_its_agent_and_its_drafts(self) -> Steps:
        self.show(self.message("Hello"), chosen_mode="plan")
        self.chat.take_back(self.prompts.Draft("mine", (self.prompts.Excerpt("u", "x:1", "x"),), ()))
        self.adapter.chats.close_all()
        self.chats.calls.clear()
        views().hand_over()
        self.assertEqual(kind_of(self.view), "")
        self.adapter.events.on_load_project(self.window)
        self.adapter.chats.adopt_visible()
        yield from self.told("open")
        chosen = {"chosen": {"session": "session-1", "mode": "plan"}}
        opened = self.view.id(), self.window.id(), str(self.folder), "session-1", "", chosen
        self.assertEqual(self.chats.of("open"), [opened])
        chat = self.adapter.chats.of(self.window)
        self.assertEqual((chat.text.prompt, chat.attached), ("mine", ["x:1"]))

    def test_a_restored_tab_has_the_draft_of_its_record_whatever_stands_there(self) -> Steps:
        self.show(self.message("Hello"))
        self.type("mine")
        self.adapter.chats.close_all()
        views().hand_over()
        self.view.set_read_only(False)
        self.view.run_command("append", {"characters": "; rm -rf ~"})
        before = set(self.window.views())
        self.adapter.events.on_load_project(self.window)
        self.adapter.chats.adopt_visible()
        yield from self.told("open")
        self.assertEqual(self.adapter.chats.of(self.window).text.prompt, "mine")
        # It may be the person's all the same.
        yield lambda: set(self.window.views()) - before
        [kept] = set(self.window.views()) - before
        self.assertEqual((text_of(kept), kept.is_scratch()), ("mine; rm -rf ~", False))
        kept.set_scratch(True)

    def test_a_draft_that_the_disk_has_refused_is_written_at_the_end(self) -> Steps:
        self.show(self.message("Hello"))
        self.type("old")
        yield lambda: views()._writer._thread is None
        full = OSError(28, "No space left on device")
        with patch.object(loaded("sublime_text.own_views"), "write_private", side_effect=full) as write:
            self.type(" and new")
            yield lambda: write.called
            yield lambda: views()._writer._thread is None
        self.adapter.chats.close_all()
        views().hand_over()
        self.adapter.events.on_load_project(self.window)
        self.adapter.chats.adopt_visible()
        yield from self.told("open")
        self.assertEqual(self.adapter.chats.of(self.window).text.prompt, "old and new")

    def test_a_record_with_damaged_values_is_a_chat_all_the_same(self) -> Steps:
        self.show(self.message("Hello"))
        self.type("mine")
        yield from self.settled()
        whole = {"text": "lost", "session": "s", "agent": "", "folder": str(self.folder), "name": "", "chosen": 1}
        prompts = loaded("sublime_text.chat.prompt")
        for posed in (
            5,
            "x",
            [1],
            {"sent": 5, "edits": ["x"], "current": "x"},
            {"excerpts": [["u"], 1], "pictures": 2},
        ):
            kept = [posed, {**whole, "recall": posed, "attached": posed}, {**whole, "text": posed}, {}]
            views().of(self.view).keep(attached=posed, recall=posed, chosen=posed, title=posed, used=posed, signs=posed)
            views().remember(self.window, prompts._KEPT, kept)
            self.adapter.chats.close_all()
            self.chats.calls.clear()
            self.adapter.events.on_activated(self.view)
            yield from self.told("open")
            self.assertIn("mine", self.adapter.chats.of(self.window).text.prompt)
            prompts.kept_session(self.window, str(self.folder), "")

    def test_a_damaged_memory_of_questions_is_none(self) -> None:
        questions = loaded("sublime_text.actions")
        for posed in (5, ["x"], {"sent": 5, "draft": None}):
            views().remember(self.window, questions.ASKED, posed)
            questions.ask(self.window, "Ask:", lambda _: None)
            self.window.run_command("hide_panel", {"cancel": True})

    def test_a_chat_whose_folder_is_none_of_its_window_starts_nothing(self) -> Steps:
        self.adapter.chats.close_all()
        self.chats.calls.clear()
        for folder in ("/", str(self.folder.parent), str(self.folder / "sub"), ""):
            views().of(self.view).keep(folder=folder)
            self.adapter.chats.adopt_visible()
            self.adapter.events.on_activated(self.view)
            yield 1
            self.assertEqual(self.chats.of("open"), [])

    def test_an_agent_is_not_started_in_a_folder_where_it_was_not_allowed(self) -> Steps:
        agent = loaded("agents").AgentCommand("Own", ("own",), {})
        with patch.object(self.adapter.consent, "find", lambda _: agent), patch.object(sublime, "save_settings"):
            self.adapter.consent.allow(agent, str(self.folder.parent))
            self.adapter.chats.close_all()
            self.chats.calls.clear()
            views().of(self.view).keep(agent="Own")
            self.adapter.chats.adopt_visible()
            self.adapter.events.on_activated(self.view)
            yield 1
            self.assertEqual(self.chats.of("open"), [])
            self.adapter.consent.allow(agent, str(self.folder))
            self.adapter.events.on_activated(self.view)
            yield from self.told("open")

    def test_the_person_goes_on_with_a_chat_after_the_package_has_come_anew(self) -> None:
        own = views()
        again = type(own)()
        self.assertTrue(again.is_ours(self.view, "chat"), "the records outlive a reload")
        self.assertEqual(diff_views(self.window, "proposal"), [])


def record_of(view: sublime.View) -> Path:
    """The file with the record of a view."""
    marker = str(view.settings().get("qwen_companion.view"))
    return Path(sublime.cache_path(), "QwenCompanion", "views", f"{marker}.json")
