"""What a diff looks like. docs/pictures shows the same."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .changes_case import CHANGES, FILE, GAPS, LINES, PROPOSAL, ROWS, ChangesCase, without
from .companion_case import Steps, diff_views, loaded, text_of

FILLERS = "qwen_companion.fillers"
WORDS = "qwen_companion.words"
REVERTED = "qwen_companion.reverted"
KEYS = "zy_qwen_companion_keys"
TOP = "".join(["new one\n", "new two\n", "new three\n", *LINES])
Flags = sublime.RegionFlags


def narrow(columns: int) -> Any:
    """Have every view be that wide."""
    return patch.object(sublime.View, "viewport_extent", lambda view: (columns * view.em_width(), 600.0))


class TestLook(ChangesCase):
    """Lines, words, fillers and links."""

    def test_changed_words_are_filled_and_not_boxed(self) -> Steps:
        """In the colours of the editor's own inline diff."""
        yield from self.open_changes()
        for view, kind in ((self.original, "deleted"), (self.proposal, "inserted")):
            scope, _, flags = self.screen.drawn(view, WORDS)
            self.assertEqual(scope, f"diff.{kind}.char")
            self.assertFalse(flags & Flags.DRAW_NO_FILL)
            self.assertTrue(flags & Flags.DRAW_NO_OUTLINE)
            scope, icon, flags = self.screen.drawn(view, CHANGES)
            self.assertEqual((scope, icon), (f"diff.{kind}", "dot"))
            self.assertFalse(flags & Flags.DRAW_NO_FILL)

    def test_a_colour_scheme_without_backgrounds_for_a_diff_outlines_the_lines(self) -> Steps:
        """A fill in the colour of a text would hide the words in it."""
        with patch.object(sublime.View, "style_for_scope", lambda *_: {"foreground": "#00ff00"}):
            yield from self.open_changes()
        scope, _, flags = self.screen.drawn(self.proposal, WORDS)
        self.assertEqual((scope, flags & Flags.DRAW_NO_FILL), ("markup.inserted", Flags.NONE))
        scope, _, flags = self.screen.drawn(self.proposal, CHANGES)
        self.assertEqual((scope, flags & Flags.DRAW_NO_FILL), ("markup.inserted", Flags.DRAW_NO_FILL))

    def test_the_editors_own_gutter_marks_say_nothing_beside_ours(self) -> Steps:
        """They said the same, perhaps a line apart. Its inline diff needs them; ours say nothing then."""
        yield from self.open_changes()
        self.assertFalse(self.proposal.settings().get("mini_diff"))
        self.command("toggle_diff_layout")
        yield lambda: self.screen.drawn(self.proposal, CHANGES)[1] == ""
        self.assertTrue(self.proposal.settings().get("mini_diff"))
        self.assertTrue(self.screen.drawn(self.proposal, CHANGES)[2] & Flags.DRAW_NO_FILL)
        self.command("toggle_diff_layout")
        yield lambda: self.screen.drawn(self.proposal, CHANGES)[1] == "dot"
        self.assertFalse(self.proposal.settings().get("mini_diff"))

    def test_the_line_below_a_deletion_has_neither_a_mark_nor_a_link(self) -> Steps:
        """The link is on a line of its own kind, in both layouts."""
        yield from self.open_changes()
        for fillers in (["↩ restore 2 lines"], ["↩ restore 2 lines"]):
            [gap] = self.proposal.get_regions(GAPS)
            self.assertEqual(self.proposal.rowcol(gap.b), (ROWS[2], 0))
            self.assertTrue(self.screen.drawn(self.proposal, GAPS)[2] & Flags.HIDDEN)
            yield lambda fillers=fillers: self.screen.phantoms(self.proposal, FILLERS) == fillers
            self.assertEqual(len(self.screen.annotations(self.proposal)), 2)
            self.command("toggle_diff_layout")
            yield from self.turned()
        self.screen.click(self.proposal, self.screen.links(self.proposal)[-1])
        yield from self.becomes(without(2))

    def test_a_reverted_change_is_outlined(self) -> Steps:
        """It stays visible, all its lines."""
        yield from self.open_changes()
        self.put_caret(ROWS[2])
        self.command("undo_change")
        yield lambda: self.proposal.get_regions(REVERTED)
        [region] = self.proposal.get_regions(REVERTED)
        self.assertEqual(self.proposal.substr(region), "".join(LINES[29:31]))
        _, icon, flags = self.screen.drawn(self.proposal, REVERTED)
        self.assertEqual((icon, flags & Flags.DRAW_NO_OUTLINE), ("circle", Flags.NONE))

    def test_a_link_in_a_narrow_pane_is_one_glyph(self) -> Steps:
        """A pane that becomes wider has the words."""
        self.set_limit("sublime_text.review.diff_view", "WATCH", 20)
        with narrow(40):
            yield from self.open_changes()
            self.assertEqual(self.screen.annotations(self.proposal), ["↩", "↩"])
            self.assertEqual(self.screen.phantoms(self.proposal, FILLERS), ["↩"])
            self.screen.click(self.proposal, self.screen.links(self.proposal)[0])
            yield from self.becomes(without(0))
            yield lambda: self.screen.restores(self.proposal)
        yield lambda: self.screen.annotations(self.proposal) == ["↩ undo"]


