"""An agent writes a file of which a tab has unsaved text: merge, keep, or take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

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
        self.file.write_bytes(after.encode())
        self.noticed(after)
        yield lambda: self.screen.phantoms(self.view, PHANTOM)

    def noticed(self, after: str) -> None:
        """A look has found what an agent has written."""
        self.adapter.port.written_below(
            self.window.id(), str(self.file), ["Claude Agent"], BEFORE.encode(), after.encode()
        )

    def nothing_is_asked(self) -> Steps:
        """What was posted before has come, and the tab isn't asked about."""
        come: list[bool] = []
        self.adapter._bridge.post(lambda: come.append(True))
        yield lambda: come
        self.assertEqual(self.screen.phantoms(self.view, PHANTOM), [])

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

    def test_a_late_look_does_not_ask_about_what_was_merged_or_kept(self) -> Steps:
        """Two windows whose folders overlap look at one file, each in its own time."""
        after = BEFORE.replace("line 6\n", "line six\n")
        for href in ("merge", "keep"):
            with self.subTest(href):
                self.file.write_text(BEFORE)
                self.view.run_command("revert")
                yield lambda: text_of(self.view) == BEFORE
                self.type("mine\n")
                yield from self.agent_writes(after)
                self.screen.click(self.view, href)
                yield lambda: not self.screen.phantoms(self.view, PHANTOM)
                self.noticed(after)
                yield from self.nothing_is_asked()

    def test_a_late_look_does_not_ask_about_what_the_tab_had_loaded_before_it_was_edited(self) -> Steps:
        after = BEFORE.replace("line 6\n", "line six\n")
        self.file.write_text(after)
        yield lambda: text_of(self.view) == after
        self.type("mine\n")
        self.noticed(after)
        yield from self.nothing_is_asked()

    def test_what_an_agent_writes_after_the_decision_is_asked_about(self) -> Steps:
        after = BEFORE.replace("line 6\n", "line six\n")
        for href in ("keep", "merge"):
            self.type("mine\n")
            yield from self.agent_writes(after)
            self.screen.click(self.view, href)
            yield lambda: not self.screen.phantoms(self.view, PHANTOM)
            after += f"{href}\n"
        yield from self.agent_writes(after)

    def test_a_second_merge_begins_with_what_the_first_has_merged(self) -> Steps:
        """Else both sides would have changed the line, each in its own way."""
        first = BEFORE.replace("line 6\n", "line six\n")
        second = BEFORE.replace("line 6\n", "line VI\n")
        self.type("mine\n")
        for after in (first, second):
            yield from self.agent_writes(after)
            self.screen.click(self.view, "merge")
            yield lambda text=after: text_of(self.view) == f"mine\n{text}"

    def test_a_merge_after_one_that_was_undone_begins_with_what_was_there_before_both(self) -> Steps:
        first = BEFORE.replace("line 6\n", "line six\n")
        second = first.replace("line 8\n", "line eight\n")
        self.type("mine\n")
        yield from self.agent_writes(first)
        self.screen.click(self.view, "merge")
        yield lambda: text_of(self.view) == f"mine\n{first}"
        self.view.run_command("undo")
        yield from self.agent_writes(second)
        self.screen.click(self.view, "merge")
        yield lambda: text_of(self.view) == f"mine\n{second}"

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

    def test_the_agents_bytes_stay_as_they_are(self) -> Steps:
        """Whatever its line endings are."""
        for after in (b"one\r\ntwo\r\n", b"one\r\ntwo\nthree", b"\xef\xbb\xbfone  \ntwo", b"one\rtwo\r"):
            with self.subTest(after):
                self.type("mine\n")
                yield from self.agent_writes(after.decode())
                self.screen.click(self.view, "take")
                yield lambda: not self.view.is_dirty() and "two" in text_of(self.view)
                yield lambda data=after: self.file.read_bytes() == data
                yield lambda: not self.screen.phantoms(self.view, PHANTOM)

    def between(self, act: Callable[[], object]) -> None:
        """Do something each time after the file was read, before the text comes into the tab."""
        real = self.adapter.unsaved._elsewhere

        def elsewhere(call: Callable[[], Any], done: Callable[[Any], object]) -> None:
            real(call, lambda found: (act(), done(found)))

        self.adapter.unsaved._elsewhere = elsewhere
        self.addCleanup(setattr, self.adapter.unsaved, "_elsewhere", real)

    def test_what_the_agent_writes_meanwhile_is_taken_too(self) -> Steps:
        self.type("mine\n")
        yield from self.agent_writes("older\n")
        newer = iter(["newer text\n"])
        self.between(lambda: [self.file.write_text(text) for text in newer])
        self.screen.click(self.view, "take")
        yield lambda: text_of(self.view) == "newer text\n" and not self.view.is_dirty()
        self.assertEqual(self.file.read_text(), "newer text\n")

    def test_a_file_that_is_written_again_and_again_is_not_overwritten(self) -> Steps:
        self.type("mine\n")
        yield from self.agent_writes("older\n")
        count = iter(range(1, 1000))
        self.between(lambda: self.file.write_text("x" * next(count)))
        self.screen.click(self.view, "take")
        yield lambda: self.screen.said("has changed meanwhile")
        self.assertEqual(text_of(self.view), f"mine\n{BEFORE}")
        self.assertEqual(self.file.read_text(), "x" * (next(count) - 1))

    def test_the_round_hears_that_the_tab_has_the_agents_text(self) -> Steps:
        """A later save has then overwritten nothing."""
        posted = self.posted()
        self.type("mine\n")
        yield from self.agent_writes(BEFORE.replace("line 6\n", "line six\n"))
        self.screen.click(self.view, "take")
        yield lambda: ("loaded", str(self.file)) in posted

    def test_the_round_hears_of_a_tab_that_is_reverted(self) -> Steps:
        posted = self.posted()
        self.type("mine\n")
        yield from self.agent_writes(BEFORE.replace("line 6\n", "line six\n"))
        self.view.run_command("revert")
        yield lambda: ("loaded", str(self.file)) in posted
        yield lambda: not self.screen.phantoms(self.view, PHANTOM)

    def posted(self) -> list[object]:
        """The keys of what is posted to the companion thread from now on."""
        real, keys = self.adapter.thread.post, list[object]()
        patcher = patch.object(self.adapter.thread, "post", lambda call, key=None: (keys.append(key), real(call, key)))
        patcher.start()
        self.addCleanup(patcher.stop)
        return keys

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
        self.adapter.port.written_below(
            self.window.id(), str(self.file), ["Claude Agent"], BEFORE.encode(), after.encode()
        )
        yield 100
        self.assertEqual(self.screen.phantoms(self.view, PHANTOM), [])
