"""What the real editor does with texts, views, time and files, each with its source.

P: the editor's own sublime_plugin.py or sublime.py of its Python 3.14 host. D: its documentation. I#n: an issue of the
editor's tracker. T:x: a test of the package x that passes in the real editor. K: known from using it, and weighed so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sublime

from headless.app import Application
from headless.tests.texts import Span, fill, insert, select, selected, text_of

Package = Callable[..., Any]
EDITING = """
    log = []
    class ChangeCommand(sublime_plugin.TextCommand):
        def run(self, edit, what, a=0, b=0, text=""):
            if what == "replace": self.view.replace(edit, sublime.Region(a, b), text)
            if what == "insert": log.append(self.view.insert(edit, a, text))
            if what == "erase": self.view.erase(edit, sublime.Region(a, b))
"""


# -- regions -------------------------------------------------------------------------------------


def test_cover_is_reversed_unless_the_region_runs_forward():
    """P: Region.cover."""
    assert sublime.Region(5).cover(sublime.Region(7, 9)).to_tuple() == (9, 5)
    assert sublime.Region(5, 6).cover(sublime.Region(7, 9)).to_tuple() == (5, 9)


def test_regions_that_touch_have_no_intersection():
    """P: Region.intersection, Region.intersects."""
    assert sublime.Region(0, 5).intersection(sublime.Region(5, 9)).to_tuple() == (0, 0)
    assert sublime.Region(0, 5).intersects(sublime.Region(2, 2))
    assert not sublime.Region(0, 5).intersects(sublime.Region(5, 9))


def test_a_region_tells_its_xpos_and_is_no_key():
    """P: Region.__repr__; Region has __eq__ and no __hash__."""
    assert repr(sublime.Region(1, 2, 3)) == "Region(1, 2, xpos=3)"
    assert repr(sublime.Region(1, 2)) == "Region(1, 2)"
    assert 5 in sublime.Region(0, 5)
    with pytest.raises(TypeError):
        hash(sublime.Region(1))


# -- texts ---------------------------------------------------------------------------------------


def test_lines_words_and_what_is_behind_the_end(view: Any):
    """P: substr. T:NeoVintageous: lines, full_line. K: the others. D: clamp_column."""
    fill(view, "abc\ndef\nghi")
    assert view.substr(view.size()) == "\x00"
    assert [region.to_tuple() for region in view.lines(sublime.Region(0, 4))] == [(0, 3)]
    assert view.full_line(sublime.Region(0, 4)).to_tuple() == (0, 8)
    assert [region.to_tuple() for region in view.split_by_newlines(sublime.Region(1, 6))] == [(1, 3), (4, 6)]
    assert view.text_point(0, 5) == 5
    assert view.text_point(0, 9, clamp_column=True) == 3
    assert view.rowcol(99) == (2, 3)
    assert view.find("zzz", 0).to_tuple() == (-1, -1)
    assert view.word(5).to_tuple() == (4, 7)


@pytest.mark.parametrize(
    ("text", "region", "new", "before", "after"),
    [
        ("01234567", (5, 5), "BAZ", (5, 5), (5, 8)),  # I#4144, I#1165
        ("abcdef", (0, 6), "BAZ", (0, 0), (0, 0)),  # I#4144
        ("abcdef", (0, 6), "BAZBARFOO", (0, 0), (3, 3)),  # I#4144
        ("axxb", (1, 3), "one", (2, 2), (3, 3)),  # T:NeoVintageous, and the next two
        ("1xyze", (1, 4), "tw", (3, 3), (2, 2)),
        ("axxb", (1, 3), "one", (1, 3), (1, 4)),
        ("axxb", (1, 3), "one", (3, 1), (4, 1)),
        ("abc", (0, 0), "", (1, 1), (1, 1)),  # K
    ],
)
def test_replace_moves_carets_in_its_own_way(
    view: Any,
    package: Package,
    text: str,
    region: Span,
    new: str,
    before: Span,
    after: Span,
):
    package(EDITING)
    fill(view, text, before)
    view.run_command("change", {"what": "replace", "a": region[0], "b": region[1], "text": new})
    assert selected(view) == [after]


def test_insert_and_erase_move_carets(view: Any, package: Package):
    """K."""
    package(EDITING)
    fill(view, "abc", (1, 1))
    view.run_command("change", {"what": "insert", "a": 1, "text": "XY"})
    assert selected(view) == [(3, 3)]
    select(view, (1, 2))
    view.run_command("change", {"what": "erase", "a": 0, "b": view.size()})
    assert selected(view) == [(0, 0)]


def test_insert_translates_tabs_and_says_how_long_the_text_was(view: Any, package: Package):
    """D: View.insert. K: nothing is inserted in a read-only view."""
    log = package(EDITING).log
    view.settings().update({"tab_size": 4, "translate_tabs_to_spaces": True})
    view.run_command("change", {"what": "insert", "text": "\tx"})
    assert (log, text_of(view)) == ([5], "    x")
    view.set_read_only(True)
    view.run_command("change", {"what": "insert", "text": "x"})
    assert (log, view.size()) == ([5, 0], 5)


def test_the_command_insert_changes_line_by_line_and_indents(view: Any):
    """T:LSP: three changes. T:AlignTab: what is behind a line feed is indented as the line before."""
    count = view.change_count()
    insert(view, "a\nb")
    assert view.change_count() - count == 3
    select(view, (0, view.size()))
    insert(view, "  a")
    insert(view, "\nb")
    assert text_of(view) == "  a\n  b"
    # K: no bracket is added before a letter.
    select(view, (6, 6))
    insert(view, "(")
    assert text_of(view) == "  a\n  (b"


def test_typed_letters_are_one_step_of_the_history(view: Any):
    """K."""
    for letter in "abc":
        insert(view, letter)
    assert view.command_history(0) == ("insert", {"characters": "abc"}, 1)
    view.run_command("undo")
    assert text_of(view) == ""
    view.run_command("redo")
    assert text_of(view) == "abc"


def test_letters_typed_elsewhere_or_after_saving_are_a_step_of_their_own(view: Any, tmp_path: Path):
    """K: a saved text has to be one that undo comes by."""
    insert(view, "a")
    select(view, (0, 0))
    insert(view, "b")
    view.run_command("undo")
    assert text_of(view) == "a"
    view.retarget(str(tmp_path / "file"))
    view.run_command("save")
    select(view, (1, 1))
    insert(view, "c")
    view.run_command("undo")
    assert (text_of(view), view.is_dirty()) == ("a", False)


def test_selections(view: Any):
    """K."""
    fill(view, "0123456789", (0, 5), (5, 9))
    assert selected(view) == [(0, 5), (5, 9)]
    select(view, (0, 5), (5, 5))
    assert selected(view) == [(0, 5)]
    select(view, (7, 3))
    assert selected(view) == [(7, 3)]
    view.sel().subtract(sublime.Region(4, 5))
    assert selected(view) == [(4, 3), (7, 5)]


# -- views, sheets and panels --------------------------------------------------------------------


def test_a_new_view_has_the_syntax_plain_text(window: Any):
    """K, T:LSP."""
    assert window.new_file().settings().get("syntax") == "Packages/Text/Plain text.tmLanguage"


def test_the_view_of_a_panel_has_a_sheet_without_a_number(window: Any):
    """P: View.sheet makes a sheet of whatever number it gets."""
    panel = window.create_output_panel("mine")
    assert (panel.sheet_id(), panel.sheet()) == (0, sublime.TextSheet(0))
    assert panel.sheet().window() is None


def test_built_in_commands_ignore_arguments_that_they_do_not_know(window: Any):
    """T:sublime_lib: hide_panel is given the panel's name."""
    window.create_output_panel("mine")
    window.run_command("show_panel", {"panel": "output.mine"})
    window.run_command("hide_panel", {"panel": "output.mine"})
    assert window.active_panel() is None


