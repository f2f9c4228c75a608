"""Windows: tabs, groups, focus, panels, projects and settings. Sources as in test_as_the_editor.py."""

from __future__ import annotations

import gc
import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sublime

from headless import links, session
from headless.app import Application
from headless.paths import Paths

TWO_COLUMNS = {"cols": [0, 0.5, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}


def test_sheets_are_selected_side_by_side_without_touching_the_layout(window: Any):
    left, other, right = window.new_file(), window.new_file(), window.new_file()
    window.select_sheets([left.sheet(), right.sheet()])
    assert window.selected_sheets_in_group(0) == [left.sheet(), right.sheet()]
    assert window.active_view() == right
    window.focus_view(left)
    assert window.selected_sheets() == [left.sheet(), right.sheet()]
    assert window.active_view() == left
    assert window.num_groups() == 1
    assert not other.sheet().is_selected()
    window.focus_view(other)
    assert window.selected_sheets() == [other.sheet()]
    added = window.new_file(sublime.ADD_TO_SELECTION)
    assert window.selected_sheets() == [other.sheet(), added.sheet()]


def test_a_layout_makes_groups_and_views_move_between_them(window: Any):
    first, second = window.new_file(), window.new_file()
    window.set_layout(TWO_COLUMNS)
    assert window.num_groups() == 2
    window.set_view_index(second, 1, 0)
    assert window.get_view_index(second) == (1, 0)
    assert window.views_in_group(0) == [first]
    assert window.active_view_in_group(0) == first
    assert window.active_view_in_group(1) == second
    window.set_layout({"cols": [0, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1]]})
    assert window.views() == [first, second]
    assert window.get_view_index(second) == (0, 1)


def test_focus_is_told_to_both_views(app: Application, window: Any, package: Callable[..., Any]):
    plugin = package("""
        heard = []
        class L(sublime_plugin.EventListener):
            def on_activated(self, view): heard.append(("on", view.id()))
            def on_deactivated(self, view): heard.append(("off", view.id()))
    """)
    first, second = window.new_file(), window.new_file()
    assert plugin.heard == [("on", first.id()), ("off", first.id()), ("on", second.id())]
    del plugin.heard[:]
    other = app.new_window().views()[0]
    assert plugin.heard == [("off", second.id()), ("on", other.id)]
    window.bring_to_front()
    assert plugin.heard[2:] == [("off", other.id), ("on", second.id())]


def test_closing_tells_before_and_after(window: Any, package: Callable[..., Any]):
    """D: on_pre_close, on_close."""
    plugin = package("""
        heard = []
        class L(sublime_plugin.EventListener):
            def on_pre_close(self, view): heard.append(("pre", view.is_valid(), view.window() is not None))
            def on_close(self, view): heard.append(("closed", view.is_valid(), view.window()))
    """)
    view = window.new_file()
    answers: list[bool] = []
    assert view.close(answers.append)
    assert plugin.heard == [("pre", True, True), ("closed", False, None)]
    assert answers == [True]
    assert not view.is_valid()
    assert (view.size(), view.file_name(), view.window(), list(view.sel())) == (0, None, None, [])


def test_unsaved_changes_are_asked_about(app: Application, window: Any, tmp_path: Path):
    view = window.new_file()
    view.run_command("insert", {"characters": "unsaved"})
    app.dialog_answers.append("cancel")
    assert not view.close()
    view.retarget(str(tmp_path / "new.txt"))
    app.dialog_answers.append("save")
    assert view.close()
    assert (tmp_path / "new.txt").read_text() == "unsaved"
    scratch = window.new_file()
    scratch.set_scratch(True)
    scratch.run_command("insert", {"characters": "unsaved"})
    assert not scratch.is_dirty()
    assert scratch.close()
    assert [m["kind"] for m in app.messages] == ["save_changes", "save_changes"]


def test_windows_come_and_go(app: Application, window: Any, package: Callable[..., Any]):
    plugin = package("""
        heard = []
        class L(sublime_plugin.EventListener):
            def on_new_window(self, window): heard.append(("new", window.id()))
            def on_pre_close_window(self, window): heard.append(("closing", window.id(), len(window.views())))
            def on_close(self, view): heard.append("closed")
    """)
    sublime.run_command("new_window")
    second = sublime.active_window()
    assert second != window
    second.new_file()
    second.run_command("close_window")
    # The untitled tab that a new window begins with, and the one made here.
    assert plugin.heard == [("new", second.id()), ("closing", second.id(), 2), "closed", "closed"]
    assert not second.is_valid()
    assert sublime.active_window() == window
    assert sublime.windows() == [window]


