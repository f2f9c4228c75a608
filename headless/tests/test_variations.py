"""What nobody knows about the editor: each behaviour, and how they are chosen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sublime

from headless import render, state, variations
from headless.app import Application
from headless.requests import Requests

Package = Callable[..., Any]


@pytest.fixture(params=[None, "other"])
def other(request: pytest.FixtureRequest) -> Callable[[str], bool]:
    """Chooses another behaviour than the default in half of the runs, and says whether it has."""

    def choose(name: str) -> bool:
        if request.param is None:
            return False
        variations.choose([f"{name}={variations.REGISTRY[name].behaviours[1]}"])
        return True

    return choose


def test_the_default_is_the_first_behaviour_and_every_variation_has_two():
    assert all(len(set(each.behaviours)) >= 2 for each in variations.REGISTRY.values())
    assert all(variations.chosen(name) == each.behaviours[0] for name, each in variations.REGISTRY.items())
    assert len(list(variations.alone())) >= len(variations.REGISTRY)


def test_the_same_seed_gives_the_same_mix():
    mixes = [variations.mix(seed) for seed in range(20)]
    assert mixes == [variations.mix(seed) for seed in range(20)]
    assert len({tuple(mix) for mix in mixes}) > 10
    for mix in mixes:
        variations.choose(mix)
    assert [f"{name}={variations.chosen(name)}" for name in variations.REGISTRY] == mixes[-1]


@pytest.mark.parametrize("setting", ["unknown=yes", "viewport-lags=maybe", "viewport-lags"])
def test_an_unknown_variation_is_an_error(setting: str):
    with pytest.raises(ValueError, match="variation"):
        variations.choose([setting])


def test_replace_moves_regions(app: Application, view: Any, package: Package, other: Callable[[str], bool]):
    package("""
        class PutCommand(sublime_plugin.TextCommand):
            def run(self, edit): self.view.replace(edit, sublime.Region(1, 3), "one")
    """)
    view.run_command("append", {"characters": "axxb"})
    view.add_regions("k", [sublime.Region(2, 2)])
    expected = 3 if other("replace-moves-regions") else 4
    view.run_command("put")
    assert view.get_regions("k") == [sublime.Region(expected)]


def test_nested_on_modified(app: Application, view: Any, package: Package, other: Callable[[str], bool]):
    plugin = package("""
        log = []
        class First(sublime_plugin.EventListener):
            def on_modified(self, view):
                log.append(f"first {view.size()}")
                if view.size() == 1: view.run_command("append", {"characters": "b"})
        class Second(sublime_plugin.EventListener):
            def on_modified(self, view): log.append(f"second {view.size()}")
    """)
    afterwards = other("nested-on-modified")
    view.run_command("append", {"characters": "a"})
    assert plugin.log == (
        ["first 1", "second 2", "first 2", "second 2"] if afterwards else ["first 1", "first 2", "second 2", "second 2"]
    )


def test_activated_before_load(
    app: Application, window: Any, package: Package, other: Callable[[str], bool], tmp_path: Path
):
    plugin = package("""
        log = []
        class L(sublime_plugin.EventListener):
            def on_load(self, view): log.append("load")
            def on_activated(self, view): log.append("activated")
    """)
    (tmp_path / "file").write_text("x")
    later = other("activated-before-load")
    window.open_file(str(tmp_path / "file"))
    app.loop.turn(0)
    assert plugin.log == (["load", "activated"] if later else ["activated", "load"])


def test_newline_fills_row(app: Application, view: Any, other: Callable[[str], bool]):
    view.run_command("append", {"characters": "one\ntwo\n"})
    view.add_regions("k", [sublime.Region(0, 4)], "markup.inserted", flags=sublime.DRAW_NO_OUTLINE)
    app.views[view.id()].selection = [(8, 8)]
    unfilled = other("newline-fills-row")
    page = render.window_page(app, app.windows[0])
    first = page[page.index('<div class="row"') :].split("</div>")[0]
    assert ("style=" in first.split(">")[0]) != unfilled


def test_phantom_height(app: Application, view: Any, other: Callable[[str], bool]):
    taller = other("phantom-height")
    view.run_command("append", {"characters": "one\ntwo"})
    view.add_phantom("k", sublime.Region(0), "<div>x</div>", sublime.PhantomLayout.BLOCK)
    assert view.text_to_layout(4)[1] == (41.0 if taller else 40.0)


def test_viewport_lags(app: Application, view: Any, other: Callable[[str], bool]):
    view.run_command("append", {"characters": "x\n" * 100})
    lags = other("viewport-lags")
    view.set_viewport_position((0, 400))
    assert view.viewport_position() == ((0, 0) if lags else (0, 400))
    app.loop.turn(0)
    assert view.viewport_position() == (0, 400)


def test_focus_raises_window(app: Application, view: Any, window: Any, other: Callable[[str], bool]):
    second = app.window_handle(app.new_window())
    raises = other("focus-raises-window")
    window.focus_view(view)
    assert sublime.active_window() == (window if raises else second)


def test_restores_flags(app: Application, other: Callable[[str], bool]):
    restored = other("restores-flags")
    id = Requests(app).new_file(text="x", settings={"mine": True}, scratch=True, read_only=True)["view"]
    assert (app.views[id].buffer.scratch, app.views[id].buffer.read_only) == (restored, restored)


def test_select_sheets_elsewhere(app: Application, window: Any, other: Callable[[str], bool]):
    window.set_layout({"cols": [0, 0.5, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]})
    left = [window.new_file().sheet() for _ in range(2)]
    window.select_sheets(left)
    window.focus_group(1)
    right = window.new_file().sheet()
    only_active = other("select-sheets-elsewhere")
    window.select_sheets([right])
    assert len(window.selected_sheets_in_group(0)) == (1 if only_active else 2)


def test_hidden_annotations(app: Application, view: Any, window: Any, other: Callable[[str], bool]):
    view.run_command("append", {"characters": "one"})
    view.add_regions("k", [sublime.Region(0, 3)], annotations=["<b>note</b>"])
    window.new_file()
    stay = other("hidden-annotations")
    view.erase_regions("k")
    assert view.get_regions("k") == []
    assert bool(state.notes(app.views[view.id()])) == stay
    view.add_regions("k", [])
    assert state.notes(app.views[view.id()]) == []


def test_phantom_at_insertion(app: Application, view: Any, package: Package, other: Callable[[str], bool]):
    package("""
        class PutCommand(sublime_plugin.TextCommand):
            def run(self, edit): self.view.insert(edit, 1, "xx")
    """)
    view.run_command("append", {"characters": "abc"})
    id = view.add_phantom("k", sublime.Region(1), "x", sublime.PhantomLayout.BLOCK)
    stays = other("phantom-at-insertion")
    view.run_command("put")
    assert view.query_phantom(id) == [sublime.Region(1 if stays else 3)]


def test_first_tab(app: Application, other: Callable[[str], bool]):
    none = other("first-tab")
    assert [view.buffer.file_name for view in app.new_window().views()] == ([] if none else [None])


def test_typed_letters(app: Application, view: Any, other: Callable[[str], bool]):
    each = other("typed-letters")
    for letter in "ab":
        view.run_command("insert", {"characters": letter})
    view.run_command("undo")
    assert view.size() == (1 if each else 0)


def test_rewritten_commands(app: Application, view: Any, package: Package, other: Callable[[str], bool]):
    plugin = package("""
        log = []
        class L(sublime_plugin.EventListener):
            def on_text_command(self, view, name, args):
                log.append(name)
                return {"copy": ("cut", {}), "cut": ("noop", {})}.get(name)
    """)
    at_once = other("rewritten-commands")
    view.run_command("copy")
    assert plugin.log == (["copy"] if at_once else ["copy", "cut", "noop"])


def test_an_inline_diff_shows_the_lines_that_are_gone(app: Application, view: Any, other: Callable[[str], bool]):
    shows_nothing = other("inline-diff")
    view.run_command("append", {"characters": "a\nX\nd\n"})
    view.set_reference_document("a\nb\nc\nd\n")
    view.run_command("toggle_inline_diff")
    assert view.text_to_layout(view.text_point(1, 0))[1] == (20 if shows_nothing else 60)
    assert view.text_to_layout(view.text_point(2, 0))[1] == (40 if shows_nothing else 80)
    page = render.window_page(app, app.windows[0])
    assert ("<pre>b</pre>" in page) is not shows_nothing
    view.run_command("toggle_inline_diff")
    assert view.text_to_layout(view.text_point(2, 0))[1] == 40


def test_select_sheets_with_tabs_of_several_groups(window: Any, other: Callable[[str], bool]):
    selects_in_one = other("select-sheets-groups")
    window.set_layout({"cols": [0, 0.5, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]})
    views = [window.new_file() for _ in range(4)]
    for at, each in enumerate(views):
        window.set_view_index(each, at // 2, at % 2)
    window.select_sheets([each.sheet() for each in views])
    counts = [len(window.selected_sheets_in_group(group)) for group in (0, 1)]
    assert counts == ([2, 1] if selects_in_one else [2, 2])


def test_focus_view_gives_the_focus_back_to_a_panel(app: Application, window: Any, other: Callable[[str], bool]):
    is_lost = other("panel-focus")
    tab, panel = window.new_file(), window.create_output_panel("p")
    window.run_command("show_panel", {"panel": "output.p"})
    window.focus_view(panel)
    assert app.focused is app.views[panel.id()]
    window.focus_view(tab)
    window.focus_view(panel)
    assert (app.focused is app.views[tab.id()]) is is_lost
    window.run_command("show_panel", {"panel": "output.p"})
    window.focus_view(panel)
    assert app.focused is app.views[panel.id()]


def test_close_closes_the_selected_tabs(window: Any, other: Callable[[str], bool]):
    closes_one = other("close-selected")
    views = [window.new_file() for _ in range(2)]
    window.select_sheets([each.sheet() for each in views])
    window.focus_view(views[0])
    window.run_command("close")
    assert [each.is_valid() for each in views] == [False, closes_one]