def test_add_regions_checks_what_it_is_given(view: Any):
    """P: View.add_regions. K: an empty key is a key."""
    fill(view, "abc")
    with pytest.raises(ValueError, match="annotations"):
        view.add_regions("k", [sublime.Region(0, 1)], annotations=["a", "b"])
    with pytest.raises(ValueError, match="icon"):
        view.add_regions("k", [sublime.Region(0, 1)], "scope", 4)
    view.add_regions("", [sublime.Region(0, 1)])
    assert len(view.get_regions("")) == 1


def test_an_equal_phantom_takes_over_the_id_of_the_one_that_is_shown(view: Any):
    """P: PhantomSet.update keeps the new object."""
    phantoms = sublime.PhantomSet(view)
    first, second = (sublime.Phantom(sublime.Region(0), "a", sublime.PhantomLayout.BLOCK) for _ in range(2))
    phantoms.update([first])
    phantoms.update([second])
    assert phantoms.phantoms == [second]
    assert phantoms.phantoms[0] is second
    assert (second.id, view.query_phantom(second.id)) == (first.id, [sublime.Region(0)])


def test_an_empty_text_has_views_and_a_file_name(window: Any, tmp_path: Path, app: Application):
    """P: Buffer.views, Buffer.file_name."""
    path = tmp_path / "empty"
    path.write_text("")
    view = window.open_file(str(path))
    app.loop.turn(0)
    assert view.buffer().views() == [view]
    assert view.buffer().file_name() == str(path)


def test_a_command_as_text():
    """P: format_command."""
    assert sublime.format_command("a", {"b": [1, "é"]}) == 'a {"b":[1,"é"]}'


def test_a_tab_is_as_wide_as_it_is_drawn(view: Any):
    """K."""
    view.settings().set("tab_size", 4)
    fill(view, "ab\tc")
    assert view.text_to_layout(3)[0] / view.em_width() == 4.0


# -- time and files ------------------------------------------------------------------------------


def test_a_settings_file_is_never_seen_half_written(app: Application):
    """K: the editor writes beside the file and puts the new one in its place; a reader saw `{}` here before."""
    settings = sublime.load_settings("Some.sublime-settings")
    path = Path(app.paths.user) / "Some.sublime-settings"
    ended, seen = threading.Event(), list[str]()

    def read() -> None:
        while not ended.is_set():
            if path.exists():
                seen.append(path.read_text()[:2])

    reader = threading.Thread(target=read)
    reader.start()
    deadline = time.monotonic() + 60
    number = 0
    while (number < 100 or len(seen) < 100) and time.monotonic() < deadline:
        number += 1
        settings.set("value", [number] * 2000)
        sublime.save_settings("Some.sublime-settings")
    ended.set()
    reader.join()
    assert set(seen) == {"{\n"}
    assert list(path.parent.iterdir()) == [path]
