"""Reviewing a diff: a test for each lesson that other companions have learnt."""

from __future__ import annotations

import json

import sublime

from .companion_case import CompanionCase, Steps, diff_views, loaded, text_of

FILE = 'def greet(name):\n    print("hi")\n'
PROPOSAL = 'def greet(name):\n    print(f"hi {name}")\n'
BY_HAND = {"async": True}
"""What the editor's keys, menu and palette run `save` with; packages leave it out."""


class TestSaving(CompanionCase):
    """Accepting on save is dangerous where editors save by themselves."""

    def test_a_package_that_saves_the_proposal_by_itself_neither_accepts_nor_writes(self) -> Steps:
        """coder/claudecode.nvim#71, autosave accepts a diff at once."""
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.proposal)
        self.proposal.run_command("save")
        self.window.run_command("save", {"quiet": True})
        yield 300
        self._assert_undecided()

    def test_whichever_way_a_save_arrives_only_one_by_hand_accepts(self) -> Steps:
        """Explicit saving only. The editor tells of `save` as of a window's command or of a view's."""
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.proposal)
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        for tell, told in ((listener.on_window_command, self.window), (listener.on_text_command, self.proposal)):
            for args in (None, {}, {"quiet": True}, {"async": True, "quiet": True}):
                self.assertEqual(tell(told, "save", args), ("noop", {}))
            self.assertEqual(tell(told, "save_as", BY_HAND), ("noop", {}))
            self.assertEqual(tell(told, "save", BY_HAND), ("qwen_companion_accept_diff", {"by_key": True}))
            self.assertIsNone(tell(told, "copy", None))
        self.window.focus_view(self.view)
        self.assertIsNone(listener.on_window_command(self.window, "save", BY_HAND))
        self.assertIsNone(listener.on_text_command(self.view, "save", BY_HAND))

    def test_saving_on_lost_focus_neither_accepts_nor_writes(self) -> Steps:
        """`save_on_focus_lost`, with the edited proposal losing the focus."""
        yield from self.open_diff(PROPOSAL)
        self.proposal.settings().set("save_on_focus_lost", True)
        self.window.focus_view(self.proposal)
        self.proposal.run_command("append", {"characters": "# mine\n"})
        self.window.focus_view(self.view)
        yield 300
        self._assert_undecided()
        self.assertEqual(text_of(self.proposal), PROPOSAL + "# mine\n")

    def test_saving_all_files_leaves_the_proposal_alone(self) -> Steps:
        """The proposal is an unsaved scratch view."""
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("append", {"characters": "# mine\n"})
        self.window.run_command("save_all")
        yield 300
        self._assert_undecided()
        self.assertFalse(self.proposal.is_dirty())

    def test_the_person_saving_the_proposal_accepts_it(self) -> Steps:
        """Save in the proposal accepts, with what was edited."""
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.proposal)
        self.proposal.run_command("append", {"characters": "# mine\n"})
        self.window.run_command("save", BY_HAND)
        yield from self.written()
        self.assertEqual(self.content, PROPOSAL + "# mine\n")

    def test_saving_another_view_does_not_accept(self) -> Steps:
        """Only Save in the proposal accepts."""
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.view)
        self.window.run_command("save", BY_HAND)
        yield 300
        self._assert_undecided()

    def test_the_package_neither_writes_nor_saves_the_file(self) -> Steps:
        """coder/claudecode.nvim#33, formatters on save; the CLI alone writes."""
        self.view.settings().set("trim_trailing_white_space_on_save", "all")
        self.view.run_command("append", {"characters": "# blanks   \n"})
        before = self.file.stat()
        yield from self.open_diff(PROPOSAL + "# blanks   \n")
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: self.cli.outcomes
        yield from self.closed()
        yield 300
        after = self.file.stat()
        self.assertEqual((after.st_mtime_ns, after.st_ino), (before.st_mtime_ns, before.st_ino))
        self.assertEqual(self.cli.outcomes[0][1]["content"], PROPOSAL + "# blanks   \n")
        self.assertTrue(self.view.is_dirty())
        self.assertEqual(text_of(self.view), FILE + "# blanks   \n")

    def test_no_newline_is_added_at_the_end(self) -> Steps:
        """coder/claudecode.nvim#33; not by a setting for saved files either."""
        yield from self.open_diff("x = 1")
        self.proposal.settings().set("ensure_newline_at_eof_on_save", True)
        self.window.focus_view(self.proposal)
        self.proposal.run_command("append", {"characters": "2"})
        yield from self.accepted()
        self.assertEqual(self.content, "x = 12")

    def _assert_undecided(self) -> None:
        self.assertEqual(self.cli.outcomes, [])
        self.assertEqual(diff_views(self.window, "proposal"), [self.proposal])
        self.assertIsNone(self.proposal.file_name())
        self.assertEqual(self.file.read_text(), FILE)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["app.py"])


