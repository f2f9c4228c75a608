"""How diffs end, many at once, and what the person sees and has afterwards."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, diff_views, loaded, text_of

FILE = 'def greet(name):\n    print("hi")\n'
PROPOSAL = 'def greet(name):\n    print(f"hi {name}")\n'


class TestSeveral(CompanionCase):
    """Several diffs of a window."""

    def test_accepting_all_accepts_each_as_it_stands(self) -> Steps:
        """Accept All, whichever CLI it is."""
        other = self.connect()
        yield from self.done(other.connected)
        yield from self.open_diff("a = 1\n", self.folder / "a.py")
        yield from self.open_diff("b = 2\n", self.folder / "b.py")
        self.proposal.run_command("append", {"characters": "# mine\n"})
        yield from self.open_diff("c = 3\n", self.folder / "c.py", other)
        self.go_to_each(3)
        self.window.run_command("qwen_companion_accept_all")
        yield from self.closed()
        yield lambda: len(self.cli.outcomes) == 2 and len(other.outcomes) == 1
        contents = [(Path(told["filePath"]), told["content"]) for _, told in self.cli.outcomes + other.outcomes]
        for path, content in contents:
            path.write_text(content)
        expected = {"a.py": "a = 1\n", "b.py": "b = 2\n# mine\n", "c.py": "c = 3\n"}
        self.assertEqual({path.name: content for path, content in contents}, expected)
        self.assertEqual(self.window.active_view(), self.view)

    def test_accepting_all_leaves_what_cannot_be_accepted(self) -> Steps:
        """An emptied text is refused."""
        yield from self.open_diff("a = 1\n", self.folder / "a.py")
        self.edit(self.proposal, "")
        emptied = self.proposal
        yield from self.open_diff(PROPOSAL)
        self.go_to_each(2)
        self.window.run_command("qwen_companion_accept_all")
        yield lambda: self.cli.outcomes and not self.proposal.is_valid()
        self.file.write_text(PROPOSAL)
        yield 100
        self.assertEqual([told["filePath"] for _, told in self.cli.outcomes], [str(self.file)])
        self.assertEqual(diff_views(self.window, "proposal"), [emptied])

    def test_rejecting_all_rejects_each(self) -> Steps:
        """Reject All."""
        for name in ("a.py", "b.py", "c.py"):
            yield from self.open_diff("x = 1\n", self.folder / name)
        self.window.run_command("qwen_companion_reject_all")
        yield from self.closed()
        yield lambda: len(self.cli.outcomes) == 3
        expected = {("ide/diffRejected", str(self.folder / name)) for name in ("a.py", "b.py", "c.py")}
        self.assertEqual({(method, told["filePath"]) for method, told in self.cli.outcomes}, expected)

    def test_the_first_of_two_answers_counts(self) -> Steps:
        """A text that was accepted is none of those that were rejected."""
        reviews = loaded("sublime_text.package").adapter().thread._running[1].reviews
        before = reviews.rejected
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("qwen_companion_accept_diff")
        self.window.run_command("qwen_companion_reject_all")
        yield from self.written()
        self.assertEqual(reviews.rejected, before)

    def test_the_name_of_a_file_leaves_room_for_how_its_acceptance_is_taken_back(self) -> Steps:
        path, shown = self.folder / f"{'n' * 120}.py", list[str]()
        yield from self.open_diff("x = 1\n", path)
        set_status = sublime.View.set_status
        own_keys = loaded("sublime_text.review.diff_marks").KEYS_STATUS

        def spy(view: sublime.View, key: str, value: str) -> None:
            if key != own_keys:  # the diff names its keys as long as it is there
                shown.append(value)
            set_status(view, key, value)

        with patch.object(sublime.View, "set_status", spy):
            self.proposal.run_command("qwen_companion_accept_diff")
            yield from self.written()
            yield lambda: any("Take Back" in each for each in shown)
        self.assertEqual([each for each in shown if len(each) > 80], [])

    def test_the_tabs_of_two_agents_of_the_same_name_never_have_the_same_name(self) -> Steps:
        """The first one proposes the file again when its first proposal is answered."""
        other = self.connect()
        yield from self.done(other.connected)
        yield from self.open_diff("x = 1\n")
        yield from self.open_diff("x = 2\n", cli=other)
        yield from self.done(self.cli.call("closeDiff", filePath=str(self.file), suppressNotification=True))
        yield lambda: len(diff_views(self.window, "proposal")) == 1
        yield from self.open_diff("x = 3\n")
        names = {text_of(view): view.name() for view in diff_views(self.window, "proposal")}
        self.assertEqual(names, {"x = 2\n": "app.py ← Qwen Code (2)", "x = 3\n": "app.py ← Qwen Code"})
        feed = loaded("sublime_text.package").adapter().review.feed(self.window)
        feed.look()
        self.assertEqual({file.agent for turn in feed.turns for file in turn.files}, {"Qwen Code", "Qwen Code (2)"})


class TestClosing(CompanionCase):
    """What closes takes its diffs with it."""

    def test_closing_the_project_rejects_its_diffs(self) -> Steps:
        """Reject by closing the project."""
        yield from self.open_diff(PROPOSAL)
        self.window.run_command("close_workspace")
        yield lambda: self.cli.outcomes
        self.assertEqual(self.cli.outcomes, [("ide/diffRejected", {"filePath": str(self.file)})])
        yield from self.closed()

    def test_closing_the_window_rejects_every_diff_once(self) -> Steps:
        """Reject by closing the window; its views close as well, which decides nothing more."""
        for name in ("a.py", "b.py"):
            yield from self.open_diff("x = 1\n", self.folder / name)
        self.window.run_command("close_window")
        yield lambda: len(self.cli.outcomes) == 2
        yield 300
        expected = [("ide/diffRejected", {"filePath": str(self.folder / name)}) for name in ("a.py", "b.py")]
        self.assertEqual(self.cli.outcomes, expected)


class TestDoneOnDisk(CompanionCase):
    """Diffs that nobody resolves in automatic modes (google-gemini/gemini-cli#11823)."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.set_limit("companion", "TICK", 0.1)

    def test_a_proposal_that_the_file_holds_already_is_accepted_without_a_view(self) -> Steps:
        """When the diff opens."""
        before = self.window.views()
        yield from self.done(self.cli.call("openDiff", filePath=str(self.file), newContent=FILE))
        yield lambda: self.cli.outcomes
        expected = [("ide/diffAccepted", {"filePath": str(self.file), "content": FILE})]
        self.assertEqual(self.cli.outcomes, expected)
        yield lambda: self.screen.said("app.py already matches the proposal of Qwen Code")
        self.assertEqual(self.window.views(), before)

    def test_a_diff_closes_by_itself_once_the_file_holds_the_proposal(self) -> Steps:
        """Or later."""
        yield from self.open_diff(PROPOSAL)
        self.file.write_text(PROPOSAL)
        yield from self.closed()
        yield lambda: self.cli.outcomes
        expected = [("ide/diffAccepted", {"filePath": str(self.file), "content": PROPOSAL})]
        self.assertEqual(self.cli.outcomes, expected)
        self.assertEqual(self.window.views(), [self.view])

    def test_edits_of_a_diff_that_closes_by_itself_are_kept(self) -> Steps:
        """What the person has made of the proposal is not lost."""
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("append", {"characters": "# mine\n"})
        self.file.write_text(PROPOSAL)
        yield from self.closed()
        yield lambda: PROPOSAL + "# mine\n" in [text_of(view) for view in self.window.views()]
        yield lambda: self.screen.said("app.py", "edits are kept") and self.cli.outcomes
        self.assertEqual(self.cli.outcomes[0][1]["content"], PROPOSAL)
        self.assertEqual(self.window.active_view(), self.view)

    def test_a_new_file_that_appears_with_the_proposal_closes_the_diff(self) -> Steps:
        """A new file too."""
        path = self.folder / "new.py"
        yield from self.open_diff("x = 1\n", path)
        path.write_text("x = 1\n")
        yield from self.closed()
        yield lambda: self.cli.outcomes
        self.assertEqual(self.cli.outcomes[0][0], "ide/diffAccepted")


class TestWarnings(CompanionCase):
    """What the header warns of."""

    def test_a_file_that_changes_on_disk_is_warned_of(self) -> Steps:
        """When it changed on disk; the diff stays as it is."""
        self.set_limit("companion", "TICK", 0.1)
        yield from self.open_diff(PROPOSAL)
        yield lambda: self.screen.header(self.original)
        self.assertNotIn("⚠", self.screen.header(self.original))
        self.file.write_text("something = 'else'\n")
        yield lambda: "changed on disk" in self.screen.header(self.original)
        self.assertEqual((text_of(self.original), self.cli.outcomes), (FILE, []))

    def test_a_file_that_is_only_touched_is_not_warned_of(self) -> Steps:
        """Its text is the same."""
        self.set_limit("companion", "TICK", 0.1)
        yield from self.open_diff(PROPOSAL)
        yield 2_100  # the look that was on its way
        self.file.write_text(FILE)
        yield 300
        self.assertNotIn("⚠", self.screen.header(self.original))

    def test_a_file_outside_the_folders_is_warned_of(self) -> Steps:
        """When it is outside the window's folders."""
        outside = Path(tempfile.mkdtemp(prefix="outside-"))
        self.addCleanup(shutil.rmtree, outside)
        yield from self.open_diff("x = 1\n", outside / "new.py")
        yield lambda: "outside this window's folders" in self.screen.header(self.original)
        self.assertIn("New file", self.screen.header(self.original))


class TestAfterwards(CompanionCase):
    """Refresh the open buffer after the CLI wrote (coder/claudecode.nvim#137)."""

    def test_the_clean_view_of_the_file_is_reloaded_and_its_caret_stays(self) -> Steps:
        """What the CLI has written is seen where the person was."""
        self.view.sel().clear()
        self.view.sel().add(4)
        yield from self.open_diff(PROPOSAL)
        yield from self.accepted()
        yield lambda: text_of(self.view) == PROPOSAL
        self.assertFalse(self.view.is_dirty())
        self.assertEqual((self.window.active_view(), list(self.view.sel())), (self.view, [sublime.Region(4)]))

    def test_the_status_bar_says_what_has_happened(self) -> Steps:
        """A status message."""
        yield from self.open_diff(PROPOSAL)
        self.assertEqual(self.screen.messages, [])
        yield from self.accepted()
        yield lambda: self.screen.said("Accepted app.py · no other proposal waits")
        yield from self.open_diff("x = 1\n")
        self.proposal.run_command("qwen_companion_reject_diff")
        yield lambda: self.screen.said("Rejected the change of app.py")

    def test_an_accepted_text_that_the_cli_does_not_write_is_kept(self) -> Steps:
        """Said, and offered in a tab that the editor asks about before it goes."""
        self.set_limit("review.reviews", "WRITE_LIMIT", 0.5)
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("append", {"characters": "# mine\n"})
        self.proposal.run_command("qwen_companion_accept_diff")
        yield from self.closed()
        kept = lambda: [view for view in self.window.views() if text_of(view) == PROPOSAL + "# mine\n"]  # noqa: E731
        yield kept
        self.assertFalse(kept()[0].is_scratch())
        self.assertIsNone(kept()[0].file_name())
        self.assertTrue(self.screen.said("Qwen Code has not written app.py"))
        self.assertEqual((self.file.read_text(), self.window.active_view()), (FILE, self.view))

    def test_an_accepted_text_that_is_written_in_time_is_not_kept(self) -> Steps:
        """Only one that is not written."""
        self.set_limit("review.reviews", "WRITE_LIMIT", 0.5)
        yield from self.open_diff(PROPOSAL)
        yield from self.accepted()
        yield 1_000
        self.assertEqual(self.window.views(), [self.view])

    def test_a_text_that_equals_the_file_needs_no_writing(self) -> Steps:
        """With every change reverted, a CLI may leave the file alone."""
        self.set_limit("review.reviews", "WRITE_LIMIT", 0.5)
        yield from self.open_diff(PROPOSAL)
        self.edit(self.proposal, FILE)
        self.proposal.run_command("qwen_companion_accept_diff")
        yield from self.closed()
        yield 1_000
        self.assertEqual(self.window.views(), [self.view])
        yield lambda: self.cli.outcomes
        self.assertEqual(self.cli.outcomes[0][1]["content"], FILE)


class TestContextOnly(CompanionCase):
    """Context only, diffs stay in the terminal (coder/claudecode.nvim#45)."""

    def test_without_diffs_no_tool_is_offered_and_the_context_still_works(self) -> Steps:
        """The setting show_diffs."""
        tools = self.cli.tools()
        yield from self.done(tools)
        self.assertEqual([tool["name"] for tool in tools.result()], ["openDiff", "closeDiff"])
        self.set_setting("show_diffs", False)
        yield 200
        cli = self.connect()
        yield from self.done(cli.connected)
        tools = cli.tools()
        yield from self.done(tools)
        self.assertEqual(tools.result(), [])
        yield lambda: cli.active
        self.assertEqual(cli.active["path"], str(self.file))


class TestShiftEscape(CompanionCase):
    """The keymap of Terminus is loaded after ours, and has Shift+Escape while its build panel exists."""

    BUILD = "Terminus Build Results"

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.window.create_output_panel(self.BUILD)
        self.addCleanup(self.window.destroy_output_panel, self.BUILD)
        self.set_limit("sublime_text.review.answers", "SETTLED", 0.0)

    def pressed(self, panel: str) -> None:
        """What the binding of Terminus runs."""
        self.window.run_command("show_panel", {"panel": panel})

    def test_it_rejects_the_diff_that_has_the_focus(self) -> Steps:
        yield from self.open_diff("x = 1\n")
        self.window.focus_view(self.proposal)
        yield lambda: self.focused() == self.proposal
        self.pressed(f"output.{self.BUILD}")
        yield lambda: not self.proposal.is_valid() and self.cli.outcomes
        self.assertEqual([kind for kind, _ in self.cli.outcomes], ["ide/diffRejected"])
        self.assertNotEqual(self.window.active_panel(), f"output.{self.BUILD}")

    def test_it_rejects_the_proposal_at_the_caret_of_the_review(self) -> Steps:
        yield from self.open_diff("x = 1\n")
        self.window.run_command("qwen_companion_review")
        review = loaded("sublime_text.package").adapter().review
        yield lambda: (tab := review.tab(self.window)) and "x = 1" in text_of(tab.view)
        tab = review.tab(self.window).view
        tab.sel().clear()
        tab.sel().add(text_of(tab).index("x = 1"))
        yield lambda: self.focused() == tab
        self.pressed(f"output.{self.BUILD}")
        yield lambda: not self.proposal.is_valid() and self.cli.outcomes
        self.assertEqual([kind for kind, _ in self.cli.outcomes], ["ide/diffRejected"])
        self.assertNotEqual(self.window.active_panel(), f"output.{self.BUILD}")

    def test_it_shows_the_panel_where_no_diff_has_the_focus(self) -> Steps:
        yield from self.open_diff("x = 1\n")
        self.window.focus_view(self.view)
        yield lambda: self.focused() == self.view
        self.pressed(f"output.{self.BUILD}")
        yield lambda: self.window.active_panel() == f"output.{self.BUILD}"
        self.assertTrue(self.proposal.is_valid())

    def test_a_panel_of_the_person_is_shown(self) -> Steps:
        yield from self.open_diff("x = 1\n")
        self.window.focus_view(self.proposal)
        yield lambda: self.focused() == self.proposal
        self.pressed("output.exec")
        yield 50
        self.assertTrue(self.proposal.is_valid())
