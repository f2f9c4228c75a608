"""Texts: edits, undo, regions that move, rows and columns. Sources as in test_as_the_editor.py."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import sublime
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headless.app import Application
from headless.buffer import TextBuffer, utf8_length, utf16_length
from headless.changes import Change
from headless.regions import merged, moved, subtracted
from headless.tests.texts import insert, select, selected, text_of
from headless.textindex import LineIndex

TEXTS = st.text(alphabet="ab\n\t é€😀\u2028", max_size=40)


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, list[Change]]:
    """A text and changes to it, one after the other."""
    text = start = draw(TEXTS)
    found = []
    for _ in range(draw(st.integers(0, 6))):
        a = draw(st.integers(0, len(text)))
        b = draw(st.integers(a, len(text)))
        change = Change(a, text[a:b], draw(TEXTS))
        found.append(change)
        text = text[:a] + change.new + text[b:]
    return start, found


@given(changes())
def test_the_lines_are_right_after_any_edits(case: tuple[str, list[Change]]):
    buffer = TextBuffer(1, case[0])
    for change in case[1]:
        buffer.apply(change)
        lines = buffer.text.split("\n")
        assert buffer.lines.row(change.at) == buffer.text[: change.at].count("\n")
        assert buffer.lines.count() == len(lines)
        for row, line in enumerate(lines):
            assert buffer.text[slice(*buffer.row_span(row))] == line


@given(TEXTS, st.integers(0, 40), st.booleans())
def test_a_line_index_gives_the_same_in_any_order_of_questions(text: str, point: int, count_first: bool):
    index = LineIndex(text)
    if count_first:
        index.count()
    point = min(point, len(text))
    row = index.row(point)
    assert index.start(row) <= point
    assert index.start(row) == text.rfind("\n", 0, point) + 1


@given(changes())
def test_taking_changes_back_gives_the_text_that_was(case: tuple[str, list[Change]]):
    buffer = TextBuffer(1, case[0])
    for change in case[1]:
        buffer.apply(change)
    for change in reversed(case[1]):
        buffer.apply(change.inverted())
    assert buffer.text == case[0]


@given(changes(), st.integers(0, 40), st.integers(0, 40))
def test_a_region_stays_on_its_characters(case: tuple[str, list[Change]], a: int, b: int):
    """As long as no change touches it, what a region covers is the same text."""
    text = case[0]
    span = min(a, b, len(text)), min(max(a, b), len(text))
    covered, touched = text[slice(*span)], False
    for change in case[1]:
        end = change.at + len(change.old)
        touched |= change.at <= span[1] and end >= span[0]
        text = text[: change.at] + change.new + text[end:]
        span = moved([span], change)[0]
        assert 0 <= span[0] <= span[1] <= len(text)
        if not touched:
            assert text[slice(*span)] == covered


@given(changes(), st.integers(0, 40))
def test_a_region_of_an_earlier_text_can_be_found_again(case: tuple[str, list[Change]], point: int):
    buffer = TextBuffer(1, case[0])
    span = (0, min(point, len(case[0])))
    now = span
    for change in case[1]:
        buffer.apply(change)
        now = moved([now], change)[0]
    assert buffer.moved(span, 0) == now


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=8))
def test_a_selection_is_sorted_and_does_not_overlap(spans: list[tuple[int, int]]):
    result = merged(spans)
    for first, second in itertools.pairwise(result):
        assert max(first) <= min(second)
        assert first != second
    covered = {p for a, b in spans for p in range(min(a, b), max(a, b))}
    assert {p for a, b in result for p in range(min(a, b), max(a, b))} == covered


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=5), st.integers(0, 20), st.integers(0, 20))
def test_subtracting_leaves_nothing_in_the_hole(spans: list[tuple[int, int]], a: int, b: int):
    hole = (min(a, b), max(a, b))
    for c, d in subtracted(merged(spans), hole):
        assert not set(range(min(c, d), max(c, d))) & set(range(*hole))


@given(TEXTS)
def test_columns_are_counted_in_code_units(app_text: str):
    buffer = TextBuffer(1, app_text)

    for point in range(len(app_text) + 1):
        row, col = buffer.rowcol(point)
        before = app_text[point - col : point]
        assert buffer.rowcol_measured(point, utf16_length) == (row, len(before.encode("utf-16-le")) // 2)
        assert buffer.rowcol_measured(point, utf8_length) == (row, len(before.encode()))
        row, units = buffer.rowcol_measured(point, utf16_length)
        assert buffer.text_point_measured(row, units, True, utf16_length) == point


def test_undo_and_redo_bring_back_text_selection_and_dirtiness(view: Any):
    insert(view, "one\n")
    insert(view, "two")
    view.run_command("undo")
    assert text_of(view) == "one\n"
    assert selected(view) == [(4, 4)]
    view.run_command("undo")
    assert text_of(view) == ""
    assert not view.is_dirty()
    view.run_command("redo")
    view.run_command("redo")
    assert text_of(view) == "one\ntwo"
    assert view.is_dirty()
    assert selected(view) == [(7, 7)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.one_of(TEXTS, st.sampled_from(["UNDO", "REDO", "SAVE"])), max_size=12))
def test_undo_and_redo_walk_through_the_texts_that_were(window: Any, app: Application, steps: list[str]):
    view = window.new_file()
    texts, at, clean = [""], 0, 0
    for step in steps:
        if step == "UNDO":
            view.run_command("undo")
            at = max(0, at - 1)
        elif step == "REDO":
            view.run_command("redo")
            at = min(len(texts) - 1, at + 1)
        elif step == "SAVE":
            app.views[view.id()].buffer.history.mark_clean()
            clean = at
        elif step:
            view.run_command("append", {"characters": step})
            clean = clean if clean <= at else -1
            texts[at + 1 :] = [texts[at] + step]
            at += 1
        assert text_of(view) == texts[at]
        assert view.is_dirty() == (at != clean)
    view.set_scratch(True)
    view.close()


def test_a_cleared_undo_stack_keeps_the_text_and_the_dirtiness(view: Any):
    insert(view, "text")
    view.clear_undo_stack()
    view.run_command("undo")
    assert text_of(view) == "text"
    assert view.is_dirty()


def test_regions_take_part_in_undo_unless_told_not_to(view: Any):
    insert(view, "0123456789")
    view.add_regions("with", [sublime.Region(4, 8)])
    view.add_regions("without", [sublime.Region(4, 8)], flags=sublime.NO_UNDO)
    select(view, (2, 6))
    view.run_command("left_delete")
    assert view.get_regions("with") == view.get_regions("without") == [sublime.Region(2, 4)]
    view.run_command("undo")
    assert view.get_regions("with") == [sublime.Region(4, 8)]
    assert view.get_regions("without") != [sublime.Region(4, 8)]


def test_all_of_a_command_is_one_step_and_an_edit_is_of_no_use_afterwards(view: Any, package: Any):
    """P: View.end_edit."""
    plugin = package("""
        class FillCommand(sublime_plugin.TextCommand):
            def run(self, edit, text):
                global kept
                kept = edit
                self.view.insert(edit, 0, text)
                self.view.replace(edit, sublime.Region(0, 1), "X")
                self.view.erase(edit, sublime.Region(1, 2))
    """)
    view.run_command("fill", {"text": "abc"})
    assert text_of(view) == "Xc"
    with pytest.raises(ValueError, match="Edit objects may not be used after"):
        view.insert(plugin.kept, 0, "no")
    with pytest.raises(ValueError, match="Edit objects"):
        view.erase(sublime.Edit(1), sublime.Region(0, 1))
    view.run_command("undo")
    assert text_of(view) == ""


def test_a_read_only_view_keeps_its_text(view: Any):
    insert(view, "kept")
    view.set_read_only(True)
    insert(view, "more")
    view.run_command("undo")
    assert text_of(view) == "kept"


def test_tabs_become_spaces_where_the_settings_say_so(view: Any):
    view.settings().set("translate_tabs_to_spaces", True)
    insert(view, "ab\tc")
    assert text_of(view) == "ab  c"
    view.run_command("append", {"characters": "\t", "disable_tab_translation": True})
    assert text_of(view).endswith("\t")


def test_every_change_counts_and_every_clone_sees_it(view: Any, window: Any):
    before = view.change_count()
    window.run_command("clone_file")
    clone = window.active_view()
    assert clone != view
    assert clone.buffer_id() == view.buffer_id()
    assert view.is_primary()
    assert not clone.is_primary()
    insert(clone, "shared")
    assert text_of(view) == "shared"
    assert view.change_count() > before
    assert view.clones() == [clone]
    assert view.buffer().views() == [view, clone]


def test_lines_words_and_points(view: Any):
    view.settings().set("auto_indent", False)
    insert(view, "def greet(name):\n    pass\n")
    assert view.line(3) == sublime.Region(0, 16)
    assert view.full_line(3) == sublime.Region(0, 17)
    assert view.lines(sublime.Region(3, 20)) == [sublime.Region(0, 16), sublime.Region(17, 25)]
    assert view.split_by_newlines(sublime.Region(3, 20)) == [sublime.Region(3, 16), sublime.Region(17, 20)]
    assert view.substr(view.word(5)) == "greet"
    assert view.rowcol(20) == (1, 3)
    assert view.text_point(1, 3) == 20
    assert view.text_point(0, 99, clamp_column=True) == 16
    assert view.classify(4) & sublime.CLASS_WORD_START
    assert view.classify(26) & sublime.CLASS_EMPTY_LINE
    assert view.substr(sublime.Region(4, 9)) == "greet"
    assert view.substr(4) == "g"
    assert view.indentation_level(20) == 1
    assert view.find_by_class(4, True, sublime.CLASS_WORD_END) == 9
    assert view.substr(view.expand_by_class(6, sublime.CLASS_WORD_START | sublime.CLASS_WORD_END)) == "greet"


def test_finding(view: Any):
    insert(view, "a.b aXb A.B")
    assert view.find("a.b", 1) == sublime.Region(4, 7)
    assert view.find("a.b", 1, sublime.LITERAL) == sublime.Region(-1)
    assert view.find("a.b", 1, sublime.LITERAL | sublime.IGNORECASE) == sublime.Region(8, 11)
    assert view.find("zzz", 0) == sublime.Region(-1)
    found: list[str] = []
    assert len(view.find_all("(a)(.)b", 0, "$2", found)) == 2
    assert found == [".", "X"]
    assert view.find_all("b", within=sublime.Region(4, 11)) == [sublime.Region(6, 7)]


def test_a_large_buffer_is_workable(app: Application, view: Any):
    view.run_command("append", {"characters": "a line of some fifty characters, more or less ok\n" * 100_000})
    view.add_regions("many", [sublime.Region(i * 49, i * 49 + 5) for i in range(5_000)], "markup.inserted")
    for row in range(0, 100_000, 1000):
        assert view.rowcol(view.text_point(row, 3)) == (row, 3)
    for _ in range(20):
        insert(view, "x")
    assert len(view.get_regions("many")) == 5_000


@pytest.mark.parametrize(
    ("lines", "size", "translates"),
    [
        (["  a", "    b"], 2, True),
        (["    a", "        b"], 4, True),
        (["   a", "      b", "   c"], 3, True),
        (["\ta", "\t\tb"], 7, False),
        (["\ta", "  b"], 7, None),
        ([" * a", "", "b"], 7, None),
    ],
)
def test_the_indentation_is_read_from_the_text(view: Any, lines: list[str], size: int, translates: bool | None):
    settings = view.settings()
    settings.set("auto_indent", False)
    for times, expected in ((1, (7, None)), (8, (size, translates))):
        view.run_command("select_all")
        view.run_command("insert", {"characters": "".join(f"{line}\n" for line in lines * times)})
        settings.set("tab_size", 7)
        settings.set("translate_tabs_to_spaces", None)
        view.run_command("detect_indentation", {"show_message": False})
        assert (settings.get("tab_size"), settings.get("translate_tabs_to_spaces")) == expected
