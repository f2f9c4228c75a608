"""Diffs of every kind of text: what is shown, and what comes back, byte for byte."""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, loaded, text_of

NOT_MARKED = "changes are not marked"
NOT_A_TEXT = "Not a text"
CHANGES = "qwen_companion.changes"


class TestBytes(CompanionCase):
    """Reverting every change gives the original byte for byte, restoring every one the proposal."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.set_limit("sublime_text.review.diffs", "QUIET", 10)

    def test_line_feeds(self) -> Steps:
        """Any two texts."""
        for seed in range(4):
            yield from self._revert_and_restore(seed, ["\n"])

    def test_carriage_returns_and_line_feeds(self) -> Steps:
        """The endings of Windows."""
        for seed in range(10, 14):
            yield from self._revert_and_restore(seed, ["\r\n"])

    def test_mixed_line_endings(self) -> Steps:
        """A line that is put back has the ending that it had."""
        for seed in range(20, 24):
            yield from self._revert_and_restore(seed, ["\n", "\r\n"])

    def test_a_byte_order_mark(self) -> Steps:
        """The mark is no part of a change."""
        for seed in range(30, 32):
            yield from self._revert_and_restore(seed, ["\r\n"], mark="\ufeff")

    def _revert_and_restore(self, seed: int, endings: list[str], mark: str = "") -> Steps:
        """Revert every change, make every one again, and accept; then once more, accepted when all are reverted."""
        chance = random.Random(seed)  # noqa: S311 - the same texts each time
        words = ["", "alpha", "beta", "\tgamma", "  délta", "x = 1", "😀", "}"]
        # The same line has the same ending on both sides: another ending is no change that could be reverted.
        ending = {word: chance.choice(endings) for word in words}
        lines = [chance.choice(words) for _ in range(30)]
        proposed = [*lines]
        for _ in range(6):
            at = chance.randrange(len(proposed))
            proposed[at : at + chance.choice([0, 1, 3])] = chance.choices(words, k=chance.choice([0, 1, 2]))
        last = ["", "end"]
        original = mark + "".join(line + ending[line] for line in lines) + chance.choice(last)
        proposal = mark + "".join(line + ending[line] for line in proposed) + chance.choice(last)
        for accepts_original in (False, True):
            self.file.write_bytes(original.encode())
            yield from self.open_diff(proposal)
            mine, shown = self.proposal, text_of(self.proposal)
            yield from self._run_on_changes("revert", chance, lambda mine=mine: (text_of(self.original), text_of(mine)))
            self.assertEqual(text_of(mine), text_of(self.original), f"seed {seed}")
            yield from self._run_on_changes("restore", chance, lambda mine=mine, shown=shown: (text_of(mine), shown))
            self.assertEqual(text_of(mine), shown, f"seed {seed}")
            if accepts_original:
                yield from self._run_on_changes(
                    "revert", chance, lambda mine=mine: (text_of(self.original), text_of(mine))
                )
            self.cli.received.clear()
            yield from self.accepted()
            self.assertEqual(
                self.content.encode(), (original if accepts_original else proposal).encode(), f"seed {seed}"
            )

    def _run_on_changes(self, name: str, chance: random.Random, sides: object) -> Steps:
        """Run a command at one of the changes between two texts after the other, until there is none."""
        find = loaded("review.changes").changes
        side = "new" if name == "revert" else "old"
        while found := find(*sides()):  # type: ignore[operator]
            change = chance.choice(found)
            row, before = getattr(change, f"{side}_start"), text_of(self.proposal)
            self.proposal.sel().clear()
            self.proposal.sel().add(self.proposal.text_point(row, 0))
            if name == "revert":
                self.proposal.run_command("qwen_companion_undo_change")
            else:
                diffs, targets = loaded("sublime_text.package").adapter().diffs, loaded("review.changes")
                link = targets.restore_fingerprint(change, loaded("review.changes").lines_of(before))
                diffs.find(self.proposal).actions.follow("restore", link)
            yield {"condition": lambda before=before: text_of(self.proposal) != before, "period": 5}


class TestRecorded(CompanionCase):
    """A command that puts a text into a view does so once."""

    def test_an_edit_that_a_macro_has_recorded_does_nothing_when_it_is_played(self) -> Steps:
        ran: list[tuple[str, Any]] = []
        original = sublime.View.run_command

        def run(view: sublime.View, command: str, args: Any = None) -> None:
            ran.append((command, args))
            original(view, command, args)

        with patch.object(sublime.View, "run_command", run):
            yield from self.open_diff("x = 1\n")
        recorded = [args for command, args in ran if command == "qwen_companion_edit"]
        self.assertTrue(recorded)
        before = text_of(self.view)
        for args in recorded:
            self.view.run_command("qwen_companion_edit", args)
        self.assertEqual((text_of(self.view), self.view.is_dirty()), (before, False))


class TestTabs(CompanionCase):
    """The person's way to indent never gets into a text."""

    def test_tabs_stay_tabs_where_the_person_types_blanks(self) -> Steps:
        """Byte for byte: a view converts inserted tabs if the setting says so."""
        self.file.write_text("all:\n\tmake it\n\ttest it\n")
        yield lambda: "make" in text_of(self.view)
        self.view.settings().set("translate_tabs_to_spaces", True)
        yield from self.open_diff("all:\n\tmake this\n")
        self.assertEqual(text_of(self.original), "all:\n\tmake it\n\ttest it\n")
        self.assertEqual(text_of(self.proposal), "all:\n\tmake this\n")
        yield lambda: self.proposal.get_regions(CHANGES)
        self.window.focus_view(self.proposal)
        self.window.run_command("qwen_companion_go_to_diff")
        self.proposal.run_command("qwen_companion_undo_change")
        yield lambda: text_of(self.proposal) == text_of(self.original)
        self.assertTrue(self.proposal.settings().get("translate_tabs_to_spaces"))
        self.proposal.run_command("undo")
        yield from self.accepted()
        self.assertEqual(self.content, "all:\n\tmake this\n")

    def test_syntax_and_indentation_are_those_of_the_open_file(self) -> Steps:
        """Syntax and tab settings taken from the file."""
        self.view.assign_syntax("scope:source.json")
        self.view.settings().set("tab_size", 3)
        self.view.settings().set("translate_tabs_to_spaces", True)
        yield from self.open_diff("x = 1\n")
        for view in (self.original, self.proposal):
            syntax = view.syntax()
            self.assertEqual(syntax and syntax.scope, "source.json")
            self.assertEqual(view.settings().get("tab_size"), 3)
            self.assertTrue(view.settings().get("translate_tabs_to_spaces"))
            self.assertFalse(view.settings().get("word_wrap"))

    def test_the_indentation_of_a_file_that_is_not_open_is_that_of_its_text(self) -> Steps:
        """Tab settings taken from the file."""
        text = "".join(f"if x{i}:\n  y = {i}\n  if y:\n    z = 1\n" for i in range(8))
        path = self.folder / "two.py"
        path.write_text(text)
        yield from self.open_diff(text + "x = 1\n", path)
        for view in (self.original, self.proposal):
            self.assertEqual(view.settings().get("tab_size"), 2)
            self.assertTrue(view.settings().get("translate_tabs_to_spaces"))
        self.assertEqual(text_of(self.proposal), text + "x = 1\n")
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        preferences = sublime.load_settings("Preferences.sublime-settings")
        self.addCleanup(preferences.set, "detect_indentation", preferences.get("detect_indentation"))
        preferences.set("detect_indentation", False)
        yield from self.open_diff(text + "x = 1\n", path)
        self.assertNotEqual(self.proposal.settings().get("tab_size"), 2)

    def test_the_indentation_of_a_file_that_another_window_shows_is_that_of_its_view(self) -> Steps:
        """Tab settings taken from the file."""
        self.view.close()
        other = yield from self.another_window()
        view = other.open_file(str(self.file))
        yield lambda: not view.is_loading()
        view.settings().set("tab_size", 3)
        yield from self.open_diff("x = 1\n")
        self.assertEqual(self.proposal.settings().get("tab_size"), 3)

    def test_the_syntax_of_a_file_that_is_not_open_is_that_of_its_name(self) -> Steps:
        """Syntax taken from the file."""
        yield from self.open_diff("{}\n", self.folder / "new.json")
        for view in (self.original, self.proposal):
            syntax = view.syntax()
            self.assertEqual(syntax and syntax.scope, "source.json")


