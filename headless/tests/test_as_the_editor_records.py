"""The plain objects of the API and what its functions refuse. Sources as in test_as_the_editor.py."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import sublime
import sublime_plugin
from sublime import Region

KIND = "kind=(<KindId.AMBIGUOUS: 0>, '', '')"
FORMAT = "completion_format=<CompletionFormat.TEXT: 0>"
FLAGS = "flags=<CompletionItemFlags.NONE: 0>"
POSITION = sublime.HistoricPosition(1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (POSITION, "HistoricPosition(pt=1, row=2, col=3, col_utf16=4, col_utf8=5)"),
        (
            sublime.TextChange(POSITION, POSITION, 6, 7, "x"),
            f"TextChange({POSITION!r}, {POSITION!r}, len_utf16=6, len_utf8=7, str='x')",
        ),
        (sublime.Edit(3), "Edit(3)"),
        (sublime.Html("<b>"), "Html(<b>)"),
        (
            sublime.Phantom(Region(1), "c", sublime.PhantomLayout.BLOCK),
            "Phantom(Region(1, 1), 'c', <PhantomLayout.BLOCK: 2>, on_navigate=None)",
        ),
        (sublime.CompletionList(["a"]), "CompletionList(completions=['a'], flags=<AutoCompleteFlags.NONE: 0>)"),
        (
            sublime.CompletionItem("t"),
            f"CompletionItem('t', annotation='', completion='', {FORMAT}, {KIND}, details='', {FLAGS})",
        ),
        (sublime.QuickPanelItem("t"), f"QuickPanelItem('t', details='', annotation='', {KIND})"),
        (sublime.ListInputItem("t", 1), f"ListInputItem('t', value=1, details='', annotation='', {KIND})"),
        (
            sublime.SymbolLocation("/a", "a", 3, 4, "s", sublime.SymbolType.ANY, sublime.KIND_AMBIGUOUS),
            f"SymbolLocation('/a', display_name='a', row=3, col=4, syntax='s', type=<SymbolType.ANY: 0>, {KIND})",
        ),
        (
            sublime.SymbolRegion("n", Region(1), "s", sublime.SymbolType.ANY, sublime.KIND_AMBIGUOUS),
            f"SymbolRegion('n', Region(1, 1), syntax='s', type=<SymbolType.ANY: 0>, {KIND})",
        ),
        (sublime.ContextStackFrame("c", "f", (1, 2)), "ContextStackFrame('c', 'f', (1, 2))"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_an_object_says_of_itself(value: Any, told: str):
    """P: __repr__ of each class."""
    assert repr(value) == told


def test_what_the_objects_of_a_view_say_of_themselves(view: Any):
    """P: __repr__ and __str__."""
    assert repr(sublime.PhantomSet(view, "k")) == f"PhantomSet({view!r}, key='k')"
    assert repr(view.sel()) == f"Selection({view.id()})"
    assert str(view.sel()) == f"Selection({view.id()})[(0, 0)]"


@pytest.mark.parametrize(
    "value", [sublime.CompletionItem("t"), sublime.QuickPanelItem("t"), sublime.ListInputItem("t", 1)]
)
def test_a_record_takes_no_other_attributes(value: Any):
    """P: __slots__."""
    with pytest.raises(AttributeError):
        value.other = 1


def test_completions_are_equal_whatever_sequence_their_kind_is():
    """P: CompletionItem.__eq__ makes tuples of the kinds."""
    kind: Any = [1, "k", ""]
    assert sublime.CompletionItem("t", kind=kind) == sublime.CompletionItem("t", kind=(1, "k", ""))  # type: ignore[arg-type]
    assert sublime.CompletionItem("t") != sublime.CompletionItem("t", details="d")


def test_a_selection_is_iterated_as_often_as_it_is_long_at_first(view: Any):
    """P: Selection.__iter__."""
    view.run_command("append", {"characters": "abc"})
    view.sel().clear()
    view.sel().add(0)
    seen = []
    for region in view.sel():
        seen.append(region.a)
        view.sel().add(region.a + 1)
    assert seen == [0]


def test_what_has_no_tab_has_no_place(window: Any):
    """P: Window.get_sheet_index, Window.get_view_index."""
    assert window.get_sheet_index(None) == (-1, -1)
    assert window.get_view_index(None) == (-1, -1)


def test_a_preview_has_no_place_among_the_tabs(window: Any, tmp_path: Any):
    """K: packages know a preview by the -1."""
    (tmp_path / "a.txt").write_text("a")
    preview = window.open_file(str(tmp_path / "a.txt"), sublime.TRANSIENT)
    assert window.get_view_index(preview) == (0, -1)
    window.promote_sheet(preview.sheet())
    assert window.get_view_index(preview) == (0, 0)


def test_wrong_types_are_refused(window: Any, view: Any):
    """P: the checks in Window.move_sheets_to_group, Window.show_quick_panel and find_syntax_for_file."""
    with pytest.raises(TypeError):
        window.move_sheets_to_group([view], 0)
    with pytest.raises(TypeError):
        window.show_quick_panel([1], lambda index: None)
    with pytest.raises(TypeError):
        sublime.find_syntax_for_file("a.py", 1)  # type: ignore[arg-type]


def test_what_a_command_does_unless_it_says_otherwise():
    """P: Command.description, Command.description_, Command.run."""
    command: Any = sublime_plugin.Command()
    assert command.description() == ""
    assert command.description_({"unknown": 1}) == ""
    assert command.run() is None


def test_what_the_editor_asks_of_an_input_handler():
    """P: preview_, validate_, confirm_, setup_ and description_ of the input handlers."""

    class Handler(sublime_plugin.ListInputHandler[Any]):
        def list_items(self) -> Any:
            rich = sublime.ListInputItem("c", 3, ["d", "e"], "note", (sublime.KindId.KEYWORD, "k", "kind"))
            return ["a", ("b", 2), rich, sublime.ListInputItem("f", 4, "details")], 1

        def preview(self, text: Any) -> Any:
            return sublime.Html("<b>") if text else None

        def description(self, value: Any, text: str) -> Any:
            return None

    handler: Any = Handler()
    items, properties = handler.setup_({})
    assert items == [
        ("a", "a"),
        ("b", 2),
        (("c", "d\x1fe", "note", (1, ord("k"), "kind")), 3),
        (("f", "details", True), 4),
    ]
    assert properties == {
        "initial_text": "", "initial_selection": [], "placeholder_text": "", "type": "list", "selected": 1,
    }  # fmt: skip
    assert (handler.preview_("x"), handler.preview_("")) == (("<b>", 1), ("", 0))
    assert handler.description_(1, "a") == ""
    assert handler.validate_("x", {"x": 1}) is True
    text: Any = sublime_plugin.TextInputHandler()
    assert text.setup_({}) == (
        [],
        {"initial_text": "", "initial_selection": [], "placeholder_text": "", "type": "text"},
    )


def test_a_build_s_results_have_the_file_above_where_their_line_names_none(window: Any):
    """Sublime's documentation, Build Systems: file_regex and line_regex are read with up to four groups."""
    panel = window.create_output_panel("exec")
    panel.settings().set("result_file_regex", r"^(?:File: )?([^ :]+\.c)(?::(\d+):(\d+): (.*))?$")
    panel.settings().set("result_line_regex", r"^  line (\d+)(): (.*)$")
    panel.settings().set("result_base_dir", "/build")
    panel.run_command("append", {"characters": "a.c:3:5: error: no\nFile: b.c\n  line 7: what\nmade\n"})
    at = os.path.normpath("/build/a.c"), os.path.normpath("/build/b.c")
    found = panel.find_all_results_with_text()
    assert found[0] == (at[0], 3, 5, "error: no")
    assert found[-1] == (at[1], 7, 0, "what")
    assert panel.find_all_results()[0] == (at[0], 3, 5)


def test_a_symbol_is_looked_for_in_open_texts_and_in_the_folders(window: Any, tmp_path: Path):
    """API Reference, Window.symbol_locations: rows and columns from 1, by source and by type."""
    (tmp_path / "a.py").write_text("class Money:\n    pass\n\nMoney()\n")
    (tmp_path / "b.py").write_text("def pay():\n    return 0\nx = Money()\n")
    window.set_project_data({"folders": [{"path": str(tmp_path)}]})
    [defined] = window.symbol_locations("Money", type=sublime.SymbolType.DEFINITION)
    assert (os.path.basename(defined.path), defined.row, defined.col) == ("a.py", 1, 7)
    used = window.symbol_locations("Money", type=sublime.SymbolType.REFERENCE)
    places = sorted((os.path.basename(each.path), each.row, each.col) for each in used)
    assert places == [("a.py", 4, 1), ("b.py", 3, 5)]
    assert len(window.symbol_locations("Money")) == 3
    assert window.symbol_locations("Money", sublime.SymbolSource.OPEN_FILES) == []
    assert window.lookup_symbol_in_index("Money")
    assert not window.lookup_references_in_open_files("Money")
