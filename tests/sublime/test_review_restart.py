"""Diffs that were open when the editor ended: Sublime restores their tabs, and nobody waits for them."""

from __future__ import annotations

from pathlib import Path

import sublime

from .companion_case import CompanionCase, Steps, diff_views, loaded, text_of
from .own import value, views

PROPOSAL = 'def greet(name):\n    print(f"hi {name}")\n'


class TestRestart(CompanionCase):
    """Stale tabs."""

    def test_an_unedited_diff_is_closed_and_nothing_else(self) -> Steps:
        """No stale tabs, and no view of another package or of the person is touched."""
        other = self.window.new_file()
        other.set_name("app.py ← Qwen Code")
        other.set_scratch(True)
        theirs = self.window.new_file()
        theirs.set_scratch(True)
        yield from self.open_remembered(PROPOSAL)
        self.end()
        self.begin()
        yield from self.closed()
        self.assertEqual(self.window.views(), [self.view, other, theirs])
        self.assertFalse(self.screen.said("from before"))

    def test_an_empty_proposal_is_closed_too(self) -> Steps:
        """An empty text is as much a proposal."""
        yield from self.open_remembered("", self.folder / "new.py")
        self.end()
        self.begin()
        yield from self.closed()
        self.assertEqual(self.window.views(), [self.view])

    def test_a_baseline_is_closed_too(self) -> Steps:
        """What it was beside is an ordinary tab, and nothing leads to it any more."""
        stale = self.window.new_file()
        stale.set_scratch(True)
        views().take(stale, "baseline")
        self.end()
        self.begin()
        yield lambda: not stale.is_valid()
        self.assertEqual(self.window.views(), [self.view])

    def test_an_edited_proposal_is_kept_as_a_view_like_any_other(self) -> Steps:
        """Nothing that a person edited is lost; and it can be saved."""
        yield from self.open_remembered(PROPOSAL)
        self.proposal.run_command("append", {"characters": "# mine\n"})
        self.end()
        self.begin()
        yield from self.closed()
        self.assertEqual(self.window.views(), [self.view, self.proposal])
        self.assertEqual(text_of(self.proposal), PROPOSAL + "# mine\n")
        yield lambda: self.screen.said("app.py ← Qwen Code", "from before", "kept in its tab")
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        self.assertIsNone(listener.on_text_command(self.proposal, "save_as", None))
        self.end()
        self.begin()
        yield 100
        self.assertEqual(text_of(self.proposal), PROPOSAL + "# mine\n")

    def test_what_was_edited_while_the_package_was_not_there_is_kept(self) -> Steps:
        """Nothing that a person edited is lost: Sublime loads packages after it has shown its windows."""
        yield from self.open_remembered(PROPOSAL)
        self.end()
        self.proposal.run_command("append", {"characters": "# mine\n"})
        self.begin()
        yield from self.closed()
        self.assertEqual(text_of(self.proposal), PROPOSAL + "# mine\n")

    def test_a_proposal_that_has_become_a_file_is_kept(self) -> Steps:
        """Without the package, Save As makes the tab a file of the person's own."""
        yield from self.open_remembered(PROPOSAL)
        self.end()
        self.proposal.retarget(str(self.folder / "own.py"))
        self.begin()
        yield from self.closed()
        self.assertTrue(self.proposal.is_valid())

    def test_a_view_of_which_nothing_is_known_is_kept(self) -> Steps:
        """Nothing that a person edited is lost: when in doubt, it was edited."""
        yield from self.open_remembered(PROPOSAL)
        self.end()
        self.forget(self.proposal)
        self.begin()
        yield from self.closed()
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_a_project_that_brings_its_views_back_leaves_the_open_diffs_alone(self) -> Steps:
        """What a project restores is as stale; a diff that somebody waits for is not."""
        yield from self.open_remembered(PROPOSAL)
        stale = self.window.new_file()
        stale.set_scratch(True)
        views().take(stale, "proposal", **{name: value(self.proposal, name) for name in ("review", "shown")})
        stale.run_command("append", {"characters": PROPOSAL})
        loaded("sublime_text.listeners").QwenCompanionListener().on_load_project(self.window)
        yield lambda: not stale.is_valid()
        self.window.focus_view(self.proposal)
        self.window.run_command("clone_file")
        loaded("sublime_text.listeners").QwenCompanionListener().on_new_window(self.window)
        self.assertEqual(len(diff_views(self.window, "proposal")), 2)
        next(view for view in diff_views(self.window, "proposal") if view != self.proposal).close()
        self.assertEqual(diff_views(self.window, "proposal"), [self.proposal])
        yield from self.accepted()
        self.assertEqual(self.content, PROPOSAL)

    def open_remembered(self, content: str, path: object = None) -> Steps:
        """Open a diff, and wait until its views hold all that is needed after a restart."""
        yield from self.open_diff(content, path)  # type: ignore[arg-type]
        shown = lambda view: value(view, "shown")  # noqa: E731
        yield lambda: shown(self.original) and shown(self.proposal)

    def forget(self, view: sublime.View) -> None:
        """Lose the record of a view."""
        marker = str(view.settings().get("qwen_companion.view"))
        Path(sublime.cache_path(), "QwenCompanion", "views", f"{marker}.json").unlink()

    def end(self) -> None:
        """The editor ends: the package leaves, and its tabs stay for the next start."""
        package = loaded("sublime_text.package")
        adapter = package.adapter()
        package.hand_over()
        adapter.settings.close()
        adapter.status_bar.close()
        for view in self.window.views():
            view.erase_phantoms("qwen_companion.header")  # no phantom is restored

    def begin(self) -> None:
        """The editor has started again, and loads the package."""
        self.assertTrue(sublime.windows())
        loaded("sublime_text.package").load()