class TestKinds(CompanionCase):
    """Binary content, foreign encodings, large files."""

    def test_binary_content_is_shown_without_marks(self) -> Steps:
        """And the header says so."""
        yield from self._assert_not_marked(b"GIF89a\0\1\2\nx\n", "text\n")

    def test_bytes_of_no_known_encoding_are_shown_without_marks(self) -> Steps:
        """Invalid UTF-8, and nothing of Windows-1252 either."""
        yield from self._assert_not_marked(b"caf\x81\xff\n", "café\n")

    def test_a_text_of_too_many_characters_is_shown_without_marks(self) -> Steps:
        """Over a setting's size."""
        self.set_setting("max_marked_characters", 100)
        yield 200
        yield from self._assert_not_marked(b"x = 1\n" * 20, "x = 2\n", "Over “max_marked_characters”")

    def test_a_text_of_too_many_lines_is_shown_without_marks(self) -> Steps:
        """A proposal may have twice as many lines as its file."""
        self.set_setting("max_marked_lines", 100)
        yield 200
        yield from self._assert_not_marked(b"x = 1\n", "x = 2\n" * 201, "Over “max_marked_lines”")

    def test_windows_1252_is_shown_right_on_the_left(self) -> Steps:
        """A file in another encoding."""
        yield from self._assert_shown("naïve – café €5\n", "cp1252")

    def test_utf_16_is_shown_right_on_the_left(self) -> Steps:
        """By its mark, in both orders of bytes."""
        for encoding, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
            yield from self._assert_shown("naïve – 😀\n", encoding, mark)

    def test_a_proposal_of_5_mb_comes_back_byte_for_byte(self) -> Steps:
        """100,000 lines of 5 MB, and google-gemini/gemini-cli#7570: large files hit a limit."""
        line = "%06d: the quick brown fox jumps over it all\r\n"
        original = "".join(line % number for number in range(110_000))
        proposal = original.replace("000777: the", "000777: THE", 1) + "no end"
        self.assertGreater(len(proposal), 5_000_000)
        path = self.folder / "large.txt"
        path.write_bytes(original.encode())
        for edited in (False, True):
            path.write_bytes(original.encode())
            yield from self.open_diff(proposal, path)
            if edited:
                yield lambda: self.proposal.size() == len(proposal.replace("\r\n", "\n"))
                yield 300
                self.proposal.run_command("append", {"characters": "\nmine"})
            self.cli.received.clear()
            yield from self.accepted()
            self.assertTrue(self.content == proposal + ("\r\nmine" if edited else ""))

    def test_a_short_proposal_for_a_large_file_is_marked_to_the_end(self) -> Steps:
        """The sides may be of very different lengths, and are put into their views in parts."""
        lines = [f"{number:06}: the quick brown fox jumps over it all\n" for number in range(99_000)]
        original, head = "".join(lines), len("".join(lines[:10]))
        path = self.folder / "large.txt"
        path.write_text(original)
        yield from self.open_diff("".join([*lines[:10], *lines[-10:]]), path)
        yield {"condition": lambda: self.original.size() == len(original), "timeout": 60_000}
        yield {"condition": lambda: self.original.get_regions(CHANGES), "timeout": 60_000}
        [region] = self.original.get_regions(CHANGES)
        self.assertEqual((region.begin(), region.end()), (head, len(original) - head))

    def _assert_not_marked(self, original: bytes, proposal: str, why: str = NOT_A_TEXT) -> Steps:
        path = self.folder / "data.txt"
        path.write_bytes(original)
        yield from self.open_diff(proposal, path)
        yield lambda: f"{why}: {NOT_MARKED}" in self.screen.header(self.proposal)
        self.proposal.run_command("append", {"characters": "more\n"})
        yield 400
        self.assertEqual([*self.proposal.get_regions(CHANGES), *self.original.get_regions(CHANGES)], [])
        self.assertIn(f"{why}: {NOT_MARKED}", self.screen.header(self.proposal))
        yield from self.accepted()
        self.assertEqual(self.content, proposal + "more\n")

    def _assert_shown(self, text: str, encoding: str, mark: bytes = b"") -> Steps:
        path = self.folder / f"{encoding}.txt"
        path.write_bytes(mark + text.encode(encoding))
        yield from self.open_diff("changed\n" + text, path)
        self.assertEqual(text_of(self.original), text)
        yield lambda: self.proposal.get_regions(CHANGES)
        self.assertEqual([self.proposal.substr(r) for r in self.proposal.get_regions(CHANGES)], ["changed\n"])
        self.assertNotIn(NOT_MARKED, self.screen.header(self.proposal))
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