def test_a_project_has_folders_and_settings(app: Application, window: Any, view: Any):
    assert window.project_data() is None
    heard: list[object] = []
    view.settings().add_on_change("test", lambda: heard.append(view.settings().get("tab_size")))
    window.set_project_data({"folders": [{"path": "/somewhere"}], "settings": {"tab_size": 3}})
    assert window.folders() == ["/somewhere"]
    assert view.settings().get("tab_size") == 3
    assert heard == [3]
    view.settings().set("tab_size", 8)
    assert (view.settings().get("tab_size"), window.settings().get("tab_size")) == (8, 4)
    view.settings().erase("tab_size")
    assert view.settings().get("tab_size") == 3


def test_settings_come_from_the_package_and_then_the_user(app: Application, package: Callable[..., Any]):
    user = Path(app.paths.user) / "Sample.sublime-settings"
    user.write_text('{"a": 2, /* mine */ "list": [1,],}')
    package("", Sample__sublime_settings="")
    (Path(app.paths.data).parent / "Sample" / "Sample.sublime-settings").write_text('{"a": 1, "b": "default"}')
    app.settings.packages_changed()
    settings = sublime.load_settings("Sample.sublime-settings")
    assert settings.to_dict() == {"a": 2, "b": "default", "list": [1]}
    heard: list[int] = []
    settings.add_on_change("tag", lambda: heard.append(1))
    settings.set("c", True)
    settings.set("c", True)
    assert heard == [1]
    sublime.save_settings("Sample.sublime-settings")
    assert json.loads(user.read_text()) == {"a": 2, "list": [1], "c": True}
    user.write_text('{"a": 5}')
    app.settings.poll()
    assert settings.get("a") == 5
    assert heard == [1, 1]
    settings.clear_on_change("tag")
    settings["a"] = 6
    assert heard == [1, 1]
    with pytest.raises(KeyError):
        settings["missing"]
    assert settings.get("missing", "default") == "default"
    assert settings.setdefault("d", 1) == 1


def test_panels_questions_and_dialogs(app: Application, window: Any):
    panel = window.create_output_panel("mine")
    panel.run_command("append", {"characters": "out"})
    window.run_command("show_panel", {"panel": "output.mine"})
    assert window.active_panel() == "output.mine"
    assert window.find_output_panel("mine") == panel
    assert "output.mine" in window.panels()
    window.destroy_output_panel("mine")
    assert window.active_panel() is None

    chosen: list[object] = []
    window.show_quick_panel([sublime.QuickPanelItem("One"), sublime.QuickPanelItem("Two")], chosen.append)
    app.questions.answer(app.windows[0], 1)
    window.show_quick_panel(["a"], chosen.append)
    app.questions.answer(app.windows[0], None)
    window.show_input_panel("Name", "start", chosen.append, None, None)
    app.questions.answer(app.windows[0], "given")
    assert chosen == [1, -1, "given"]
    with pytest.raises(ValueError):
        app.questions.answer(app.windows[0], 0)

    app.dialog_answers.append(True)
    assert sublime.ok_cancel_dialog("Really?")
    assert not sublime.ok_cancel_dialog("Again?")
    window.status_message("done")
    assert [m["text"] for m in app.messages] == ["Really?", "Again?", "done"]


def test_selections_are_told_once_for_each_command(view: Any, package: Callable[..., Any], settle: Callable[[], None]):
    plugin = package("""
        heard = []
        class L(sublime_plugin.EventListener):
            def on_selection_modified(self, view): heard.append([r.to_tuple() for r in view.sel()])
    """)
    view.run_command("insert", {"characters": "abc def"})
    assert plugin.heard == [[(7, 7)]]
    view.sel().clear()
    view.sel().add(2)
    view.sel().add(5)
    settle()
    assert plugin.heard == [[(7, 7)], [(2, 2), (5, 5)]]


