"""The editor's own commands for carets, lines and the clipboard.

Their arguments are those of the community's documentation (docs.sublimetext.io, "Commands") and of the key bindings
of the package Default; what they do to the text is known from using the editor.
"""

from __future__ import annotations

from typing import Any

import pytest
import sublime
import sublime_plugin
from sublime import PopupFlags

from headless.tests.texts import Span, fill, selected, text_of


def state(view: Any) -> tuple[str, list[Span]]:
    return text_of(view), selected(view)


@pytest.mark.parametrize(
    ("command", "args", "before", "after"),
    [
        ("move", {"by": "characters"}, (0, 0), (1, 1)),
        ("move", {"by": "characters", "extend": True}, (0, 1), (0, 2)),
        ("move", {"by": "characters", "forward": False}, (1, 3), (1, 1)),
        ("move", {"by": "characters"}, (3, 1), (3, 3)),
        ("move", {"by": "lines"}, (1, 1), (9, 9)),
        ("move", {"by": "lines"}, (9, 9), (15, 15)),
        ("move", {"by": "lines", "forward": False}, (9, 9), (1, 1)),
        ("move", {"by": "lines", "forward": False}, (1, 1), (0, 0)),
        ("move", {"by": "words"}, (0, 0), (4, 4)),
        ("move", {"by": "words", "forward": False}, (6, 6), (4, 4)),
        ("move", {"by": "word_ends"}, (0, 0), (3, 3)),
        ("move", {"by": "word_ends"}, (3, 3), (7, 7)),
        ("expand_selection", {"to": "line"}, (9, 9), (8, 15)),
        ("expand_selection", {"to": "line"}, (1, 2), (0, 8)),
        ("expand_selection", {"to": "word"}, (5, 5), (4, 7)),
        ("goto_line", {"line": 2}, (1, 1), (8, 8)),
        ("goto_line", {"line": "99"}, (1, 1), (8, 8)),
        ("select_all", {}, (1, 1), (0, 15)),
    ],
)
def test_carets_are_moved(view: Any, command: str, args: dict[str, Any], before: Span, after: Span):
    fill(view, "foo bar\nbaz qux", before)
    view.run_command(command, args)
    assert state(view)[1] == [after]


def test_selections_are_divided_and_given_up(view: Any):
    fill(view, "a\nb\nc", (0, 3))
    view.run_command("split_selection_into_lines")
    assert state(view)[1] == [(0, 1), (2, 3)]
    view.run_command("single_selection")
    assert state(view)[1] == [(0, 1)]


@pytest.mark.parametrize(
    ("command", "text", "before", "after", "carets"),
    [
        ("swap_line_up", "a\nb\nc", (2, 2), "b\na\nc", (0, 0)),
        ("swap_line_down", "a\nb\nc", (0, 0), "b\na\nc", (2, 2)),
        ("swap_line_down", "a\nb\nc\nd", (0, 3), "c\na\nb\nd", (2, 5)),
        ("duplicate_line", "a\nb", (2, 2), "a\nb\nb", (4, 4)),
        ("duplicate_line", "abc", (0, 2), "ababc", (2, 4)),
        ("indent", "a\n\nb", (0, 4), "  a\n\n  b", (2, 8)),
        ("unindent", "   a\n\tb\nc", (0, 9), " a\nb\nc", (0, 6)),
    ],
)
def test_lines_and_letters_are_changed(view: Any, command: str, text: str, before: Span, after: str, carets: Span):
    view.settings().set("tab_size", 2)
    fill(view, text, before)
    view.settings().set("translate_tabs_to_spaces", True)
    view.run_command(command)
    assert state(view) == (after, [carets])
    view.run_command("undo")
    assert state(view)[0] == text


@pytest.mark.parametrize(("command", "caret"), [("swap_line_up", 0), ("swap_line_down", 2)])
def test_the_outermost_line_stays(view: Any, command: str, caret: int):
    fill(view, "a\nb", (caret, caret))
    view.run_command(command)
    assert state(view) == ("a\nb", [(caret, caret)])


