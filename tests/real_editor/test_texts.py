"""How the editor keeps texts, carets, regions, phantoms and folds."""

from __future__ import annotations

import sublime
import sublime_plugin

from .editor_case import SETTLED, EditorCase, Steps, text_of, until

CHARACTERS = "a\tb\u2028c\u2029d\x01\x1b\x7fe\x85f\u00a0g"
NUL = "a\0b"


class HandListener(sublime_plugin.TextChangeListener):
    """Counts the changes of a text. Attached by hand only."""

    @classmethod
    def is_applicable(cls, buffer: sublime.Buffer) -> bool:
        """Never by itself."""
        return False

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def on_text_changed(self, changes: list[sublime.TextChange]) -> None:
        """The text has changed."""
        self.count += 1


class TestTexts(EditorCase):
    """Texts, and where things are in them."""

    def test_a_text_keeps_its_tabs_line_separators_and_control_characters(self) -> None:
        self.assertEqual(text_of(self.new(CHARACTERS)), CHARACTERS)

    def test_a_text_keeps_its_nul_characters(self) -> None:
        self.assertEqual(text_of(self.new(NUL)), NUL)

    def test_an_insertion_by_replace_at_a_caret_is_selected(self) -> None:
        view = self.new("abc")
        view.sel().clear()
        view.sel().add(1)
        self.replace(view, 1, 1, "XY")
        self.assertEqual(list(view.sel()), [sublime.Region(1, 3)])

    def test_an_empty_region_stays_empty_when_replace_inserts_a_text_there(self) -> None:
        view = self.new("abcdef")
        view.add_regions("try", [sublime.Region(1)], flags=sublime.RegionFlags.NO_UNDO)
        self.replace(view, 1, 1, "XY")
        self.assertEqual([one.empty() for one in view.get_regions("try")], [True], view.get_regions("try"))

    def test_a_phantom_moves_behind_a_text_inserted_at_its_place(self) -> None:
        view = self.new("abc")
        number = view.add_phantom("try", sublime.Region(1), "x", sublime.PhantomLayout.BLOCK)
        self.replace(view, 1, 1, "XY")
        self.assertEqual([one.begin() for one in view.query_phantom(number)], [3])

    def test_a_text_inserted_at_the_end_of_a_fold_is_folded(self) -> None:
        view = self.new("abcdef")
        view.fold(sublime.Region(1, 3))
        self.replace(view, 3, 3, "XY")
        self.assertEqual([(one.begin(), one.end()) for one in view.folded_regions()], [(1, 5)])

    def test_letters_typed_one_after_the_other_are_undone_together(self) -> None:
        view = self.new()
        for letter in "abc":
            view.run_command("insert", {"characters": letter})
        view.run_command("undo")
        self.assertEqual(text_of(view), "")


class TestTold(EditorCase):
    """When listeners hear of edits and commands."""

    def test_on_modified_comes_while_the_command_runs(self) -> None:
        view = self.new()
        self.replace(view, 0, 0, "x")
        self.assertIn("on_modified", self.heard(view, "on_modified"), "it has not come when the command is over")

    def test_an_edit_made_in_on_modified_is_told_at_once(self) -> Steps:
        view = self.new()
        counts: list[int] = []

        def edit_again() -> None:
            before = len(self.heard(view, "on_modified"))
            self.replace(view, 0, 0, "y")
            counts.append(len(self.heard(view, "on_modified")) - before)

        self.trying.REACTIONS.append(edit_again)
        self.replace(view, 0, 0, "x")
        yield until(lambda: counts, "on_modified did not come")
        self.assertGreater(counts[0], 0, "it was told after the first listener returned")

    def test_listeners_are_asked_about_a_command_that_another_one_has_put_in_place(self) -> Steps:
        view = self.new("abc")
        self.trying.INSTEAD["right_delete"] = "select_all"
        self.trying.EVENTS.clear()
        view.run_command("right_delete")
        yield SETTLED
        asked = [command for name, _, command in self.trying.EVENTS if name == "on_text_command"]
        self.assertEqual(asked, ["right_delete", "select_all"])

    def test_a_text_listener_attached_by_hand_hears_an_edit_while_it_runs(self) -> None:
        view, listener = self.new(), HandListener()
        listener.attach(view.buffer())
        self.addCleanup(lambda: listener.is_attached() and listener.detach())
        self.replace(view, 0, 0, "x")
        self.assertGreater(listener.count, 0, "it has heard nothing when the command is over")