def test_phantoms_move_and_go_with_their_set(app: Application, view: Any):
    view.run_command("insert", {"characters": "one\ntwo\nthree\n"})
    clicked: list[str] = []
    phantoms = sublime.PhantomSet(view, "mine")
    first = sublime.Phantom(sublime.Region(4), '<a href="go:1">go</a>', sublime.LAYOUT_BLOCK, clicked.append)
    phantoms.update([first])
    state = app.views[view.id()]
    (number,) = state.phantoms
    view.sel().clear()
    view.sel().add(0)
    view.run_command("insert", {"characters": "zero\n"})
    assert view.query_phantom(number) == [sublime.Region(9)]
    assert view.text_to_layout(0)[1] == 0
    assert view.text_to_layout(view.text_point(3, 0))[1] == 3 * 20 + 20
    links.click(app, state, "go:1")
    assert clicked == ["go:1"]
    with pytest.raises(LookupError):
        links.click(app, state, "go:2")
    phantoms.update([first, sublime.Phantom(sublime.Region(0), "two<br>lines", sublime.LAYOUT_BELOW)])
    assert len(state.phantoms) == 2
    assert number in state.phantoms
    del phantoms, first
    gc.collect()
    assert state.phantoms == {}


def test_annotations_and_command_links_can_be_clicked(app: Application, view: Any):
    clicked: list[str] = []
    view.run_command("insert", {"characters": "one\n"})
    view.add_regions(
        "notes",
        [sublime.Region(0, 3)],
        "markup.inserted",
        annotations=['<a href="revert&amp;1">x</a>'],
        on_navigate=clicked.append,
    )
    links.click(app, app.views[view.id()], "revert&1")
    assert clicked == ["revert&1"]
    url = sublime.command_url("insert", {"characters": 'a "quoted" <b>'})
    view.add_phantom("p", sublime.Region(0), f'<a href="{url}">do</a>', sublime.LAYOUT_INLINE)

    links.click(app, app.views[view.id()], html.unescape(url))
    assert view.substr(view.full_line(4)) == 'a "quoted" <b>'


def test_the_reference_document_gives_hunks_to_revert(view: Any):
    view.run_command("insert", {"characters": "one\nTWO\nthree\nfour\n"})
    view.set_reference_document("one\ntwo\nthree\n")
    view.sel().clear()
    view.sel().add(0)
    view.run_command("next_modification")
    assert view.rowcol(view.sel()[0].b) == (1, 0)
    view.run_command("next_modification")
    assert view.rowcol(view.sel()[0].b) == (3, 0)
    view.run_command("revert_hunk")
    view.run_command("prev_modification")
    view.run_command("revert_hunk")
    assert view.substr(view.full_line(4)) == "two\n"
    assert view.size() == len("one\ntwo\nthree\n")


def test_scrolling_and_folding_follow_the_layout(view: Any):
    view.run_command("append", {"characters": "".join(f"line {i}\n" for i in range(200))})
    view.set_viewport_position((0, 1000))
    assert view.rowcol(view.visible_region().a)[0] == 50
    assert view.layout_to_text((0, 1000)) == view.text_point(50, 0)
    view.show_at_center(view.text_point(100, 0))
    assert view.viewport_position()[1] == 100 * 20 + 10 - 300
    view.show(0)
    assert view.viewport_position()[1] == 0
    fold = sublime.Region(view.text_point(1, 6), view.text_point(5, 6))
    assert view.fold(fold)
    assert not view.fold(fold)
    assert view.folded_regions() == [fold]
    assert view.text_to_layout(view.text_point(6, 0))[1] == 2 * 20
    assert view.unfold(sublime.Region(0, view.size())) == [fold]


def test_scopes_and_selectors(view: Any):
    view.assign_syntax("Packages/Python/Python.sublime-syntax")
    assert view.scope_name(0) == "source.python "
    assert view.match_selector(0, "source.python, text.html")
    assert not view.match_selector(0, "source - source.python")
    scope = "source.python string.quoted comment.line"
    assert sublime.score_selector(scope, "string comment") > sublime.score_selector(scope, "source")
    assert sublime.score_selector(scope, "comment string") == 0
    assert sublime.score_selector(scope, "(string | text) & source") > 0
    syntax = sublime.find_syntax_for_file("x", "#!/usr/bin/env python3")
    assert syntax
    assert syntax.name == "Python"


def test_values_and_variables(window: Any):
    assert sublime.decode_value('{"a": [1, 2,], // c\n "b": "x//y",}') == {"a": [1, 2], "b": "x//y"}
    assert sublime.expand_variables({"a": ["$x ${y:z} \\$"]}, {"x": "1"}) == {"a": ["1 z $"]}
    sublime.set_clipboard("clip")
    assert sublime.get_clipboard() == "clip"
    with pytest.raises(NotImplementedError, match=r"Window\.file_history"):
        window.file_history()


