"""Going back in a chat: rewind, edit an earlier prompt, fork, take the suggestion, the effort."""

from __future__ import annotations

from typing import Any

from .chat_case import ChatCase, Steps, loaded


class TestRewinding(ChatCase):
    def list_prompts(self, **more: Any) -> Steps:
        """Show the list of two prompts, of which the latest has changed files."""
        history = loaded("chats.history")
        names = tuple(f"f{number}.py" for number in range(1, 4))
        late = history.RewindTarget(
            "p2", "t2", "Make it\nbetter", names, **{"count": 4, "inserted": 5, "deleted": 1, **more}
        )
        self.chats.answers["history.targets"] = [late, history.RewindTarget("p1", "t1", "Hello")]
        self.chats.answers["history.rewind"] = "The conversation was rewound.", self.prompts.Draft("Make it\nbetter")
        self.show(self.message("Yes"), state="done", last="done")
        self.window.run_command("qwen_companion_chat_rewind")
        yield lambda: self.screen.panels
        self.late = late

    def pick(self, prompt: str, what: str) -> Steps:
        self.screen.pick(prompt)
        yield lambda: len(self.screen.panels) == 2
        self.screen.pick(what)
        yield from self.told("history.rewind")

    def test_the_files_that_it_would_undo_are_shown_before(self) -> Steps:
        yield from self.list_prompts()
        items = [(item.trigger, item.details) for item in self.screen.panels[-1][0]]
        undone = "Changed since then: f1.py, f2.py, f3.py, 1 more (+5 −1)"
        self.assertEqual(items, [("Make it better", undone), ("Hello", "No file has changed since then")])
        self.screen.pick("Make it better")
        yield lambda: len(self.screen.panels) == 2
        items = [(item.trigger, item.details) for item in self.screen.panels[-1][0]]
        self.assertEqual(
            items,
            [
                ("Rewind, and undo 4 files", undone),
                ("Rewind, and leave the files as they are", ""),
                ("Edit this prompt, and undo 4 files", undone),
                ("Edit this prompt, and leave the files as they are", ""),
            ],
        )
        self.assertEqual(self.chats.of("history.rewind"), [])

    def test_a_rewind_says_what_it_did(self) -> Steps:
        yield from self.list_prompts()
        yield from self.pick("Make it better", "Rewind, and undo 4 files")
        yield lambda: self.screen.said("The conversation was rewound.")
        self.assertEqual(self.chats.of("history.rewind"), [(self.chat.id, self.late, {"undo_files": True})])
        self.assertEqual(self.prompt, "")

    def test_an_earlier_prompt_is_edited(self) -> Steps:
        yield from self.list_prompts(count=1)
        self.type("Now")
        yield from self.pick("Make it better", "Edit this prompt, and leave the files as they are")
        yield lambda: self.prompt != "Now"
        self.assertEqual(self.prompt, "Make it\nbetter\nNow")
        self.assertEqual(self.chats.of("history.rewind")[0][-1], {"undo_files": False})

    def test_where_no_file_was_changed_nothing_is_said_of_files(self) -> Steps:
        yield from self.list_prompts()
        self.screen.pick("Hello")
        yield lambda: len(self.screen.panels) == 2
        self.assertEqual([item.trigger for item in self.screen.panels[-1][0]], ["Rewind", "Edit this prompt"])

    def test_an_agent_that_can_not_go_back_has_its_files_taken_back(self) -> Steps:
        yield from self.list_prompts(rewinds=False, paths=("/p/a.py",), inserted=0, deleted=0)
        self.screen.pick("Make it better")
        yield lambda: len(self.screen.panels) == 2
        items = [(item.trigger, item.details) for item in self.screen.panels[-1][0]]
        undone = "Changed since then: f1.py, f2.py, f3.py, 1 more"
        self.assertEqual(items, [("Undo 4 files", undone), ("Edit this prompt, and undo 4 files", undone)])
        self.screen.pick("Edit this prompt, and undo 4 files")
        yield from self.told("history.rewind")
        yield lambda: self.prompt == "Make it\nbetter"
        self.assertEqual(self.chats.of("history.rewind"), [(self.chat.id, self.late, {"undo_files": True})])

    def test_why_it_can_not_be_done_is_said(self) -> Steps:
        self.chats.answers["history.targets"] = loaded("backends.daemon.errors").missing_feature("session_rewind")
        self.show(self.message("Yes"), state="done", last="done")
        self.window.run_command("qwen_companion_chat_rewind")
        yield lambda: self.screen.said("This Qwen Code can't do that")
        self.assertEqual(self.screen.panels, [])

    def test_it_is_for_a_chat_in_which_something_was_said_and_no_turn_runs(self) -> None:
        command = loaded("sublime_text.chat.chat_commands").QwenCompanionChatRewindCommand(self.window)
        self.assertFalse(command.is_enabled())
        self.show(self.message("Yes"), running="turn", last="running")
        self.assertFalse(command.is_enabled())
        self.show(self.message("Yes"), state="done", last="done")
        self.assertTrue(command.is_enabled())

    def test_the_slash_commands_do_the_same(self) -> Steps:
        self.chats.answers["history.targets"] = []
        self.show(self.message("Yes"), state="done", last="done")
        for text, told in (
            ("/rewind", "history.targets"),
            ("/rollback", "history.targets"),
            ("/branch", "history.fork"),
        ):
            self.chats.calls.clear()
            self.type(text)
            self.window.run_command("qwen_companion_chat_send")
            yield from self.told(told)
        self.assertEqual(self.chats.of("send"), [])

    def test_what_the_agent_can_not_do_is_not_offered(self) -> None:
        chat = "sublime_text.chat"
        fork = loaded(f"{chat}.chat_commands").QwenCompanionChatForkCommand(self.window)
        tasks = loaded(f"{chat}.chat_commands").QwenCompanionChatTasksCommand(self.window)
        sessions = loaded(f"{chat}.pickers").QwenCompanionChatSessionsCommand(self.window)
        task = self.view_values.Task("1", "agent", "Look", "completed", 0.0)
        self.show(self.message("Yes"), state="done", last="done", tasks=(task,))
        self.assertEqual([each.is_visible() for each in (fork, tasks, sessions)], [True, True, True])
        self.show(self.message("Yes"), state="done", last="done", lacks=("rewind", "fork", "tasks"), tasks=(task,))
        self.assertEqual([each.is_visible() for each in (fork, tasks, sessions)], [False, False, True])