def test_copying_without_a_selection_takes_the_lines(view: Any):
    """The setting copy_with_empty_selection, which is true in the editor's default preferences."""
    fill(view, "a\nb\nc\n", (0, 0), (1, 1), (4, 4))
    view.run_command("copy")
    assert sublime.get_clipboard() == "a\nc\n"
    view.run_command("cut")
    assert state(view)[0] == "b\n"
    view.settings().set("copy_with_empty_selection", False)
    view.run_command("cut")
    assert state(view)[0] == "b\n"


def test_as_many_lines_as_carets_are_pasted_one_at_each(view: Any):
    fill(view, "1\n2", (0, 0), (2, 2))
    sublime.set_clipboard("x\ny")
    view.run_command("paste")
    assert state(view)[0] == "x1\ny2"
    sublime.set_clipboard("z")
    view.run_command("paste")
    assert state(view)[0] == "xz1\nyz2"


def test_a_snippet_gets_the_selection_and_the_other_arguments(view: Any):
    """D: snippets, `insert_snippet`."""
    fill(view, "abc", (0, 3))
    view.run_command("insert_snippet", {"contents": "<$SELECTION>$NAME-${NONE:default}", "NAME": "n"})
    assert state(view)[0] == "<abc>n-default"


def test_a_popup_goes_when_the_selection_is_modified_unless_it_says_otherwise(view: Any, settle: Any):
    """D: PopupFlags.KEEP_ON_SELECTION_MODIFIED."""
    fill(view, "abc", (0, 0))
    hidden = []
    view.show_popup("x", on_hide=lambda: hidden.append(1))
    settle()
    assert view.is_popup_visible()
    view.run_command("move", {"by": "characters"})
    settle()
    assert (view.is_popup_visible(), hidden) == (False, [1])
    view.show_popup("x", PopupFlags.KEEP_ON_SELECTION_MODIFIED)
    view.run_command("move", {"by": "characters"})
    settle()
    assert view.is_popup_visible()


@pytest.mark.parametrize(
    ("text", "caret", "forward", "after"),
    [
        ("foo(bar)", 8, False, "foo(bar"),
        ("foo(bar", 7, False, "foo("),
        ("a\n  b", 4, False, "a\nb"),
        ("ab cd", 0, True, " cd"),
        ("a()b", 1, True, "ab"),
    ],
)
def test_deleting_a_word_stops_at_punctuation(view: Any, text: str, caret: int, forward: bool, after: str):
    """The package Default, delete_word.py."""
    fill(view, text, (caret, caret))
    view.run_command("delete_word", {"forward": forward})
    assert state(view)[0] == after


def test_commands_of_tabs_and_groups(window: Any):
    window.set_layout({"cols": [0, 0.5, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]})
    first, second = window.new_file(), window.new_file()
    window.run_command("move_to_group", {"group": 1})
    assert (window.get_view_index(second), window.active_view()) == ((1, 0), second)
    window.run_command("focus_neighboring_group")
    assert (window.active_group(), window.active_view()) == (0, first)
    window.run_command("focus_neighboring_group", {"forward": False})
    assert window.active_group() == 1
    third = window.new_file()
    window.run_command("select_by_index", {"index": 0})
    assert window.active_view() == second
    window.run_command("close_by_index", {"group": 1, "index": 1})
    assert (third.is_valid(), second.is_valid()) == (False, True)
    window.run_command("toggle_side_bar")
    assert not window.is_sidebar_visible()
    window.run_command("close_all")
    window.run_command("close_window")
    assert window.num_groups() == 0


def test_the_hosts_tables_of_commands_and_listeners(package: Any):
    """P: the module's own lists, which packages look into."""
    plugin = package("""
        class SomeTextCommand(sublime_plugin.TextCommand): pass
        class SomeWindowCommand(sublime_plugin.WindowCommand): pass
        class SomeApplicationCommand(sublime_plugin.ApplicationCommand): pass
        class L(sublime_plugin.EventListener):
            def on_load(self, view): pass
    """)
    host: Any = sublime_plugin
    assert plugin.SomeTextCommand in host.text_command_classes
    assert plugin.SomeWindowCommand in host.window_command_classes
    assert plugin.SomeApplicationCommand in host.application_command_classes
    assert [plugin.SomeTextCommand in each for each in host.all_command_classes] == [False, False, True]
    assert [type(each) for each in host.all_callbacks["on_load"]] == [plugin.L]
    assert host.all_callbacks["on_close"] == []
    with pytest.raises(AttributeError):
        _ = host.unknown