def test_a_panel_may_have_the_focus(window: Any, package: Callable[..., Any]):
    plugin = package("""
        heard = []
        class L(sublime_plugin.EventListener):
            def on_activated(self, view): heard.append(view.element() or view.id())
    """)
    view = window.new_file()
    panel = window.create_output_panel("mine")
    window.focus_view(panel)
    assert window.active_view() == view
    window.run_command("hide_panel")
    window.focus_view(panel)
    window.focus_view(view)
    assert plugin.heard == [view.id(), "output:output", view.id(), "output:output", view.id()]


def test_a_project_is_loaded_saved_and_closed(window: Any, package: Callable[..., Any], tmp_path: Path):
    plugin = package("""
        heard = []
        class L(sublime_plugin.EventListener):
            def on_load_project(self, window): heard.append("load")
            def on_pre_save_project(self, window): heard.append("pre save")
            def on_post_save_project(self, window): heard.append("post save")
            def on_pre_close_project(self, window): heard.append("pre close")
    """)
    file = tmp_path / "my.sublime-project"
    file.write_text('{"folders": [{"path": "."}, {"path": "sub"}]}')
    window.run_command("open_project_or_workspace", {"file": str(file)})
    assert window.project_file_name() == str(file)
    assert window.folders() == [str(tmp_path), str(tmp_path / "sub")]
    assert window.extract_variables()["project_base_name"] == "my"
    window.set_project_data({"folders": []})
    assert json.loads(file.read_text()) == {"folders": []}
    window.run_command("close_workspace")
    assert window.project_file_name() is None
    assert plugin.heard == ["load", "pre save", "post save", "pre close"]


def test_popups_and_annotations_say_when_they_go(app: Application, view: Any):
    gone: list[str] = []
    view.show_popup("one", on_hide=lambda: gone.append("one"))
    view.update_popup("two")
    assert view.is_popup_visible()
    view.hide_popup()
    assert not view.is_popup_visible()
    view.add_regions("notes", [sublime.Region(0)], annotations=["note"], on_close=lambda: gone.append("notes"))
    links.close_annotations(app.views[view.id()], "notes")
    with pytest.raises(LookupError):
        links.close_annotations(app.views[view.id()], "notes")
    assert gone == ["one", "notes"]


def test_a_window_has_its_settings_again_after_a_restart(tmp_path: Path):
    """`Window.settings`: they belong to the window, which the editor's session keeps."""
    paths = Paths(str(tmp_path / "data"), str(tmp_path / "cache"))
    first = Application(paths)
    window = first.window_handle(first.new_window([str(tmp_path)]))
    other = first.window_handle(first.new_window())
    window.settings().set("mine", {"a": 1})
    other.settings().set("mine", 2)
    session.save(first)
    first.dispose()
    second = Application(paths)
    for folders, expected in (([str(tmp_path)], {"a": 1}), ([], 2), ([str(tmp_path / "new")], None)):
        state = second.new_window(folders)
        session.restore(second, state)
        assert second.window_handle(state).settings().get("mine") == expected
    Path(paths.session).write_text("broken")
    session.restore(second, state := second.new_window())
    assert second.window_handle(state).settings().get("mine") is None
    second.dispose()


def test_the_groups_and_the_tabs_side_by_side_divide_the_window(app: Application, window: Any):
    one, other = window.new_file(), window.new_file()
    gutter = 60
    assert one.viewport_extent() == (3440 - gutter, 600)
    window.select_sheets([one.sheet(), other.sheet()])
    assert one.viewport_extent() == other.viewport_extent() == (1720 - gutter, 600)
    window.set_layout({"cols": [0, 0.25, 1], "rows": [0, 0.5, 1], "cells": [[0, 0, 1, 2], [1, 0, 2, 1], [1, 1, 2, 2]]})
    window.set_view_index(other, 1, 0)
    other.settings().set("gutter", False)
    assert one.viewport_extent() == (860 - gutter, 600)
    assert other.viewport_extent() == (2580, 300)
    app.windows[0].size = (400, 200)
    assert other.viewport_extent() == (300, 100)
    assert window.create_output_panel("p").viewport_extent() == (400 - gutter, 200)