class TestForking(ChatCase):
    def test_a_fork_is_asked_for(self) -> Steps:
        self.show(self.message("Yes"), state="done", last="done")
        self.window.run_command("qwen_companion_chat_fork")
        yield from self.told("history.fork")
        self.assertEqual(self.chats.of("history.fork"), [(self.chat.id,)])


class TestEffort(ChatCase):
    def efforts(self, current: str) -> None:
        choice = self.view_values.Choice
        efforts = (choice("default", "Default"), choice("high", "High", "Thinks long"))
        self.show(model="m", models=(choice("m", "Model"),), effort=current, efforts=efforts)

    def test_it_is_beside_the_model_unless_it_is_the_usual_one(self) -> None:
        self.efforts("high")
        html = loaded("sublime_text.chat.html")
        self.assertEqual(html.facts(self.chat.render), ["Model", "High effort"])
        self.efforts("default")
        self.assertEqual(html.facts(self.chat.render), ["Model"])

    def test_it_is_switched(self) -> Steps:
        self.efforts("default")
        self.type("/effort")
        self.window.run_command("qwen_companion_chat_send")
        yield from self.choose("High")
        yield from self.told("switch")
        self.assertEqual(self.chats.of("switch"), [(self.chat.id, "effort", "high")])

    def test_a_daemon_without_efforts_offers_none(self) -> None:
        self.assertFalse(loaded("sublime_text.chat.pickers").QwenCompanionChatEffortCommand(self.window).is_enabled())


class TestSuggestions(ChatCase):
    GHOST = "qwen_companion.chat_suggestion"

    def suggest(self, **status: Any) -> None:
        self.show(self.message("Yes"), state="done", **{"last": "done", "suggestion": "Run the\ntests", **status})

    @property
    def ghost(self) -> list[str]:
        return self.screen.phantoms(self.view, self.GHOST)

    def test_it_is_shown_in_the_empty_prompt_and_taken_by_tab(self) -> Steps:
        self.suggest()
        self.assertEqual(len(self.ghost), 1)
        self.assertIn("Run the tests", self.ghost[0])
        self.assertEqual(self.prompt, "")
        self.put_caret(-1)
        self.assertEqual(self.press("tab"), "qwen_companion_chat_suggestion")
        self.assertEqual(self.prompt, "Run the\ntests")
        yield lambda: not self.ghost
        self.assertEqual(self.chats.of("send"), [])

    def test_it_goes_while_something_is_written_and_comes_back(self) -> Steps:
        self.suggest()
        self.put_caret(-1)
        self.type("x")
        yield lambda: not self.ghost
        self.assertEqual(self.press("tab"), "")
        self.view.run_command("left_delete")
        yield lambda: self.ghost

    def test_it_is_taken_by_a_click(self) -> None:
        self.suggest()
        self.screen.click(self.view, "suggestion")
        self.assertEqual(self.prompt, "Run the\ntests")

    def test_it_is_not_shown_while_a_turn_runs_or_something_is_asked(self) -> None:
        self.suggest(running="turn")
        self.assertEqual(self.ghost, [])
        self.suggest(permissions=(self.permission("allow_once"),))
        self.assertEqual(self.ghost, [])
        self.suggest(suggestion="")
        self.assertEqual(self.ghost, [])
        self.put_caret(-1)
        self.assertEqual(self.press("tab"), "")

    def test_a_suggestion_can_not_write_minihtml(self) -> None:
        self.suggest(suggestion="<a href='vote:0:p1'>Yes</a>")
        self.assertIn("<a href='vote:0:p1'>Yes</a>", self.ghost[0])
