"""No edit is lost, and the header says what is so."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, diff_views, loaded, text_of
from .own import value

FILE = 'def greet(name):\n    print("hi")\n'
PROPOSAL = 'def greet(name):\n    print(f"hi {name}")\n'
MINE = PROPOSAL + "# mine\n"


class TestKept(CompanionCase):
    """Text that would be lost."""

    def open_edited(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.proposal.assign_syntax("scope:source.json")
        self.proposal.run_command("append", {"characters": "# mine\n"})

    def kept(self, window: sublime.Window | None = None) -> list[sublime.View]:
        views = (window or self.window).views()
        return [view for view in views if text_of(view) == MINE and view.name() == "app.py (your edits)"]

    def test_an_edited_proposal_whose_tab_is_closed_is_kept(self) -> Steps:
        """With its syntax; not scratch, so the editor asks before it goes; and nothing is selected."""
        yield from self.open_edited()
        self.proposal.close()
        yield lambda: self.kept() and self.cli.outcomes
        [view] = self.kept()
        syntax = view.syntax()
        self.assertEqual((view.is_scratch(), syntax and syntax.scope), (False, "source.json"))
        self.assertEqual(list(view.sel()), [sublime.Region(0)])
        yield lambda: self.screen.said("app.py", "edits are kept")
        self.assertEqual([method for method, _ in self.cli.outcomes], ["ide/diffRejected"])
        self.assertEqual(self.window.active_view(), self.view)

    def test_an_accepted_text_that_no_cli_writes_is_kept_although_the_package_has_gone(self) -> Steps:
        """Nobody has taken over after an unload, and our own commands are not there any more."""
        disk = loaded("review.disk")
        plain = {"cli": "Qwen Code", "encodings": asdict(disk.Encodings()), "views": None, "proposed": PROPOSAL}
        text = MINE + "\t# a tab\n"
        self.window.settings().set("translate_tabs_to_spaces", True)
        left = [
            {**plain, "file_path": str(self.file), "unwritten": FILE},  # written by now
            {**plain, "file_path": str(self.folder / "new.py"), "unwritten": text},
            {**plain, "file_path": str(self.file)},  # rejected
        ]
        run = sublime.View.run_command

        def without_package(view: sublime.View, name: str, args: Any = None) -> None:
            if not name.startswith("qwen_companion"):
                run(view, name, args)

        with patch.object(sublime.View, "run_command", without_package):
            loaded("sublime_text.package").adapter().diffs.abandon_reviews(left)
            yield lambda: self.screen.said("new.py", "is kept in a tab")
        kept = [(view.name(), text_of(view)) for view in self.window.views() if view != self.view]
        self.assertEqual(kept, [("new.py (your edits)", text)])

    def test_an_edited_proposal_that_is_kept_has_the_gutter_and_the_wrapping_of_any_tab(self) -> Steps:
        yield from self.open_edited()
        proposal, adapter = self.proposal, loaded("sublime_text.package").adapter()
        views = adapter.diffs.find(proposal).hand_over()
        adapter.diffs.abandon_reviews([{"views": views, "proposed": PROPOSAL, "file_path": str(self.file)}])
        yield lambda: self.screen.said("app.py has ended")
        for name in ("mini_diff", "word_wrap"):
            self.assertEqual(proposal.settings().get(name), self.view.settings().get(name), name)
        proposal.set_scratch(True)
        proposal.close()

    def test_an_unedited_proposal_leaves_nothing(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.proposal.close()
        yield from self.closed()
        yield 100
        self.assertEqual(self.window.views(), [self.view])

    def test_an_edited_proposal_of_a_project_that_closes_is_kept(self) -> Steps:
        yield from self.open_edited()
        loaded("sublime_text.listeners").QwenCompanionListener().on_pre_close_project(self.window)
        yield lambda: self.cli.outcomes and self.kept()
        yield from self.closed()
        self.assertEqual(len(self.kept()), 1)

    def test_an_edited_proposal_of_a_window_that_closes_is_kept_in_another(self) -> Steps:
        old = {view.id() for window in sublime.windows() for view in window.views()}
        yield from self.another_window()
        try:
            yield from self.open_edited()
            self.window.run_command("close_window")
            found = lambda: [v for w in sublime.windows() for v in self.kept(w) if v.id() not in old]  # noqa: E731
            yield lambda: found() and self.cli.outcomes
            self.assertEqual(len(found()), 1)
        finally:
            for window in sublime.windows():
                for view in self.kept(window):
                    if view.id() not in old:
                        view.set_scratch(True)
                        view.close()

    def test_a_rejected_text_can_be_reopened(self) -> Steps:
        """A deliberate reject leaves no tab."""
        yield from self.open_edited()
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        yield 100
        self.assertEqual(self.kept(), [])
        self.window.run_command("qwen_companion_reopen_rejected")
        yield lambda: self.screen.panels or self.kept()
        if self.screen.panels:  # texts of other tests
            self.screen.panels[-1][1](0)
        yield lambda: len(self.kept()) == 1

    def test_saves_in_a_proposal_are_answered(self) -> Steps:
        """They were swallowed."""
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.proposal)
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        log = loaded("sublime_text.panels").NOTICES
        said = lambda: [one for one in log._log if "not saved as a file" in one.text]  # noqa: E731
        first = len(said())
        self.window.run_command("save")
        self.assertEqual(len(said()), first + 1)
        for name, instead in (("save_as", ("noop", {})), ("prompt_save_as", ("noop", {})), ("save_all", None)):
            before = len(said())
            self.assertEqual(listener.on_text_command(self.proposal, name, None), instead)
            self.assertEqual(len(said()), before + 1)
        self.assertEqual(self.cli.outcomes, [])

    def test_closing_the_left_side_closes_one_tab_and_the_diff_goes_inline(self) -> Steps:
        """Ctrl+W closes every selected tab (sublimehq/sublime_text#4643)."""
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.original)
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        for name in ("close", "close_file"):
            told = listener.on_window_command(self.window, name, None)
            self.assertEqual(told, ("qwen_companion_close_diff_view", {}))
        self.original.run_command("qwen_companion_close_diff_view")
        yield lambda: not diff_views(self.window, "original")
        yield 100
        self.assertEqual((self.cli.outcomes, self.proposal.is_valid()), ([], True))
        yield lambda: value(self.proposal, "inline")
        self.proposal.run_command("qwen_companion_toggle_diff_layout")
        yield lambda: diff_views(self.window, "original")

    def test_a_text_that_the_view_changes_is_sent_as_it_came(self) -> Steps:
        """NUL (sublimehq/sublime_text#393, #1939)."""
        insert = sublime.View.insert

        def without_nul(view: sublime.View, edit: sublime.Edit, point: int, text: str) -> int:
            return insert(view, edit, point, text.replace("\0", " "))

        with patch.object(sublime.View, "insert", without_nul):
            yield from self.open_diff("a\0b\n")
            yield lambda: "can't show this text exactly" in self.screen.header(self.proposal)
        self.assertTrue(self.proposal.is_read_only())
        before = text_of(self.proposal)
        self.proposal.run_command("qwen_companion_undo_change")  # which could not be accepted
        yield lambda: self.screen.said("The editor can't show this text exactly")
        yield 200
        self.assertEqual(text_of(self.proposal), before)
        yield from self.accepted()
        self.assertEqual(self.content, "a\0b\n")


