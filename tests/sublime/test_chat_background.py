"""What the agent does in the background, on the screen."""

from __future__ import annotations

from typing import Any

from .chat_case import ChatCase, Steps, loaded
from .companion_case import text_of
from .own import tabs

BAR = "qwen_companion.chat_bar"


class TestBackground(ChatCase):
    def task(self, identifier: str = "t1", status: str = "running", **more: Any) -> Any:
        values = {"kind": "shell", "title": "make <all>", "began": 1.0, **more}
        if status != "running":
            values["seconds"] = 62.0
        return self.view_values.Task(id=identifier, status=status, **values)

    def shows_prompt(self) -> bool:
        end = self.view.text_to_layout(self.view.size())[1] + self.view.line_height()
        return end <= self.view.viewport_position()[1] + self.view.viewport_extent()[1]

    def test_the_prompt_stays_on_the_screen_when_the_bar_grows(self) -> Steps:
        said = self.message("line\n\n" * 200)
        self.show(said)
        yield self.shows_prompt
        self.show(said, tasks=(self.task(),))
        # The editor may tell the old place for a moment, so what was seen before proves nothing.
        yield from self.settled()
        yield self.shows_prompt
        self.chat.excerpts.append(self.prompts.Excerpt("file:///x", "x:1", "x"))
        self.chat.attached_changed()
        yield from self.settled()
        yield self.shows_prompt

    def list_tasks(self, *tasks: Any) -> Steps:
        self.chats.answers["tasks.all"] = list(tasks)
        self.window.run_command("qwen_companion_chat_tasks")
        yield from self.told("tasks.all")

    @property
    def bar(self) -> str:
        return self.screen.phantoms(self.view, BAR)[0]

    def test_a_line_in_the_bar_names_what_runs(self) -> None:
        agent = self.task("t2", kind="agent", title="explorer: Look")
        self.show(tasks=(self.task(), agent, self.task("t3", "completed", title="over")))
        self.assertIn("In the background: make <all>, explorer: Look", self.bar)
        self.assertNotIn("over", self.bar)
        self.show(tasks=(self.task("t1", "completed"),))
        self.assertNotIn("background", self.bar)
        self.show(tasks=(self.task(is_background=False),))
        self.assertNotIn("background", self.bar)

    def test_a_click_in_the_bar_lists_them(self) -> Steps:
        self.show(tasks=(self.task(),))
        self.chats.answers["tasks.all"] = [self.task()]
        self.screen.click(self.view, "tasks")
        yield lambda: self.screen.panels
        self.assertEqual([item.trigger for item in self.screen.panels[-1][0]], ["make <all>"])

    def test_the_list_says_what_runs_and_how_long_the_others_took(self) -> Steps:
        yield from self.list_tasks(self.task(), self.task("t2", "failed", title="test"))
        yield lambda: self.screen.panels
        first, second = self.screen.panels[-1][0]
        self.assertEqual([first.trigger, second.trigger], ["make <all>", "test"])
        self.assertIn("running", first.details)
        self.assertEqual(second.details, "failed, 1 min 2 s")

    def test_nothing_to_list_is_said(self) -> Steps:
        yield from self.list_tasks()
        yield lambda: self.screen.said("Nothing has run in the background")
        self.assertEqual(self.screen.panels, [])

    def test_a_task_is_stopped(self) -> Steps:
        self.chats.answers["tasks.stop"] = "make is stopped."
        task = self.task()
        yield from self.list_tasks(task)
        yield from self.choose("make <all>", "Stop")
        yield lambda: self.screen.said("make is stopped.")
        self.assertEqual(self.chats.of("tasks.stop"), [(self.chat.id, task)])

    def test_a_task_is_followed_in_a_tab_until_it_ends(self) -> Steps:
        self.set_limit("sublime_text.chat.chat_commands", "STEP", 10)
        self.chats.answers["tasks.page"] = "one\n", True
        yield from self.list_tasks(self.task())
        yield from self.choose("make <all>", "Follow")
        yield lambda: self.page() and text_of(self.page()) == "one\n"
        self.chats.answers["tasks.page"] = "one\ntwo\n", False
        yield lambda: text_of(self.page()) == "one\ntwo\n"
        self.assertTrue(self.page().is_read_only())
        asked = len(self.chats.of("tasks.page"))
        yield 100
        self.assertEqual(len(self.chats.of("tasks.page")), asked)

    def test_a_task_that_is_over_is_shown_at_once_and_why_it_can_not_be(self) -> Steps:
        self.chats.answers["tasks.page"] = loaded("backends.daemon.errors").DaemonError(
            "The daemon doesn't know this task any more."
        )
        yield from self.list_tasks(self.task(status="completed"))
        yield from self.choose("make <all>")
        yield lambda: self.page() and "doesn't know" in text_of(self.page())

    def test_a_tab_that_was_closed_is_not_kept_up_to_date(self) -> Steps:
        self.set_limit("sublime_text.chat.chat_commands", "STEP", 10)
        self.chats.answers["tasks.page"] = "one\n", True
        yield from self.list_tasks(self.task(status="paused"))
        yield from self.choose("make <all>", "Follow")
        yield lambda: self.page() and text_of(self.page()) == "one\n"
        self.page().close()
        yield lambda: not self.page()
        asked = len(self.chats.of("tasks.page"))
        yield 200
        self.assertLessEqual(len(self.chats.of("tasks.page")), asked + 1)  # one that was under way

    def page(self) -> Any:
        """The tab of a task."""
        return next(iter(tabs(self.window, "task")), None)
