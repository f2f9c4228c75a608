"""Probes of tabs, groups, panels and windows, and of the package itself."""

from __future__ import annotations

import sublime

from ..windows import SINGLE, SPLIT
from .bench import Bench, ProbeResult, Steps

PANEL = "qwen_companion_check"
SETTLING = 50
"""Milliseconds after which an event that has not come is not coming."""


def panel_has_sheet_id_0(bench: Bench) -> Steps:
    panel = _panel(bench)
    yield 0
    number, element = panel.sheet_id(), panel.element()
    return ProbeResult(number == 0 and bool(element), f"sheet id {number}, element {element!r}")


def panel_gets_focus(bench: Bench) -> Steps:
    panel, tab = _panel(bench), bench.view("tab")
    bench.window.focus_view(panel)
    yield SETTLING
    bench.window.focus_view(tab)
    yield SETTLING
    bench.events.clear()
    bench.window.focus_view(panel)
    yield lambda: bench.heard(panel, "on_activated")
    has_focus = bool(bench.heard(panel, "on_activated"))
    bench.window.focus_view(tab)
    return ProbeResult(has_focus, "" if has_focus else "the view of the panel was not activated")


def active_panel(bench: Bench) -> Steps:
    _panel(bench)
    bench.window.focus_view(bench.view("tab"))
    yield SETTLING
    shown = bench.window.active_panel()
    bench.window.run_command("hide_panel")
    yield SETTLING
    hidden = bench.window.active_panel()
    return ProbeResult((shown, hidden) == (f"output.{PANEL}", None), f"shown: {shown!r}, hidden: {hidden!r}")


def focus_keeps_selection(bench: Bench) -> Steps:
    first, second = bench.view("first"), bench.view("second")
    bench.window.select_sheets(bench.sheets(first, second))
    yield SETTLING
    before = len(bench.shown())
    for sheet in bench.sheets(first, second):
        bench.window.focus_sheet(sheet)
        yield SETTLING
    after = len(bench.shown())
    return ProbeResult((before, after) == (2, 2), f"{before} tabs were selected, then {after}")


def select_keeps_groups(bench: Bench) -> Steps:
    bench.window.set_layout(SPLIT)
    try:
        views = [bench.view(str(number)) for number in range(4)]
        for number, view in enumerate(views):
            bench.window.set_view_index(view, number // 2, number % 2)
        bench.window.select_sheets(bench.sheets(*views))
        yield SETTLING
        counts = [len(bench.shown(group)) for group in (0, 1)]
        return ProbeResult(counts == [2, 2], f"{counts[0]} and {counts[1]} tabs of 2 and 2 are selected")
    finally:
        bench.window.set_layout(SINGLE)


def select_leaves_other_groups(bench: Bench) -> Steps:
    bench.window.set_layout(SPLIT)
    try:
        views = [bench.view(str(number)) for number in range(3)]
        for view, group, index in zip(views, (0, 1, 1), (0, 0, 1), strict=True):
            bench.window.set_view_index(view, group, index)
        bench.window.select_sheets(bench.sheets(*views[1:]))
        yield SETTLING
        bench.window.select_sheets(bench.sheets(views[0]))
        yield SETTLING
        count = len(bench.shown(1))
        return ProbeResult(count == 2, f"{count} of 2 tabs are still selected")
    finally:
        bench.window.set_layout(SINGLE)


def first_tab(bench: Bench) -> Steps:
    yield 0
    return ProbeResult(bench.first_tabs == 1, f"it began with {bench.first_tabs} tabs")


def close_closes_one(bench: Bench) -> Steps:
    first, second = bench.view("first"), bench.view("second")
    bench.window.select_sheets(bench.sheets(first, second))
    bench.window.focus_view(first)
    yield SETTLING
    bench.window.run_command("close")
    yield SETTLING
    left = [view.is_valid() for view in (first, second)]
    return ProbeResult(left == [False, True], f"{2 - sum(left)} of 2 tabs were closed")


def activated_before_loaded(bench: Bench) -> Steps:
    view = bench.file("order.txt", "text\n")
    yield lambda: {"on_activated", "on_load"} <= set(bench.heard(view, "on_activated", "on_load"))
    order = list(dict.fromkeys(bench.heard(view, "on_activated", "on_load")))
    return ProbeResult(order == ["on_activated", "on_load"], ", then ".join(order) or "neither came")


def save_is_announced(bench: Bench) -> Steps:
    view = bench.file("save.txt", "text\n")
    yield lambda: not view.is_loading()
    bench.window.focus_view(view)
    bench.events.clear()
    bench.window.run_command("save")
    yield SETTLING
    by_window = {name for name, _, command in bench.events if command == "save"}
    bench.events.clear()
    view.run_command("save")
    yield SETTLING
    by_view = {name for name, _, command in bench.events if command == "save"}
    seen = f"the window's: {_names(by_window)}; the view's: {_names(by_view)}"
    return ProbeResult(bool(by_window) and bool(by_view), seen)


def project_data_at_once(bench: Bench) -> Steps:
    settings = {"QwenCompanionCheck": {"value": 1}}
    bench.window.set_project_data({"folders": [], "settings": settings})
    data = bench.window.project_data() or {}
    yield 0
    return ProbeResult(data.get("settings") == settings, "")


def companion_answers(bench: Bench) -> Steps:
    for _ in range(5):  # the libraries may still be loading
        yield lambda: bench.libraries is not None
    return ProbeResult(bench.libraries is True, "" if bench.libraries else "it did not answer in time")


def focus_stays_in_window(bench: Bench) -> Steps:
    first, second = bench.view("first"), bench.view("second")
    bench.front.bring_to_front()
    yield lambda: sublime.active_window() == bench.front
    if sublime.active_window() != bench.front:
        return ProbeResult(False, "the window of the person could not be brought to the front")
    bench.window.focus_view(first)
    yield 2 * SETTLING
    raised = sublime.active_window() == bench.window
    if sheets := bench.sheets(second):
        bench.front.bring_to_front()
        yield lambda: sublime.active_window() == bench.front
        bench.window.focus_sheet(sheets[0])
        yield 2 * SETTLING
        raised = raised or sublime.active_window() == bench.window
    bench.window.bring_to_front()
    yield lambda: sublime.active_window() == bench.window
    return ProbeResult(not raised, "the window came to the front" if raised else "")


def _panel(bench: Bench) -> sublime.View:
    panel = bench.window.create_output_panel(PANEL)
    bench.window.run_command("show_panel", {"panel": f"output.{PANEL}"})
    return panel


def _names(events: set[str]) -> str:
    return ", ".join(sorted(events)) or "no event"