class TestHeader(CompanionCase):
    """What differs besides the text, and what is so on disk."""

    def test_a_change_of_line_endings_alone_is_shown_and_can_be_reverted(self) -> Steps:
        yield from self.open_diff(FILE.replace("\n", "\r\n"))
        yield lambda: "LF → CRLF in 2 lines" in self.screen.header(self.proposal)
        self.screen.click(self.proposal, "endings:revert")
        yield lambda: "not LF → CRLF in 2 lines" in self.screen.header(self.proposal)
        self.screen.click(self.proposal, "endings:restore")
        yield lambda: "↩ undo" in self.screen.header(self.proposal)
        self.proposal.run_command("qwen_companion_toggle_line_endings")
        yield lambda: "not LF" in self.screen.header(self.proposal)
        self.proposal.run_command("qwen_companion_toggle_line_endings")
        yield lambda: "↩ undo" in self.screen.header(self.proposal)
        self.proposal.run_command("qwen_companion_toggle_line_endings")
        yield lambda: "not LF" in self.screen.header(self.proposal)
        yield from self.accepted()
        self.assertEqual(self.content, FILE)

    def test_the_commands_for_line_endings_and_for_a_changed_file_need_a_reason(self) -> Steps:
        """Each link has a command, which is enabled where the link is."""
        module = loaded("sublime_text.review.review_commands")
        self.set_limit("companion", "TICK", 0.1)
        yield from self.open_diff(PROPOSAL)
        endings = module.QwenCompanionToggleLineEndingsCommand(self.proposal)
        reload = module.QwenCompanionReloadDiffCommand(self.proposal)
        self.assertEqual((endings.is_enabled(), reload.is_enabled()), (False, False))
        self.file.write_text("x = 1\n" + FILE)
        yield reload.is_enabled
        self.proposal.run_command("qwen_companion_reload_diff")
        yield lambda: text_of(self.original) == "x = 1\n" + FILE
        yield lambda: not reload.is_enabled()

    def test_the_file_of_a_proposal_without_a_tab_can_be_reloaded(self) -> Steps:
        """Its marks are those of the new text as soon as it has a tab."""
        self.set_limit("companion", "TICK", 0.1)
        yield from self.open_diff(PROPOSAL)
        other = self.folder / "other.py"
        other.write_text("one\n")
        diff = yield from self.propose("one\ntwo\n", other)
        self.assertEqual((diff.is_open, str(diff.counts)), (False, "1 file, +1 −0"))
        other.write_text("zero\none\ntwo\nthree\n")
        yield lambda: diff.review.can_reload
        diff.actions.read_again()
        yield lambda: str(diff.counts) == "1 file, +0 −2"
        loaded("sublime_text.package").adapter().diffs.show(diff)
        yield lambda: "−2" in self.screen.header(diff.proposal)

    def test_the_file_that_has_changed_can_be_reloaded(self) -> Steps:
        """The warning goes when it is no longer true."""
        self.set_limit("companion", "TICK", 0.1)
        yield from self.open_diff(PROPOSAL)
        yield lambda: self.screen.header(self.original)
        self.file.unlink()
        yield lambda: "deleted on disk" in self.screen.header(self.original)
        self.file.write_text(FILE)
        yield lambda: "⚠" not in self.screen.header(self.original)
        self.file.write_text("x = 1\n" + FILE)
        yield lambda: "changed on disk reload" in self.screen.header(self.original)
        self.screen.click(self.original, "reload")
        yield lambda: text_of(self.original) == "x = 1\n" + FILE
        yield lambda: "⚠" not in self.screen.header(self.original)
        yield lambda: "+1 −2 in 2 changes" in self.screen.header(self.proposal)
        self.assertTrue(self.original.is_read_only())

    def test_a_file_that_is_open_by_another_path_is_the_same_file(self) -> Steps:
        """Symbolic links and real paths (macOS's `/tmp`, linked projects)."""
        link = Path(f"{self.folder}-link")
        try:
            link.symlink_to(self.folder, target_is_directory=True)
        except OSError:
            return self.skipTest("links can't be made here")
        self.addCleanup(link.unlink)
        self.view.settings().set("tab_size", 3)
        self.view.run_command("append", {"characters": "# unsaved\n"})
        yield from self.open_diff(PROPOSAL, link / "app.py")
        yield lambda: "unsaved edits" in self.screen.header(self.original)
        self.assertEqual(self.proposal.settings().get("tab_size"), 3)
        self.view.run_command("undo")
        yield lambda: "unsaved edits" not in self.screen.header(self.original)

    def test_the_encoding_is_that_of_the_files_view(self) -> Steps:
        path = self.folder / "russian.txt"
        path.write_bytes("привет\n".encode("cp1251"))
        with patch.object(sublime.View, "encoding", lambda _: "Cyrillic (Windows 1251)"):
            yield from self.open_view("russian.txt")
            yield from self.open_diff("пока\n", path)
        self.assertEqual(text_of(self.original), "привет\n")
