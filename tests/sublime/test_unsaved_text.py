"""An agent writes a file of which a tab has unsaved text: merge, keep, or take."""

from __future__ import annotations

from .companion_case import CompanionCase, Steps, loaded, text_of

BEFORE = "".join(f"line {number}\n" for number in range(1, 9))
PHANTOM = "qwen_companion.unsaved"


class TestUnsavedText(CompanionCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.file.write_text(BEFORE)
        yield lambda: text_of(self.view) == BEFORE
        self.adapter = loaded("sublime_text.package").adapter()

    def type(self, text: str) -> None:
        """Write at the beginning, unsaved."""
        self.view.sel().clear()
        self.view.sel().add(0)
        self.view.run_command("insert", {"characters": text})

    def agent_writes(self, after: str) -> Steps:
        """An agent writes the file, which is noticed."""
        self.file.write_text(after)
        self.adapter.written_below(self.window.id(), str(self.file), ["Claude Agent"], BEFORE.encode(), after.encode())
        yield lambda: self.screen.phantoms(self.view, PHANTOM)

    def test_both_are_merged_and_nothing_is_saved(self) -> Steps:
        self.type("mine\n")
        after = BEFORE.replace("line 6\n", "line six\n")
        yield from self.agent_writes(after)
        [words] = self.screen.phantoms(self.view, PHANTOM)
        self.assertIn("Claude Agent has written", words)
        self.assertTrue(words.endswith("Merge Keep Mine Take Theirs"))
        self.screen.click(self.view, "merge")
        yield lambda: text_of(self.view) == f"mine\n{after}"
        self.assertTrue(self.view.is_dirty())
        self.assertEqual(self.file.read_text(), after)
        self.assertEqual(self.screen.phantoms(self.view, PHANTOM), [])
        self.view.run_command("undo")
        self.assertEqual(text_of(self.view), f"mine\n{BEFORE}")

    def test_what_conflicts_stays_as_it_is(self) -> Steps:
        self.type("mine ")
        yield from self.agent_writes(BEFORE.replace("line 1\n", "line one\n"))
        self.screen.click(self.view, "merge")
        yield lambda: self.screen.said("changed the same lines")
        self.assertEqual(text_of(self.view), f"mine {BEFORE}")
        self.assertTrue(self.screen.phantoms(self.view, PHANTOM))

    def test_the_agents_text_is_taken_as_one_step_of_undo(self) -> Steps:
        self.type("mine\n")
        after = BEFORE.replace("line 6\n", "line six\n")
        yield from self.agent_writes(after)
        self.screen.click(self.view, "take")
        yield lambda: text_of(self.view) == after and not self.view.is_dirty()
        self.assertEqual(self.file.read_text(), after)
        self.view.run_command("undo")
        self.assertEqual(text_of(self.view), f"mine\n{BEFORE}")

    def test_ones_own_text_is_kept_and_it_is_said_once(self) -> Steps:
        self.type("mine\n")
        yield from self.agent_writes(BEFORE.replace("line 6\n", "line six\n"))
        yield from self.agent_writes(BEFORE.replace("line 6\n", "line seven\n"))
        self.assertEqual(len(self.screen.phantoms(self.view, PHANTOM)), 1)
        self.view.run_command("qwen_companion_unsaved_text")
        yield lambda: self.screen.panels
        self.screen.pick("Keep Mine")
        yield lambda: not self.screen.phantoms(self.view, PHANTOM)
        self.assertEqual(text_of(self.view), f"mine\n{BEFORE}")

    def test_nothing_is_asked_of_a_tab_without_unsaved_text(self) -> Steps:
        after = BEFORE.replace("line 6\n", "line six\n")
        self.file.write_text(after)
        self.adapter.written_below(self.window.id(), str(self.file), ["Claude Agent"], BEFORE.encode(), after.encode())
        yield 100
        self.assertEqual(self.screen.phantoms(self.view, PHANTOM), [])
