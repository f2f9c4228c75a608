"""All changes of a turn in one list with their diffs, on the screen."""

from __future__ import annotations

from typing import Any

from .chat_case import ChatCase, Steps, loaded
from .companion_case import text_of
from .own import tabs

BAR = "qwen_companion.chat_bar"


class TestChanges(ChatCase):
    def turn(self, key: str, *names: str, **more: Any) -> Any:
        changes = loaded("chats.history")
        files = tuple(
            changes.ChangedFile(f"sub/{name}", f"/p/sub/{name}", at + 1, 1, f"--- {name}\n+++ {name}\n")
            for at, name in enumerate(names)
        )
        return changes.TurnChanges(key, f"Do {key}", files, **more)

    def list_changes(self, *turns: Any) -> Steps:
        self.chats.answers["changes.by_turn"] = list(turns)
        self.show(self.message("Yes"), state="done", last="done")
        self.window.run_command("qwen_companion_chat_changes")
        yield lambda: self.screen.panels

    @property
    def items(self) -> list[tuple[str, str]]:
        return [(item.trigger, item.annotation) for item in self.screen.panels[-1][0]]

    def page(self) -> Any:
        return next(iter(tabs(self.window, "changes of a turn")), None)

    def test_the_list_has_every_file_with_its_lines(self) -> Steps:
        yield from self.list_changes(self.turn("a", "one.py", "two.py", is_untold=True))
        self.assertEqual(self.items, [("one.py", "+1 −1"), ("two.py", "+2 −1"), ("All of them", "2 files, +3 −2")])
        details = [item.details for item in self.screen.panels[-1][0]]
        self.assertEqual(details[0], ["/p/sub/one.py"])
        self.assertIn("more files", details[-1])

    def test_a_file_is_shown_with_its_diff_among_the_others(self) -> Steps:
        yield from self.list_changes(self.turn("a", "one.py", "two.py"))
        self.screen.pick("two.py")
        yield self.page
        page = self.page()
        self.assertEqual(text_of(page), "--- one.py\n+++ one.py\n\n--- two.py\n+++ two.py\n")
        self.assertTrue(page.is_read_only())
        self.assertEqual(page.substr(page.line(page.sel()[0])), "--- two.py")

    def test_what_was_not_looked_at_is_said_to_be_the_tools_words(self) -> Steps:
        yield from self.list_changes(self.turn("a", "one.py", by_tools=True))
        self.assertIn("agent's tools", str(self.screen.panels[-1][0][-1].details))
        self.screen.pick("one.py")
        yield self.page
        self.assertTrue(text_of(self.page()).startswith("As the agent's tools have told it"))

    def test_all_of_them_begin_at_the_top(self) -> Steps:
        yield from self.list_changes(self.turn("a", "one.py"))
        self.assertEqual(self.items[-1], ("All of them", "1 file, +1 −1"))
        self.screen.pick("All of them")
        yield self.page
        self.assertEqual(self.page().sel()[0].b, 0)

    def test_another_turn_is_chosen(self) -> Steps:
        yield from self.list_changes(self.turn("b", "two.py"), self.turn("a", "one.py"))
        self.screen.pick("Another turn…")
        yield lambda: len(self.screen.panels) == 2
        self.assertEqual(self.items, [("Do b", "+1 −1"), ("Do a", "+1 −1")])
        self.screen.pick("Do a")
        yield lambda: len(self.screen.panels) == 3
        self.assertEqual(self.items[0][0], "one.py")

    def test_the_bar_says_how_many_files_the_last_turn_changed(self) -> Steps:
        self.chats.answers["changes.by_turn"] = [self.turn("a", "one.py")]
        self.show(self.message("Yes"), state="done", last="done")
        self.assertNotIn("±", self.screen.phantoms(self.view, BAR)[0])
        self.show(self.message("Yes"), state="done", last="done", changed=1)
        self.assertIn("± 1 file", self.screen.phantoms(self.view, BAR)[0])
        self.show(self.message("Yes"), state="done", last="done", changed=2)
        self.assertIn("± 2 files", self.screen.phantoms(self.view, BAR)[0])
        self.screen.click(self.view, "changes")
        yield lambda: self.screen.panels

    def test_that_nothing_was_changed_is_said(self) -> Steps:
        self.chats.answers["changes.by_turn"] = loaded("backends.daemon.errors").DaemonError(
            "No turn has changed a file."
        )
        self.show(self.message("Yes"), state="done", last="done")
        self.window.run_command("qwen_companion_chat_changes")
        yield lambda: self.screen.said("No turn has changed a file.")
