"""The changes of a diff: marked, reached by a key, reverted and restored one by one."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .changes_case import FILE, LINES, PROPOSAL, ROWS, ChangesCase, without
from .companion_case import Steps, loaded, text_of


class TestMoving(ChangesCase):
    """The caret goes from change to change."""

    def test_next_goes_down_and_from_the_last_change_to_the_first(self) -> Steps:
        """Next change."""
        yield from self.open_changes()
        self.assertEqual(self.rows(), ROWS)
        seen = []
        for _ in range(4):
            self.go()
            seen.append(self.row())
        self.assertEqual(seen, [*ROWS, ROWS[0]])
        self.assertTrue(self.screen.said("Change 1 of 3, from the top again"))
        self.assertEqual(len([message for message in self.screen.messages if "Change" in message]), 1)
        self.assertEqual(self.window.active_view(), self.proposal)

    def test_previous_goes_up_and_from_the_first_change_to_the_last(self) -> Steps:
        """Previous change."""
        yield from self.open_changes()
        seen = []
        for _ in range(4):
            self.go(previous=True)
            seen.append(self.row())
        self.assertEqual(seen, [*ROWS[::-1], ROWS[-1]])

    def test_a_change_far_below_is_scrolled_to(self) -> Steps:
        """Reachable by a key."""
        yield from self.open_changes("".join([*LINES[:-1], "another end\n"]))
        self.assertFalse(self.proposal.visible_region().contains(self.regions()[0]))
        self.go()
        yield lambda: self.proposal.visible_region().contains(self.regions()[0])

    def test_a_changed_word_far_to_the_right_is_scrolled_to_on_both_sides(self) -> Steps:
        """Both sides scroll sideways together."""
        long = [f"{' '.join(f'word{at}' for at in range(80))} end\n"]
        self.file.write_text("".join([*LINES[:9], *long]))
        yield lambda: "word79" in text_of(self.view)
        yield from self.open_changes("".join([*LINES[:9], long[0].replace("end", "END")]))
        self.window.run_command("qwen_companion_go_to_diff")
        yield lambda: self.row() == 9
        yield lambda: self.proposal.viewport_position()[0] > 0
        yield lambda: self.original.viewport_position()[0] == self.proposal.viewport_position()[0]

    def test_the_links_of_the_header_move_too(self) -> Steps:
        """The header carries previous and next."""
        yield from self.open_changes()
        self.screen.click(self.proposal, "previous")
        self.assertEqual(self.row(), ROWS[-1])
        self.screen.click(self.proposal, "next")
        self.assertEqual(self.row(), ROWS[0])

    def test_without_a_change_the_caret_stays(self) -> Steps:
        """Nothing to go to."""
        yield from self.open_changes()
        self.edit(self.proposal, FILE)
        yield lambda: not self.regions()
        self.put_caret(5)
        self.go()
        self.assertEqual(self.row(), 5)


class TestReverting(ChangesCase):
    """Partial acceptance is the wish that is repeated most (coder/claudecode.nvim#80, anthropics/claude-code#31395)."""

    def test_the_change_at_the_caret_is_reverted_and_no_other(self) -> Steps:
        """Whatever kind of change it is."""
        yield from self.open_changes()
        for change, row in enumerate(ROWS):
            self.put_caret(row)
            self.command("undo_change")
            yield from self.becomes(without(change))
            self.proposal.run_command("undo")
            self.assertEqual(text_of(self.proposal), PROPOSAL)
            yield lambda: self.rows() == ROWS

    def test_the_link_at_a_change_reverts_it(self) -> Steps:
        """Each change has an annotation with a link."""
        yield from self.open_changes()
        self.assertEqual(self.screen.annotations(self.proposal), ["↩ undo", "↩ undo"])
        fillers = self.screen.phantoms(self.proposal, "qwen_companion.fillers")
        self.assertEqual(fillers, ["↩ restore 2 lines"])
        self.screen.click(self.proposal, self.screen.links(self.proposal)[1])
        yield from self.becomes(without(1))
        yield lambda: len(self.screen.annotations(self.proposal)) == 2
        self.screen.click(self.proposal, self.screen.links(self.proposal)[-1])
        yield lambda: text_of(self.proposal).count("\n") == len(LINES)
        self.proposal.run_command("undo")
        yield from self.accepted()
        self.assertEqual(self.content, without(1))

    def test_a_reverted_change_stays_visible_with_a_link_that_restores_it(self) -> Steps:
        yield from self.open_changes()
        for change, row in enumerate(ROWS):
            self.put_caret(row)
            self.command("undo_change")
            yield from self.becomes(without(change))
            yield lambda: len(self.screen.restores(self.proposal)) == 1
            [region] = self.proposal.get_regions("qwen_companion.reverted")
            self.assertEqual(self.proposal.rowcol(region.begin())[0], row)
            self.screen.click(self.proposal, self.screen.restores(self.proposal)[0])
            yield from self.becomes(PROPOSAL)
            yield lambda: self.screen.restores(self.proposal) == []
            yield lambda: self.rows() == ROWS

    def test_what_the_person_types_is_no_reverted_change(self) -> Steps:
        yield from self.open_changes()
        self.put_caret(60)
        self.proposal.run_command("insert", {"characters": "typed"})
        yield lambda: len(self.rows()) == 4
        yield 100
        self.assertEqual(self.screen.restores(self.proposal), [])

    def test_an_edit_leaves_the_fillers_that_stay_the_same(self) -> Steps:
        """Each phantom that is changed moves the text (sublimehq/sublime_text#5894)."""
        yield from self.open_changes()
        changed: list[str] = []
        add, erase = sublime.View.add_phantom, sublime.View.erase_phantom_by_id

        def added(view: sublime.View, key: str, *args: Any) -> int:
            changed.append(key)
            return add(view, key, *args)

        def erased(view: sublime.View, number: int) -> None:
            changed.append("erased")
            erase(view, number)

        with patch.multiple(sublime.View, add_phantom=added, erase_phantom_by_id=erased):
            self.put_caret(60)
            self.proposal.run_command("insert", {"characters": "one\ntwo\n"})
            yield lambda: len(self.rows()) == 4
            yield from self.turned()
        self.assertEqual([key for key in changed if key == "qwen_companion.fillers"], ["qwen_companion.fillers"])

    def test_a_reverted_change_can_be_restored(self) -> Steps:
        """Restore brings back what was proposed."""
        yield from self.open_changes()
        for change, row in enumerate(ROWS):
            self.put_caret(row)
            self.command("undo_change")
            yield from self.becomes(without(change))
            self.command("undo_change")
            yield from self.becomes(PROPOSAL)
            yield lambda: self.rows() == ROWS

    def test_undo_after_a_revert_takes_back_exactly_that(self) -> Steps:
        """A revert is one step of the undo history."""
        yield from self.open_changes()
        self.proposal.run_command("append", {"characters": "# mine\n"})
        self.put_caret(ROWS[1])
        self.command("undo_change")
        yield from self.becomes(without(1) + "# mine\n")
        self.proposal.run_command("undo")
        self.assertEqual(text_of(self.proposal), PROPOSAL + "# mine\n")
        self.proposal.run_command("redo")
        self.assertEqual(text_of(self.proposal), without(1) + "# mine\n")
        self.proposal.run_command("undo")
        self.proposal.run_command("undo")
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_with_every_change_reverted_the_accepted_text_is_the_file_byte_for_byte(self) -> Steps:
        """Reverting every change gives the original."""
        yield from self.open_changes()
        for _ in ROWS:
            before = len(self.rows())
            self.go()
            self.command("undo_change")
            yield lambda before=before: len(self.rows()) < before
            yield from self.turned()
        self.assertEqual(text_of(self.proposal), FILE)
        yield from self.accepted()
        self.assertEqual(self.content.encode(), FILE.encode())

    def test_off_a_change_nothing_is_reverted_and_that_is_said(self) -> Steps:
        """The change at the caret."""
        yield from self.open_changes()
        self.put_caret(6)
        self.command("undo_change")
        yield lambda: self.screen.said("no change at the caret")
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_the_line_after_a_selected_line_feed_does_not_count(self) -> Steps:
        """Whole lines are selected up to the beginning of the next one, which may be changed."""
        yield from self.open_changes()
        self.proposal.sel().clear()
        self.proposal.sel().add(sublime.Region(*(self.proposal.text_point(row, 0) for row in (ROWS[1] - 1, ROWS[1]))))
        self.command("undo_change")
        yield lambda: self.screen.said("no change at the caret")
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_a_revert_that_an_edit_has_overtaken_is_computed_again(self) -> Steps:
        """The text may change while the edits are computed; the command is not dropped."""
        yield from self.open_changes()
        self.put_caret(ROWS[0])
        self.command("undo_change")
        self.proposal.run_command("append", {"characters": "# mine\n"})
        yield from self.becomes(without(0) + "# mine\n")

    def test_a_revert_that_edits_overtake_again_and_again_is_given_up_and_that_is_said(self) -> Steps:
        """It was dropped without a word."""
        self.set_limit("sublime_text.review.answers", "TRIES", 1)
        yield from self.open_changes()
        self.put_caret(ROWS[0])
        self.command("undo_change")
        self.proposal.run_command("append", {"characters": "# mine\n"})
        yield lambda: self.screen.said("edited meanwhile")
        self.assertEqual(text_of(self.proposal), PROPOSAL + "# mine\n")

    def test_commands_that_are_typed_fast_are_all_done(self) -> Steps:
        """Next, revert, next, revert: the second was dropped."""
        yield from self.open_changes()
        for _ in range(3):
            self.go()
            self.command("undo_change")
        yield from self.becomes(FILE)
        for _ in range(3):
            self.proposal.run_command("undo")
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_an_answer_comes_after_an_undo_that_is_under_way(self) -> Steps:
        """The CLI had the text from before it, and so had what was kept of a rejected one."""
        yield from self.open_changes()
        self.put_caret(ROWS[0])
        self.command("undo_change")
        yield from self.accepted()
        self.assertEqual(self.content, without(0))
        self.file.write_text(FILE)
        yield from self.open_changes()
        self.put_caret(ROWS[1])
        self.command("undo_change")
        self.command("reject_diff")
        yield from self.closed()
        reviews = loaded("sublime_text.package").adapter().thread._running[1].reviews
        yield lambda: reviews.rejected and reviews.rejected[0].text == without(1)

    def test_accepting_all_comes_after_an_undo_that_is_under_way(self) -> Steps:
        yield from self.open_changes()
        self.put_caret(ROWS[0])
        self.command("undo_change")
        self.window.run_command("qwen_companion_accept_all")
        yield from self.written()
        self.assertEqual(self.content, without(0))

    def test_an_answer_after_an_undo_that_could_not_be_done_is_dropped(self) -> Steps:
        """What it was to leave out would be accepted."""
        yield from self.open_changes()
        self.put_caret(60)
        self.command("undo_change")
        self.command("accept_diff")
        yield lambda: self.screen.said("no change at the caret")
        yield 200
        self.assertEqual((self.cli.outcomes, text_of(self.proposal)), ([], PROPOSAL))
        yield from self.accepted()
        self.assertEqual(self.content, PROPOSAL)

    def test_after_an_undo_that_fails_the_diff_can_still_be_answered(self) -> Steps:
        """What came after it would wait for ever."""
        self.causes("A call on another thread failed")
        yield from self.open_changes()
        self.put_caret(ROWS[0])
        with patch.object(loaded("sublime_text.review.answers"), "edits_of", side_effect=RecursionError):
            self.command("undo_change")
            self.command("accept_diff")
            yield lambda: self.screen.said("can't be done")
        self.assertEqual((self.cli.outcomes, text_of(self.proposal)), ([], PROPOSAL))
        yield from self.accepted()
        self.assertEqual(self.content, PROPOSAL)

    def test_every_change_at_a_caret_or_in_a_selection_is_reverted_in_one_step(self) -> Steps:
        """Of three carets only the first counted, of a selection over two changes nothing."""
        yield from self.open_changes()
        for regions in (
            [sublime.Region(self.proposal.text_point(row, 2)) for row in ROWS],
            [sublime.Region(self.proposal.text_point(0, 0), self.proposal.text_point(40, 0))],
            [sublime.Region(self.proposal.text_point(40, 0), self.proposal.text_point(2, 1))],
        ):
            self.proposal.sel().clear()
            self.proposal.sel().add_all(regions)
            self.command("undo_change")
            yield from self.becomes(FILE)
            self.proposal.run_command("undo")
            self.assertEqual(text_of(self.proposal), PROPOSAL)
            yield lambda: self.rows() == ROWS

    def test_the_carets_of_the_left_side_count_when_it_has_the_focus(self) -> Steps:
        """Revert from the left side used the caret of the right side."""
        yield from self.open_changes()
        self.put_caret(ROWS[0])
        self.original.sel().clear()
        self.original.sel().add(self.original.text_point(29, 0))
        self.original.run_command("qwen_companion_undo_change")
        yield from self.becomes(without(2))
        self.original.run_command("qwen_companion_undo_change")
        yield from self.becomes(PROPOSAL)

    def test_the_last_link_reverts_the_last_change(self) -> Steps:
        """Without a last newline it reverted the wrong one of two deletions."""
        self.file.write_text("a\nX\nb\nY")
        yield lambda: text_of(self.view) == "a\nX\nb\nY"
        yield from self.open_changes("a\nb")
        for number, text in enumerate(("a\nX\nb", "a\nb\nY")):
            self.screen.click(self.proposal, sorted(self.screen.links(self.proposal))[number])
            yield from self.becomes(text)
            yield lambda: len(self.screen.links(self.proposal)) == 1
            self.proposal.run_command("undo")
            yield from self.becomes("a\nb")
            yield lambda: len(self.screen.links(self.proposal)) == 2
            yield from self.turned()

    def test_a_link_that_is_out_of_date_does_nothing_and_says_so(self) -> Steps:
        """Annotations that stay or get mixed up (sublimehq/sublime_text#5511, #5566)."""
        yield from self.open_changes()
        stale = self.screen.links(self.proposal)[1]
        navigate = self.screen.navigate(self.proposal)
        self.proposal.run_command("insert", {"characters": "typed\n"})
        yield lambda: len(self.screen.links(self.proposal)) == 4
        before = text_of(self.proposal)
        navigate(stale)
        yield lambda: self.screen.said("link is out of date")
        navigate(self.screen.links(self.proposal)[1] + "0")
        yield lambda: self.screen.said("This change was edited meanwhile: look at it again.")
        self.assertEqual(text_of(self.proposal), before)


class TestKeys(ChangesCase):
    """The keys are active in a diff only."""

    def test_the_context_of_the_keys_is_a_diff(self) -> Steps:
        """Each binding with a context of our own."""
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        equal, not_equal = sublime.QueryOperator.EQUAL, sublime.QueryOperator.NOT_EQUAL
        yield from self.open_changes()
        for view, is_diff in ((self.view, False), (self.proposal, True), (self.original, True)):
            for operator, operand in ((equal, True), (not_equal, False)):
                answer = listener.on_query_context(view, "qwen_companion.diff", operator, operand, False)
                self.assertEqual(answer, is_diff)
                answer = listener.on_query_context(view, "qwen_companion.diff", operator, not operand, False)
                self.assertEqual(answer, not is_diff)
        self.assertIsNone(listener.on_query_context(self.proposal, "another.key", equal, True, False))

    def test_the_keys_work_in_a_diff_and_nowhere_else(self) -> Steps:
        """None active elsewhere."""
        try:
            from headless import host, keymap  # noqa: PLC0415 - Sublime's API has no way to press a key
        except ImportError:
            return self.skipTest("keys can be pressed in the headless editor alone")
        press = lambda view, key: keymap.press(host.app(), host.app().views[view.id()], [key])  # noqa: E731
        yield from self.open_changes()
        keys = ["primary+f8", "primary+shift+f8", "primary+f10", "primary+shift+f10", "shift+escape", "primary+s"]
        ours = [press(self.view, key) for key in keys]
        self.assertEqual([name for name in ours if name and name.startswith("qwen_companion")], [])
        self.window.focus_view(self.proposal)
        self.assertEqual(press(self.proposal, "f8"), "qwen_companion_go_to_diff")
        self.assertEqual(self.row(), ROWS[0])
        self.assertEqual(press(self.proposal, "primary+shift+f8"), "qwen_companion_undo_change")
        yield from self.becomes(without(0))
        self.assertEqual(press(self.proposal, "primary+f10"), "qwen_companion_keep_file")
        yield from self.written()
        self.assertEqual(self.content, without(0))


class TestVerbs(ChangesCase):
    """The verbs of written changes, in a proposal."""

    def test_keep_goes_on_and_stays_at_the_last_change(self) -> Steps:
        """It keeps what is there anyway; the file is answered as a whole."""
        yield from self.open_changes()
        self.go()
        for row in ROWS[1:]:
            self.command("keep_change")
            self.assertEqual(self.row(), row)
        self.command("keep_change")
        self.assertEqual(self.row(), ROWS[-1])
        self.assertTrue(self.screen.said("That was the last change of app.py. Accept"))
        self.assertEqual((text_of(self.proposal), self.cli.outcomes), (PROPOSAL, []))

    def test_the_same_key_restores_what_it_has_undone(self) -> Steps:
        """One key, as often as it is pressed."""
        yield from self.open_changes()
        for change, row in enumerate(ROWS):
            self.put_caret(row)
            for text in (without(change), PROPOSAL, without(change), PROPOSAL):
                self.command("undo_change")
                yield from self.becomes(text)
            yield lambda: self.rows() == ROWS

    def test_undo_file_rejects_and_keep_file_accepts_what_was_seen(self) -> Steps:
        """From the palette as well."""
        yield from self.open_changes()
        self.go()
        self.window.run_command("qwen_companion_undo_file")
        yield lambda: [method for method, _ in self.cli.outcomes] == ["ide/diffRejected"]

    def test_next_goes_from_the_last_change_of_one_proposal_to_the_next_proposal(self) -> Steps:
        """The oldest first, and around."""
        (self.folder / "b.py").write_text(FILE)
        yield from self.open_changes()
        first = self.proposal
        yield from self.open_diff(PROPOSAL, self.folder / "b.py")
        second = self.proposal
        self.window.focus_view(first)
        for proposal in (first, second, first):
            for row in ROWS:
                self.window.run_command("qwen_companion_go_to_diff")
                yield lambda proposal=proposal, row=row: (self.focused(), self.row_in(proposal)) == (proposal, row)
        for row in ROWS[1::-1]:
            self.window.run_command("qwen_companion_go_to_diff", {"previous": True})
            yield lambda row=row: (self.focused(), self.row_in(first)) == (first, row)
        self.window.run_command("qwen_companion_go_to_diff", {"previous": True})
        yield lambda: (self.focused(), self.row_in(second)) == (second, ROWS[-1])

    @staticmethod
    def row_in(view: sublime.View) -> int:
        """The row of a view's only caret."""
        [caret] = view.sel()
        return view.rowcol(caret.b)[0]
