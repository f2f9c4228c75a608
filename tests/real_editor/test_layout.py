"""The layout, the colours, the syntax, and what the editor compares with."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import sublime

from .editor_case import SETTLED, EditorCase, Steps, loaded, text_of, until

LINES = 3
"""Lines that the measured filler stands for."""
COMPARED = 100
"""Milliseconds in which the editor compares a text in the background."""
SYNTAX = "Packages/QwenCompanion/QwenCompanion Chat.sublime-syntax"


class TestLayout(EditorCase):
    """Heights, positions and colours."""

    def test_a_filler_is_as_high_as_its_lines(self) -> Steps:
        view = self.new("a\nb\n")
        place = lambda: view.text_to_layout(view.text_point(1, 0))[1]  # noqa: E731
        before, wanted = place(), LINES * view.line_height()
        content = loaded("sublime_text.review.diff_marks").filler(LINES, view.line_height())
        view.add_phantom("try", sublime.Region(0), content, sublime.PhantomLayout.BLOCK)
        yield until(lambda: place() != before, "the filler has no height")
        self.assertAlmostEqual(place() - before, wanted, delta=1)

    def test_a_position_that_was_set_is_told_at_once(self) -> Steps:
        view = self.new("line\n" * 500)
        yield SETTLED
        wanted = 20 * view.line_height()
        view.set_viewport_position((0.0, wanted), animate=False)
        self.assertAlmostEqual(view.viewport_position()[1], wanted, delta=1)

    def test_added_and_removed_text_have_colours_of_their_own(self) -> None:
        view = self.new("a")
        plain = view.style()

        def own(scope: str) -> tuple[object, object]:
            style: dict[str, Any] = view.style_for_scope(scope)  # pyright: ignore[reportAssignmentType]
            return style.get("background") or plain.get("background"), style.get("foreground")

        colours = own("markup.inserted"), own("markup.deleted"), (plain.get("background"), plain.get("foreground"))
        self.assertEqual(len(set(colours)), 3, colours)

    def test_the_editor_reads_the_syntax_of_the_chat(self) -> Steps:
        view = self.new("❯ a prompt\n\nan answer\n")
        view.assign_syntax(SYNTAX)
        yield until(lambda: view.scope_name(0).startswith("text.qwen-companion"), "the scope is another one")

    def test_detect_indentation_finds_that_of_a_scratch_view(self) -> Steps:
        view = self.new("a:\n\tb:\n\t\tc\n\t\td\n\te\n" * 5)
        view.settings().update({"tab_size": 3, "translate_tabs_to_spaces": True, "detect_indentation": True})
        view.run_command("detect_indentation", {"show_message": False})
        yield until(lambda: not view.settings().get("translate_tabs_to_spaces"), "the tabs were not seen")


class TestReference(EditorCase):
    """What the editor's own diff compares with, and what it shows."""

    def first_change(self, view: sublime.View, reference: str | None = None) -> Generator[Any, Any, int]:
        """The row of the first change that the gutter shows; 0 for none. The text is compared with `reference`."""
        view.settings().set("mini_diff", True)
        if reference is not None:
            view.set_reference_document(reference)
        yield COMPARED
        view.sel().clear()
        view.sel().add(0)
        view.run_command("next_modification")
        return view.rowcol(view.sel()[0].b)[0]

    def test_toggle_inline_diff_shows_removed_lines(self) -> Steps:
        view = self.new("a\nd\n" + "e\n" * 100)
        view.settings().set("mini_diff", True)
        view.set_reference_document("a\nb\nc\nd\n" + "e\n" * 100)
        yield COMPARED
        before = view.layout_extent()[1]
        view.run_command("select_all")
        view.run_command("toggle_inline_diff")
        yield until(lambda: view.layout_extent()[1] > before, "the view did not grow for two removed lines")

    def test_the_gutter_compares_with_the_reference_document(self) -> Steps:
        row = yield from self.first_change(self.new("a\nX\nc\n"), "a\nb\nc\n")
        self.assertEqual(row, 1)

    def test_the_gutter_compares_with_it_after_the_file_was_loaded_again(self) -> Steps:
        view = self.open("reference.txt", "a\nX\nc\n")
        yield until(lambda: not view.is_loading(), "it did not load")
        yield from self.first_change(view, "a\nb\nc\n")
        text = "a\nb\nlonger\n"
        with open(os.path.join(self.folder, "reference.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        yield until(lambda: text_of(view) == text, "it was not loaded again")
        row = yield from self.first_change(view)
        self.assertEqual(row, 2)

    def test_without_a_reference_document_the_gutter_of_a_file_without_git_shows_nothing(self) -> Steps:
        view = self.new("a\nX\nc\n")
        yield from self.first_change(view, "a\nb\nc\n")
        view.reset_reference_document()
        row = yield from self.first_change(view)
        self.assertEqual(row, 0)