class TestOwnWork(CompanionCase):
    """Nothing of the person's own is touched."""

    def test_a_dirty_buffer_is_warned_of_and_the_left_side_is_the_disk(self) -> Steps:
        """coder/claudecode.nvim#74."""
        self.view.run_command("append", {"characters": "# unsaved\n"})
        yield from self.open_diff(PROPOSAL)
        self.assertEqual(text_of(self.original), FILE)
        yield lambda: "unsaved" in self.screen.header(self.original)

    def test_a_buffer_that_becomes_dirty_is_warned_of_as_long_as_it_is(self) -> Steps:
        """A visible warning when the buffer is dirty."""
        yield from self.open_diff(PROPOSAL)
        yield lambda: self.screen.header(self.original)
        self.view.run_command("append", {"characters": "# unsaved\n"})
        yield lambda: "unsaved" in self.screen.header(self.original)
        self.view.run_command("undo")
        yield lambda: "unsaved" not in self.screen.header(self.original)

    def test_a_buffer_that_is_dirty_in_another_window_is_warned_of_too(self) -> Steps:
        """The header warns when the file is open with unsaved edits."""
        self.view.close()
        other = yield from self.another_window()
        view = other.open_file(str(self.file))
        self.addCleanup(view.set_scratch, True)
        yield lambda: not view.is_loading()
        view.run_command("append", {"characters": "# unsaved\n"})
        yield from self.open_diff(PROPOSAL)
        yield lambda: "unsaved" in self.screen.header(self.original)
        view.run_command("undo")
        yield lambda: "unsaved" not in self.screen.header(self.original)
        view.run_command("append", {"characters": "# unsaved\n"})
        yield lambda: "unsaved" in self.screen.header(self.original)

    def test_a_clean_buffer_is_not_warned_of(self) -> Steps:
        """A warning that is always there is none."""
        yield from self.open_diff(PROPOSAL)
        yield lambda: self.screen.header(self.original)
        self.assertEqual(self.screen.header(self.original), "Current file")

    def test_the_undo_history_of_the_own_buffer_is_as_it_was(self) -> Steps:
        """A companion that shows its diff in the person's buffer pollutes the undo history."""
        self.view.run_command("append", {"characters": "# unsaved\n"})
        yield from self.open_diff(PROPOSAL)
        self.edit(self.proposal, "else\n")
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        self.assertEqual(text_of(self.view), FILE + "# unsaved\n")
        self.view.run_command("undo")
        self.assertEqual((text_of(self.view), self.view.is_dirty()), (FILE, False))
        self.view.run_command("redo")
        self.assertEqual(text_of(self.view), FILE + "# unsaved\n")

    def test_a_diff_of_another_window_leaves_the_one_in_front_alone(self) -> Steps:
        """google-gemini/gemini-cli#7354, manzaltu/claude-code-ide.el#151."""
        other = yield from self.another_window()
        view = other.new_file()
        views = other.views()
        yield from self.open_diff(PROPOSAL)
        yield 100
        self.assertEqual(sublime.active_window(), other)
        self.assertEqual((other.views(), other.active_view()), (views, view))
        self.assertEqual(self.proposal.window(), self.window)
        view.run_command("qwen_companion_accept_diff")
        yield 100
        self.assertEqual(self.cli.outcomes, [])

    def test_an_input_panel_keeps_the_focus(self) -> Steps:
        """coder/claudecode.nvim#84, keystrokes that are meant for something else."""
        panel = self.window.show_input_panel("Name:", "", None, None, None)
        yield lambda: self.focused() == panel
        yield from self.open_diff(PROPOSAL)
        yield 100
        self.assertEqual(self.focused(), panel)
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        yield 100
        self.assertEqual(self.focused(), panel)
        self.window.run_command("hide_panel", {"cancel": True})

    def test_a_terminal_in_a_panel_keeps_the_focus(self) -> Steps:
        """coder/claudecode.nvim#84, manzaltu/claude-code-ide.el#60."""
        panel = yield from self.open_terminal_panel()
        yield from self.open_diff(PROPOSAL)
        yield 100
        self.assertEqual(self.focused(), panel)
        self.assertEqual(self.selected(), [self.original, self.proposal])
        self.proposal.run_command("qwen_companion_accept_diff")
        yield from self.written()
        yield 100
        self.assertEqual(self.focused(), panel)
        self.assertEqual(self.window.active_panel(), "output.terminus_test")
        self.assertEqual(self.selected(), [self.view])


