"""An agent writes a file of which a tab has unsaved text: merge, keep, or take."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import Mock, patch

import sublime

from .companion_case import CompanionCase, Steps, at_once, loaded, text_of

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
        self.noticed()
        yield from self.looked_into()
        self.assertTrue(self.screen.phantoms(self.view, PHANTOM))

    def noticed(self) -> None:
        """The word of a look comes that has found the file to be written by an agent."""
        self.adapter.unsaved.written_below(str(self.file), ["Claude Agent"], BEFORE.encode())

    def looked_into(self) -> Steps:
        """What was told before has come, and was compared with what is on the disk."""
        come: list[bool] = []
        self.adapter.bridge.post(lambda: come.append(True))
        yield lambda: come
        yield lambda: not any(told.reading for told in self.adapter.unsaved._told.values())

    def nothing_is_asked(self) -> Steps:
        """What was told before has come, and the tab isn't asked about."""
        yield from self.looked_into()
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
                self.noticed()
                yield from self.nothing_is_asked()

    def test_a_late_look_does_not_ask_about_what_the_tab_had_loaded_before_it_was_edited(self) -> Steps:
        """Nor does one that has found an older text than that."""
        after = BEFORE.replace("line 6\n", "line six\n")
        self.file.write_text(after)
        yield lambda: text_of(self.view) == after
        self.type("mine\n")
        self.noticed()
        yield from self.nothing_is_asked()

    def test_the_answer_is_about_what_is_on_the_disk_whatever_a_look_has_found(self) -> Steps:
        """The agent has written it again since the look, and the next look tells of that."""
        self.type("mine\n")
        for text in ("line 6 and more\n", "line six\n"):
            self.file.write_text(BEFORE.replace("line 6\n", text))
        self.noticed()
        yield from self.looked_into()
        self.assertTrue(self.screen.phantoms(self.view, PHANTOM))
        self.screen.click(self.view, "keep")
        yield lambda: not self.screen.phantoms(self.view, PHANTOM)
        self.noticed()
        yield from self.nothing_is_asked()

    def test_a_tab_that_is_edited_before_the_editor_has_loaded_it_again_is_asked_about(self) -> Steps:
        """It had no unsaved text yet when it was told of the look."""
        self.file.write_text(BEFORE.replace("line 6\n", "line six\n"))
        at_once(self.adapter.unsaved.written_below, str(self.file), ["Claude Agent"], BEFORE.encode())
        self.type("mine\n")
        yield lambda: self.screen.phantoms(self.view, PHANTOM)

    def test_a_tab_is_asked_about_by_the_next_edit_if_it_was_clean_when_the_file_was_read(self) -> Steps:
        with patch.object(self.adapter, "on_another_thread", lambda call, done: done(call())):
            self.file.write_text(BEFORE.replace("line 6\n", "line six\n"))
            at_once(self.adapter.unsaved.written_below, str(self.file), ["Claude Agent"], BEFORE.encode())
            self.assertEqual(self.screen.phantoms(self.view, PHANTOM), [])
            self.type("mine\n")
        yield lambda: self.screen.phantoms(self.view, PHANTOM)

    def test_a_tab_that_is_typed_in_at_the_end_of_a_save_is_asked_about_no_more(self) -> Steps:
        """As by a formatter, which runs after the save: the tab has unsaved text when we hear of it."""
        self.type("mine\n")
        yield from self.agent_writes(BEFORE.replace("line 6\n", "line six\n"))
        real = self.adapter.events.on_post_save

        def saved(view: sublime.View) -> None:
            self.type("typed\n")
            real(view)

        with patch.object(self.adapter.events, "on_post_save", saved):
            self.view.run_command("save")
            yield lambda: self.view.is_dirty() and text_of(self.view).startswith("typed")
        yield lambda: not self.screen.phantoms(self.view, PHANTOM)
        yield from self.is_loaded_from(f"mine\n{BEFORE}")
        self.noticed()
        yield from self.nothing_is_asked()

    def test_a_reading_that_a_save_or_a_load_overtakes_is_done_again(self) -> Steps:
        """What it has read is neither asked about nor taken for what is there now."""
        for command in ("save", "revert"):
            with self.subTest(command):
                self.file.write_text(BEFORE)
                self.view.run_command("revert")
                yield lambda: text_of(self.view) == BEFORE
                self.type("mine\n")
                self.file.write_text(BEFORE.replace("line 6\n", "line six\n"))
                once = iter([command])

                def overtake(left: Iterator[str] = once) -> None:
                    for each in left:
                        self.view.run_command(each)
                        self.type("more\n")

                with self.between(overtake):
                    self.noticed()
                    yield lambda: text_of(self.view).startswith("more")
                    yield from self.nothing_is_asked()
        self.file.write_text("agent\n")
        self.noticed()
        yield from self.looked_into()
        self.assertTrue(self.screen.phantoms(self.view, PHANTOM))

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

    def test_no_cli_has_a_tab_saved_that_is_asked_about(self) -> Steps:
        """Claude Code has a file saved before it reads it: that would replace what another agent has written."""
        save = lambda: at_once(self.adapter.tools.save_file, self.window.id(), str(self.file))  # noqa: E731
        after = BEFORE.replace("line 6\n", "line six\n")
        self.type("mine\n")
        self.file.write_text(after)
        at_once(self.adapter.unsaved.written_below, str(self.file), ["Claude Agent"], BEFORE.encode())
        self.assertFalse(save())  # also before it is known what the disk has
        yield from self.looked_into()
        self.assertTrue(self.screen.phantoms(self.view, PHANTOM))
        self.assertFalse(save())
        self.assertEqual((self.file.read_text(), text_of(self.view)), (after, f"mine\n{BEFORE}"))
        self.screen.click(self.view, "keep")
        self.assertTrue(save())
        self.assertEqual(self.file.read_text(), f"mine\n{BEFORE}")

    def test_a_tab_that_the_editor_has_yet_to_load_again_needs_no_save_for_a_cli(self) -> Steps:
        """It has no unsaved text, so nothing is to be asked about before it is edited."""
        self.file.write_text(BEFORE.replace("line 6\n", "line six\n"))
        at_once(self.adapter.unsaved.written_below, str(self.file), ["Claude Agent"], BEFORE.encode())
        self.assertFalse(self.view.is_dirty())
        self.assertTrue(at_once(self.adapter.tools.save_file, self.window.id(), str(self.file)))
        yield

    def test_what_can_not_be_merged_for_another_reason_is_not_said_to_conflict(self) -> Steps:
        self.type("mine\n")
        yield from self.agent_writes(BEFORE.replace("line 6\n", "line six\n"))
        git = loaded("snapshots.git")
        missing = git.GitMissingError("Git is not on the PATH of Sublime Text")
        with patch.object(git, "program", Mock(side_effect=missing)):
            self.screen.click(self.view, "merge")
            yield lambda: self.screen.said("Git is not on the PATH")
        self.file.unlink()
        self.screen.click(self.view, "merge")
        yield lambda: self.screen.said(f"{self.file.name} can't be read.")
        self.assertFalse(self.screen.said("changed the same lines"))
        self.assertEqual(text_of(self.view), f"mine\n{BEFORE}")

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

    @contextlib.contextmanager
    def between(self, act: Callable[[], object]) -> Iterator[None]:
        """Do something each time after the file was read, before what was read comes to the tab."""
        real = self.adapter.on_another_thread

        def elsewhere(call: Callable[[], Any], done: Callable[[Any], object]) -> None:
            real(call, lambda found: (act(), done(found)))

        with patch.object(self.adapter, "on_another_thread", elsewhere):
            yield

    def test_what_the_agent_writes_meanwhile_is_taken_too(self) -> Steps:
        self.type("mine\n")
        yield from self.agent_writes("older\n")
        newer = iter(["newer text\n"])
        with self.between(lambda: [self.file.write_text(text) for text in newer]):
            self.screen.click(self.view, "take")
            yield lambda: text_of(self.view) == "newer text\n" and not self.view.is_dirty()
        self.assertEqual(self.file.read_text(), "newer text\n")

    def test_a_file_that_is_written_again_and_again_is_not_overwritten(self) -> Steps:
        self.type("mine\n")
        yield from self.agent_writes("older\n")
        count = iter(range(1, 1000))
        with self.between(lambda: self.file.write_text("x" * next(count))):
            self.screen.click(self.view, "take")
            yield lambda: self.screen.said("has changed meanwhile")
        self.assertEqual(text_of(self.view), f"mine\n{BEFORE}")
        self.assertEqual(self.file.read_text(), "x" * (next(count) - 1))

    def test_a_tab_that_takes_the_agents_text_is_loaded_from_it(self) -> Steps:
        """A later save has then overwritten nothing."""
        self.type("mine\n")
        after = BEFORE.replace("line 6\n", "line six\n")
        yield from self.agent_writes(after)
        self.screen.click(self.view, "take")
        yield from self.is_loaded_from(after)

    def test_a_tab_that_is_reverted_is_loaded_from_the_agents_text(self) -> Steps:
        self.type("mine\n")
        after = BEFORE.replace("line 6\n", "line six\n")
        yield from self.agent_writes(after)
        self.view.run_command("revert")
        yield from self.is_loaded_from(after)
        yield lambda: not self.screen.phantoms(self.view, PHANTOM)

    def test_what_is_merged_is_an_edit_of_the_agents_text(self) -> Steps:
        """Saved, the person's part of it is theirs, and the agent's is not."""
        self.type("mine\n")
        after = BEFORE.replace("line 6\n", "line six\n")
        yield from self.agent_writes(after)
        self.screen.click(self.view, "merge")
        yield from self.is_loaded_from(after)

    def test_a_save_knows_what_it_replaces(self) -> Steps:
        """Nobody has looked since the agent has written the file."""
        self.set_limit("sublime_text.review.unsaved", "SAVE_LIMIT", 10.0)  # a busy machine reads no file in 0.03 s
        known = self.adapter.loaded
        yield from self.is_loaded_from(BEFORE)
        self.type("mine\n")
        self.file.write_text("agent\n")
        with patch.object(self.adapter.thread, "post") as posted:
            self.view.run_command("save")
            yield lambda: posted.called
        companion = Mock()
        for call in posted.call_args_list:
            call.args[0](companion)
        [(_, saved, _)] = [call.args for call in companion.changes.saved.call_args_list]
        self.assertEqual((saved.loaded, saved.text), (BEFORE, f"mine\n{BEFORE}"))
        self.assertEqual((saved.found, saved.is_lost), (b"agent\n", False))
        self.assertEqual(known._known[self.view.buffer_id()].text, f"mine\n{BEFORE}")

    def reload(self, meanwhile: Callable[[], object] = lambda: None) -> Steps:
        package = loaded("sublime_text.package")
        package.unload()
        yield 1
        meanwhile()
        package.load()
        self.adapter = package.adapter()
        yield {"condition": lambda: not self.adapter.thread.is_starting, "timeout": 60_000}

    def test_what_a_tab_was_loaded_from_is_known_after_a_reload_of_the_package(self) -> Steps:
        self.set_limit("sublime_text.review.unsaved", "SAVE_LIMIT", 10.0)  # a busy machine reads no file in 0.03 s
        yield from self.is_loaded_from(BEFORE)
        self.type("mine\n")
        yield from self.reload()
        after = BEFORE.replace("line 6\n", "line six\n")
        self.file.write_text(after)
        self.adapter.loaded.saving(self.view)
        saved = self.adapter.loaded._saving[self.view.buffer_id()]
        self.assertEqual((saved.loaded, saved.found, saved.is_lost), (BEFORE, after.encode(), False))

    def test_nothing_is_taken_for_the_origin_of_a_tab_that_was_edited_while_the_package_was_away(self) -> Steps:
        """It may have been saved, too."""
        self.type("mine\n")

        def meanwhile() -> None:
            self.view.run_command("save")
            self.type("again\n")

        yield from self.reload(meanwhile)
        self.assertTrue(self.view.is_dirty())
        self.assertIsNone(self.adapter.loaded.text(self.view))

    def test_a_tab_is_still_asked_about_after_a_reload_of_the_package(self) -> Steps:
        self.type("mine\n")
        after = BEFORE.replace("line 6\n", "line six\n")
        yield from self.agent_writes(after)
        yield from self.reload()
        yield lambda: self.screen.phantoms(self.view, PHANTOM)
        self.assertIn("Claude Agent has written", self.screen.phantoms(self.view, PHANTOM)[0])
        self.screen.click(self.view, "merge")
        yield lambda: text_of(self.view) == f"mine\n{after}"

    def test_a_tab_that_has_the_file_by_a_link_is_still_asked_about_after_a_reload_of_the_package(self) -> Steps:
        """What was written is known by its real path."""
        link = self.folder.with_name(f"{self.folder.name}-link")
        os.symlink(self.folder, link)
        self.addCleanup(link.unlink)
        self.view.retarget(str(link / self.file.name))
        self.type("mine\n")
        yield from self.agent_writes(BEFORE.replace("line 6\n", "line six\n"))
        yield from self.reload()
        yield lambda: self.screen.phantoms(self.view, PHANTOM)

    def test_a_tab_that_is_decided_about_is_not_asked_about_again_after_a_reload_of_the_package(self) -> Steps:
        self.type("mine\n")
        yield from self.agent_writes(BEFORE.replace("line 6\n", "line six\n"))
        self.screen.click(self.view, "keep")
        yield lambda: not self.screen.phantoms(self.view, PHANTOM)
        yield from self.reload()
        self.noticed()
        yield from self.nothing_is_asked()

    def test_what_was_not_saved_is_a_save_of_the_person_before_an_agent_writes_over_it(self) -> Steps:
        """The agent has read it, and what it writes has it, too."""
        yield from self.is_loaded_from(BEFORE)
        self.type("mine\n")
        mine = f"mine\n{BEFORE}"
        with patch.object(self.adapter.thread, "post") as posted:
            loaded("sublime_text.buffers").replace(str(self.file), f"{mine}agent\n", mine)
            yield lambda: posted.called
        companion = Mock()
        for call in posted.call_args_list:
            call.args[0](companion)
        [(_, saved, _)] = [call.args for call in companion.changes.saved.call_args_list]
        self.assertEqual((saved.loaded, saved.text), (BEFORE, mine))
        self.assertEqual(self.file.read_text(), f"{mine}agent\n")
        self.assertFalse(self.view.is_dirty())

    def test_a_save_waits_for_no_disk_that_hangs(self) -> Steps:
        yield from self.is_loaded_from(BEFORE)
        self.type("mine\n")
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        with patch.object(loaded("sublime_text.review.unsaved"), "stamp", lambda _: go_on.wait(30) and None):
            began = time.monotonic()
            self.adapter.loaded.saving(self.view)
            self.assertLess(time.monotonic() - began, 1)
        self.assertTrue(self.adapter.loaded.saved(self.view).is_lost)

    def is_loaded_from(self, text: str) -> Steps:
        """The tab is known to be loaded from a text, which the file has."""
        known = self.adapter.loaded._known
        yield lambda: (found := known.get(self.view.buffer_id())) and found.text == text and found.stamp

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
        self.noticed()
        yield from self.nothing_is_asked()