class TestTop(ChangesCase):
    """What is new or gone above the first line reads as that. No phantom can be above it."""

    def test_a_filler_for_lines_above_the_first_one_says_so(self) -> Steps:
        yield from self.open_changes(TOP)
        yield lambda: self.screen.phantoms(self.original, FILLERS) == ["↑ 3 new lines above"]
        self.assertEqual(text_of(self.original), FILE)
        heights = [
            [view.text_to_layout(text_of(view).index(f"line {number} is"))[1] for number in (2, 3, 60)]
            for view in (self.original, self.proposal)
        ]
        if self._fillers_are_exact():
            self.assertEqual(*heights)

    def test_a_link_for_lines_that_were_above_the_first_one_says_so(self) -> Steps:
        self.file.write_text(f"gone\n{FILE}")
        yield lambda: text_of(self.view).startswith("gone")
        yield from self.open_changes(PROPOSAL)
        yield lambda: len(self.screen.phantoms(self.proposal, FILLERS)) == 2
        shown = self.screen.phantoms(self.proposal, FILLERS)
        self.assertEqual(shown, ["↩ restore 1 line above", "↩ restore 2 lines"])

    def _fillers_are_exact(self) -> bool:
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        return diff._proposal_marks.are_fillers_exact and diff._original_marks.are_fillers_exact