class TestStaleTabs(CompanionCase):
    """Diffs go when they are decided, and only then."""

    def test_no_view_is_left_after_many_diffs(self) -> Steps:
        """coder/claudecode.nvim#155, #205, #241."""
        before = self.window.views()
        decisions = ["accept", "reject", "close", "close_diff"]
        for number in range(12):
            path = self.folder / f"file{number}.py"
            yield from self.open_diff(f"x = {number}\n", path)
            decision = decisions[number % len(decisions)]
            if decision == "close":
                self.proposal.close()
            elif decision == "close_diff":
                yield from self.done(self.cli.call("closeDiff", filePath=str(path), suppressNotification=True))
            else:
                self.proposal.run_command(f"qwen_companion_{decision}_diff")
            if decision == "accept":
                yield lambda number=number: len(self.cli.outcomes) > number // 4 * 3
                path.write_text(f"x = {number}\n")
            yield from self.closed()
        self.assertEqual(self.window.views(), before)
        self.assertEqual(len(self.cli.outcomes), 9)
        self.assertEqual(self.window.active_view(), self.view)

    def test_a_diff_that_the_cli_closes_leaves_nothing_behind(self) -> Steps:
        """coder/claudecode.nvim#155; answered in the terminal."""
        before = self.window.views()
        yield from self.open_diff(PROPOSAL)
        yield from self.done(self.cli.call("closeDiff", filePath=str(self.file), suppressNotification=True))
        yield from self.closed()
        self.assertEqual(self.window.views(), before)
        again = self.cli.call("closeDiff", filePath=str(self.file), suppressNotification=True)
        yield from self.done(again)
        self.assertEqual(json.loads(again.result()["content"][0]["text"]), {})
        self.assertEqual(self.cli.outcomes, [])

    def test_a_view_of_another_package_is_left_alone(self) -> Steps:
        """coder/claudecode.nvim closed other tools' diff tabs."""
        other = self.window.new_file()
        other.set_name(f"{self.file.name} ← Qwen Code")
        other.set_scratch(True)
        self.window.focus_view(self.view)
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        self.assertTrue(other.is_valid())

    def test_a_diff_whose_cli_is_gone_says_so_and_stays_until_it_is_closed(self) -> Steps:
        """google-gemini/gemini-cli#11239: orphaned, none notified."""
        yield from self.open_diff(PROPOSAL)
        self.set_limit("server.sessions", "STREAM_GONE_LIMIT", 0.1)
        self.cli.close()
        yield {"condition": lambda: "has disconnected" in self.screen.header(self.proposal), "timeout": 60_000}
        self.assertIn("Qwen Code has disconnected", self.screen.header(self.proposal))
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: self.screen.said("Qwen Code has disconnected", "app.py")
        self.assertTrue(self.proposal.is_valid())
        self.assertEqual(text_of(self.proposal), PROPOSAL)
        received = list(self.cli.received)
        self.proposal.close()
        yield from self.closed()
        yield 200
        self.assertEqual(self.cli.received, received)
        self.assertEqual(self.file.read_text(), FILE)

    def test_an_orphan_still_says_so_after_an_edit(self) -> Steps:
        """The view stays, marked."""
        yield from self.open_diff(PROPOSAL)
        self.set_limit("server.sessions", "STREAM_GONE_LIMIT", 0.1)
        self.cli.close()
        yield {"condition": lambda: "has disconnected" in self.screen.header(self.proposal), "timeout": 60_000}
        self.proposal.run_command("append", {"characters": "# mine\n"})
        yield 500
        self.assertIn("has disconnected", self.screen.header(self.proposal))


