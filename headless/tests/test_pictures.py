"""minihtml: its links, its height, and its styles in pictures."""

from __future__ import annotations

import re
from typing import Any

import pytest
import sublime

from headless import minicss, minihtml, render
from headless.api.region import Region
from headless.app import Application


def test_the_styles_of_minihtml_stay_in_their_box():
    html = (
        "<body id='q'><style>html.dark { --x: red } body { margin: 0 } a, .b { color: var(--x) }</style><a>t</a></body>"
    )
    page = minicss.scoped(html, "box")
    assert ".dark .box { --x: red }" in page
    assert ".box { margin: 0 }" in page
    assert ".box a, .box .b { color: var(--x) }" in page
    assert "<body" not in page


@pytest.mark.parametrize(
    ("mini", "css"),
    [
        ("color(var(--a) blend(white 92%))", "color-mix(in srgb, var(--a) 92%, white)"),
        ("color(red alpha(0.25))", "color-mix(in srgb, red 25%, transparent)"),
        ("color(var(--a) min-contrast(var(--b) 3.0))", "var(--a)"),
        ("color(color(x a(5%)) blend(y 9%))", "color-mix(in srgb, color-mix(in srgb, x 5%, transparent) 9%, y)"),
        ("color(broken", "color(broken"),
        ("font-family: system; x", "font-family: system-ui, sans-serif; x"),
    ],
)  # fmt: skip
def test_the_colours_and_fonts_of_minihtml_become_those_of_a_browser(mini: str, css: str):
    assert minicss.colours(mini) == css


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("one line", 1),
        ("<p>one</p><p>two</p>", 2),
        ("<div>one<br>two</div>", 2),
        ("<br><br>", 3),
        ("", 1),
        ("<body><style>div { padding: 10px }</style><div>one</div></body>", 2),
        ('<div style="margin-top: 2rem">one</div>', 1 + 32 / 20),
    ],
)
def test_a_phantom_is_as_high_as_its_lines(html: str, lines: float):
    assert minihtml.height(html) == pytest.approx(lines)


def test_links_are_unescaped():
    assert minihtml.links('<a href="a&amp;b">x</a><a class="y" href=\'subl:z {"k": 1}\'>') == ["a&b", 'subl:z {"k": 1}']


def test_a_picture_shows_the_groups_the_inline_diff_and_the_panels(app: Application):
    window = app.windows[0]
    handle = app.window_handle(window)
    view = handle.new_file()
    view.run_command("insert", {"characters": "new <line>\n"})
    view.set_reference_document("old line\n")
    view.run_command("toggle_inline_diff")
    handle.set_layout({"cols": [0, 0.5, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]})
    handle.create_output_panel("out").run_command("append", {"characters": "in the panel"})
    handle.run_command("show_panel", {"panel": "output.out"})
    handle.show_quick_panel(["choose <me>"], lambda index: None)
    view.show_popup("<b>popped</b>")  # below the second line, where the caret is, and a removed one
    page = render.window_page(app, window, "light")
    for part in (
        "new &lt;line&gt;",
        "old line",
        "in the panel",
        "choose &lt;me&gt;",
        "popped",
        "top: 65px",
        "left: 50%",
    ):
        assert part in page
    with pytest.raises(LookupError):
        render.window_page(app, window, "sepia")


def test_a_picture_has_a_message_of_the_status_bar_for_a_few_seconds(
    app: Application, view: Any, monkeypatch: pytest.MonkeyPatch
):
    window = app.windows[0]
    app.window_handle(window).status_message("Saved it")
    assert "Saved it" in render.window_page(app, window)
    monkeypatch.setattr(render, "MESSAGE", 0.0)
    assert "Saved it" not in render.window_page(app, window)


def test_a_picture_shows_what_is_folded_as_a_mark(app: Application):
    window = app.windows[0]
    view = app.window_handle(window).new_file()
    view.run_command("append", {"characters": "before (one\ntwo\nthree) after\nlast"})
    view.fold(Region(7, view.size() - 11))
    view.settings().update({"word_wrap": True, "gutter": False})
    page = render.window_page(app, window)
    for part in ('before <i class="fold">…</i> after', ">last<", "wrapped bare"):
        assert part in page
    assert "two" not in page


def test_a_scrolled_view_begins_where_it_is_scrolled_to_with_its_phantoms(app: Application, view: Any):
    view.run_command("append", {"characters": "".join(f"line {n}\n" for n in range(100))})
    view.add_phantom("k", sublime.Region(0), "<div>1</div>" * 10, sublime.PhantomLayout.BLOCK)
    # Row 0 and half of the phantom's 10 lines are scrolled away.
    app.metrics.scroll_to(app.views[view.id()], 0, 120)
    page = render.window_page(app, app.windows[0])
    assert '<span class="number">1</span>' in page
    assert "margin-top: -120px" in page
    # Row 0, the phantom and row 1 are.
    app.metrics.scroll_to(app.views[view.id()], 0, 240)
    page = render.window_page(app, app.windows[0])
    numbers = re.findall(r'<span class="number"[^>]*>(\d+)</span>', page)
    assert numbers[0] == "3"
    assert "margin-top: -" not in page


def test_a_view_that_is_scrolled_to_its_end_shows_its_end_though_lines_wrap(app: Application, view: Any):
    view.settings().set("scroll_past_end", False)
    view.run_command("append", {"characters": "line\n" * 100})
    assert 'class="view focused ended"' not in render.window_page(app, app.windows[0])
    app.metrics.scroll_to(app.views[view.id()], 0, 1e9)
    assert 'class="view focused ended"' in render.window_page(app, app.windows[0])


def test_an_outline_goes_around_all_rows_of_a_region(app: Application, view: Any):
    view.run_command("append", {"characters": "ab\nabcd\nabc"})
    view.add_regions("k", [sublime.Region(0, view.size())], "comment", flags=sublime.DRAW_NO_FILL)
    page = render.window_page(app, app.windows[0])
    boxes = [
        (sides, text)
        for sides, text in re.findall(
            r"box-shadow: ([^\"]*)\">(\w+)<", page.replace(" #a6acb9", "").replace("inset ", "")
        )
    ]
    top, bottom, left, right = "0 1px", "0 -1px", "1px 0", "-1px 0"
    assert boxes == [
        (f"{top}, {left}, {right}", "ab"),
        (left, "ab"),
        (top, "c"),
        (f"{top}, {bottom}, {right}", "d"),
        (f"{bottom}, {left}, {right}", "abc"),
    ]


def test_the_last_dialog_stands_above_the_window(app: Application, window: Any):
    state = app.windows[0]
    sublime.ok_cancel_dialog("First?")
    sublime.ok_cancel_dialog("Run <this>?", "Do It")
    page = render.window_page(app, state, dialog=True)
    assert "<pre>Run &lt;this&gt;?</pre><div><span>Do It</span><span>Cancel</span></div>" in page
    assert "Run &lt;this&gt;" not in render.window_page(app, state)


def test_a_row_of_a_panel_has_its_letter(app: Application, window: Any):
    kind = (sublime.KindId.COLOR_BLUISH, "Q", "Agent")
    window.show_quick_panel([sublime.QuickPanelItem("Row", kind=kind), "Plain"], lambda _: None)
    page = render.window_page(app, app.windows[0])
    assert page.count("<b>Q</b>") == page.count("<b>") == 1