class TestReach(ChangesCase):
    """Accept, Reject and the place of the caret, wherever one scrolls."""

    def test_messages_name_the_persons_own_keys(self) -> Steps:
        """Theirs go before ours; a key of ours that they use for something else is not named."""
        keys = loaded("sublime_text.keys")
        theirs = """[
            // Comments and trailing commas are fine.
            { "keys": ["f9"], "command": "qwen_companion_go_to_diff", "context": [{ "key": "qwen_companion.any" }] },
            { "keys": ["primary+shift+f8"], "command": "build" },
            { "keys": ["primary+f8"], "command": "build", "context": [{ "key": "selector", "operand": "source.c" }] },
            { "keys": ["primary+k", "x"], "command": "qwen_companion_accept_diff", "args": { "by_key": true } },
        ]"""
        load = sublime.load_resource

        def read(name: str) -> str:
            if name == "Packages/User/Default.sublime-keymap":
                return theirs
            return "[{" if name.startswith("Packages/User/") else load(name)

        self.addCleanup(keys.KEYS.forget)
        with patch.object(sublime, "load_resource", read):
            keys.KEYS.forget()
            yield from self.open_changes()
            self.assertIn("Next F9 · Keep", self.proposal.get_status(KEYS))
            yield lambda: "1 diff (F9)" in self.view.get_status("zz_qwen_companion")
            mac = sublime.platform() == "osx"
            self.assertEqual(keys.KEYS.of("accept_diff"), "⌘K, X" if mac else "Ctrl+K, X")
            self.assertEqual(keys.KEYS.of("keep_change"), "⌘F8" if mac else "Ctrl+F8")
            self.assertEqual((keys.KEYS.of("undo_change"), keys.KEYS.in_brackets("undo_change")), ("", ""))
            self.assertEqual(keys.KEYS.of("go_to_diff", previous=True), "⇧F8" if mac else "Shift+F8")

    def test_a_mistake_in_the_persons_keymap_costs_no_diff_and_no_other_key(self) -> Steps:
        keys, load = loaded("sublime_text.keys"), sublime.load_resource
        theirs = """[
            { "keys": ["f9"], "command": "qwen_companion_go_to_diff" },
            { "keys": "f10", "command": "build" },
            { "keys": [null, 7], "command": "build" },
            { "keys": [""], "command": "build" },
            { "keys": ["f7"], "command": "build", "args": ["a"] },
            { "keys": ["f7"], "command": "build", "context": { "key": "selector" } },
            { "keys": ["f7"], "command": "build", "context": ["selector", { "key": null }] },
            { "keys": ["f7"] },
            ["f7", "build"], "f7", null,
        ]"""
        wanted = "Packages/User/Default.sublime-keymap"
        self.addCleanup(keys.KEYS.forget)
        with patch.object(sublime, "load_resource", lambda name: theirs if name == wanted else load(name)):
            keys.KEYS.forget()
            yield from self.open_changes()
            self.assertIn("Next F9 · Keep", self.proposal.get_status(KEYS))

    def test_the_status_bar_says_which_change_the_caret_is_in_and_names_the_keys(self) -> Steps:
        yield from self.open_changes()
        keys = "Accept Ctrl+S · Reject Shift+Esc · Next F8 · Keep Ctrl+F8 · Undo Ctrl+Shift+F8"
        if sublime.platform() == "osx":
            keys = "Accept ⌘S · Reject ⇧Esc · Next F8 · Keep ⌘F8 · Undo ⇧⌘F8"
        for at in range(1, 4):
            self.go()
            yield lambda at=at: self.proposal.get_status(KEYS) == f"Change {at} of 3 · {keys}"
        self.put_caret(ROWS[1] + 1)
        yield lambda: self.proposal.get_status(KEYS).startswith("Change 2 of 3 · ")
        self.put_caret(ROWS[1] + 2)
        yield lambda: self.proposal.get_status(KEYS).startswith("3 changes · ")

    def test_the_header_keeps_its_links_where_it_does_not_fit(self) -> Steps:
        """Three columns in a group, or a narrow screen."""
        self.set_limit("sublime_text.review.diff_view", "WATCH", 20)
        self.window.set_project_data({"folders": []})
        header = loaded("sublime_text.review.header")
        for columns in (100, 40, 30, 20):
            with narrow(columns):
                yield from self.open_changes()
                shown = self.screen.header(self.proposal)
                self.assertEqual([shown.count(sign) for sign in "✓✗‹›"], [1, 1, 1, 1])
                self.assertLessEqual(len(shown) + 10, columns)
                self.assertEqual("Accept" in shown, columns >= 40)
                if columns == 40:
                    yield lambda: "+3 −3" in self.screen.header(self.proposal)
                self.command("reject_diff")
                yield from self.closed()
        contents = header.original_headers("Current file", ["a" * 30, "b" * 30], offers_reload=True)
        self.assertEqual([header.columns(one) for one in contents], sorted(map(header.columns, contents), reverse=True))
        self.assertIn("reload", contents[-1])

    def test_a_warning_that_does_not_fit_is_counted_and_said_on_a_click(self) -> Steps:
        with narrow(24):
            self.view.run_command("append", {"characters": "x"})
            yield from self.open_changes()
            yield lambda: "⚠ 1" in self.screen.header(self.original)
            self.screen.click(self.original, "warnings")
        self.assertTrue(self.screen.said("open with unsaved edits"))

    def test_the_headers_follow_the_width_of_the_pane(self) -> Steps:
        """There is no event for it."""
        self.set_limit("sublime_text.review.diff_view", "WATCH", 20)
        yield from self.open_changes()
        self.assertIn("✓ Accept", self.screen.header(self.proposal))
        with narrow(24):
            yield lambda: "Accept" not in self.screen.header(self.proposal)
        yield lambda: "✓ Accept" in self.screen.header(self.proposal)

    def test_the_headers_fit_at_once_where_the_diff_is_shown(self) -> Steps:
        """The editor gives the views their widths a moment after it has shown them."""
        self.set_limit("sublime_text.review.diff_view", "WATCH", 600_000)
        yield from self.open_changes()
        yield lambda: "✓ Accept" in self.screen.header(self.proposal)
        loaded("sublime_text.package").adapter().diffs.find(self.proposal).show()
        with narrow(24):
            yield lambda: "Accept" not in self.screen.header(self.proposal)

    def test_a_hidden_diff_is_not_watched(self) -> Steps:
        """Hidden diffs poll nothing."""
        self.set_limit("sublime_text.review.diff_view", "WATCH", 20)
        yield from self.open_changes()
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        self.assertTrue(diff.is_watching)
        self.select([self.view])
        yield lambda: not diff.is_watching
        self.window.focus_view(self.proposal)
        yield lambda: diff.is_watching
        self.assertEqual(diff_views(self.window, "proposal"), [self.proposal])
        self.assertEqual(text_of(self.proposal), PROPOSAL)