class TestProposals(CompanionCase):
    """New files, empty texts, and the same path more than once."""

    def test_a_new_file_that_was_rejected_can_be_proposed_again(self) -> Steps:
        """coder/claudecode.nvim#69."""
        path = self.folder / "new.py"
        yield from self.open_diff("first = 1\n", path)
        yield lambda: "New file" in self.screen.header(self.proposal)
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        self.assertFalse(path.exists())
        yield from self.open_diff("second = 2\n", path)
        self.assertEqual(text_of(self.proposal), "second = 2\n")
        self.proposal.run_command("qwen_companion_accept_diff")
        yield from self.closed()
        path.write_text("second = 2\n")
        yield lambda: len(self.cli.outcomes) == 2
        expected = [
            ("ide/diffRejected", {"filePath": str(path)}),
            ("ide/diffAccepted", {"filePath": str(path), "content": "second = 2\n"}),
        ]
        self.assertEqual(self.cli.outcomes, expected)

    def test_an_empty_proposal_can_be_accepted(self) -> Steps:
        """anthropics/claude-code#88468."""
        yield from self.open_diff("")
        self.assertEqual(text_of(self.proposal), "")
        yield from self.accepted()
        self.assertEqual(self.content, "")

    def test_an_empty_new_file_can_be_accepted(self) -> Steps:
        """anthropics/claude-code#88468; a diff without a change."""
        yield from self.open_diff("", self.folder / "empty.py")
        yield from self.accepted()
        self.assertEqual(self.content, "")

    def test_a_proposal_that_the_person_has_emptied_is_refused_and_said_so(self) -> Steps:
        """The CLI would write its own proposal instead."""
        yield from self.open_diff(PROPOSAL)
        self.edit(self.proposal, "")
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: self.screen.said("empty file", "Qwen Code")
        self.assertEqual((self.cli.outcomes, self.proposal.is_valid()), ([], True))
        self.edit(self.proposal, "x = 1\n")
        yield from self.accepted()
        self.assertEqual(self.content, "x = 1\n")

    def test_two_clis_with_a_diff_of_one_path_each_hear_their_own_outcome(self) -> Steps:
        """Owner-only notifications, a diff for each session and path."""
        other = self.connect()
        yield from self.done(other.connected)
        yield from self.open_diff("mine = 1\n")
        first = self.proposal
        yield from self.open_diff("other = 1\n", cli=other)
        self.assertEqual({text_of(v) for v in diff_views(self.window, "proposal")}, {"mine = 1\n", "other = 1\n"})
        first.run_command("qwen_companion_reject_diff")
        yield lambda: self.cli.outcomes and not first.is_valid()
        self.assertEqual(
            (self.cli.outcomes, other.outcomes), ([("ide/diffRejected", {"filePath": str(self.file)})], [])
        )
        yield from self.accepted(other)
        self.assertEqual(self.content, "other = 1\n")
        self.assertEqual(len(self.cli.outcomes), 1)

    def test_a_proposal_that_replaces_an_edited_one_keeps_the_edits(self) -> Steps:
        """The same key again supersedes silently, and edits that are dropped are kept."""
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("append", {"characters": "# mine\n"})
        old = self.proposal
        # Which of the two is ready first, the end of the old one or the new one, nobody knows.
        yield from self.propose("second = 2\n")
        yield lambda: not old.is_valid()
        yield lambda: PROPOSAL + "# mine\n" in [text_of(view) for view in self.window.views()]
        yield lambda: diff_views(self.window, "proposal")
        self.assertEqual(self.cli.outcomes, [])
        self.assertEqual(self.selected(), [self.view, *diff_views(self.window, "proposal")])
