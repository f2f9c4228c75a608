"""Probes of the layout, the colours and the syntax."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import sublime

from ..diff.marks import filler
from .bench import Bench, ProbeResult, Steps, Wait

LINES = 3
"""Lines that the measured filler stands for."""
TOLERANCE = 1.0
"""Pixels by which a filler may differ."""
SYNTAX = "Packages/QwenCompanion/QwenCompanion Chat.sublime-syntax"


def filler_height(bench: Bench) -> Steps:
    view = bench.view("a\nb\n")
    before = view.text_to_layout(view.text_point(1, 0))[1]
    view.add_phantom(
        "check",
        sublime.Region(0),
        filler(LINES, view.line_height()),
        sublime.PhantomLayout.BLOCK,
    )
    yield lambda: view.text_to_layout(view.text_point(1, 0))[1] != before
    height = view.text_to_layout(view.text_point(1, 0))[1] - before
    wanted = LINES * view.line_height()
    return ProbeResult(abs(height - wanted) <= TOLERANCE, f"{height:g} px instead of {wanted:g}")


def viewport_at_once(bench: Bench) -> Steps:
    view = bench.view("line\n" * 500)
    yield 20
    wanted = 20 * view.line_height()
    view.set_viewport_position((0.0, wanted), animate=False)
    at_once = view.viewport_position()[1]
    return ProbeResult(abs(at_once - wanted) <= TOLERANCE, f"{at_once:g} instead of {wanted:g}")


def inline_diff_shown(bench: Bench) -> Steps:
    view = bench.view("a\nd\n" + "e\n" * 100)
    view.settings().set("mini_diff", True)
    view.set_reference_document("a\nb\nc\nd\n" + "e\n" * 100)
    yield 100  # the editor compares in the background
    before = view.layout_extent()[1]
    view.run_command("select_all")
    view.run_command("toggle_inline_diff")
    yield lambda: view.layout_extent()[1] > before
    grown = view.layout_extent()[1] - before
    return ProbeResult(grown > 0, f"the view grew by {grown:g} px for two removed lines")


def reference_compared(bench: Bench) -> Steps:
    view = bench.view("a\nX\nc\n")
    row = yield from _first_change(view, "a\nb\nc\n")
    return ProbeResult(row == 1, f"the first change is in row {row} instead of 1")


def reference_over_reload(bench: Bench) -> Steps:
    view = bench.file("reference.txt", "a\nX\nc\n")
    yield lambda: not view.is_loading()
    yield from _first_change(view, "a\nb\nc\n")
    text = "a\nb\nlonger\n"
    with open(view.file_name() or "", "w", encoding="utf-8") as file:
        file.write(text)
    yield lambda: bench.text(view) == text
    row = yield from _first_change(view)
    return ProbeResult(row == 2, f"the first change is in row {row} instead of 2")


def reference_reset(bench: Bench) -> Steps:
    view = bench.view("a\nX\nc\n")
    yield from _first_change(view, "a\nb\nc\n")
    view.reset_reference_document()
    row = yield from _first_change(view)
    return ProbeResult(row == 0, f"the first change is {f'in row {row}' if row else 'nowhere'}")


def _first_change(view: sublime.View, reference: str | None = None) -> Generator[Wait, None, int]:
    """The row of the first change that the editor's gutter shows; 0 for none. The text is compared with `reference`."""
    view.settings().set("mini_diff", True)
    if reference is not None:
        view.set_reference_document(reference)
    yield 100  # the editor compares in the background
    view.sel().clear()
    view.sel().add(0)
    view.run_command("next_modification")
    return view.rowcol(view.sel()[0].b)[0]


def diff_colours(bench: Bench) -> Steps:
    view = bench.view("a")
    yield 0
    plain = view.style()
    added, removed = (view.style_for_scope(f"markup.{kind}") for kind in ("inserted", "deleted"))

    def own(style: Any) -> tuple[object, object]:
        return style.get("background") or plain.get("background"), style.get("foreground")

    colours = {own(added), own(removed), (plain.get("background"), plain.get("foreground"))}
    return ProbeResult(len(colours) == 3, f"added {own(added)}, removed {own(removed)}")


def chat_syntax(bench: Bench) -> Steps:
    view = bench.view("❯ a prompt\n\nan answer\n")
    view.assign_syntax(SYNTAX)
    yield 50
    scope = view.scope_name(0)
    holds = scope.startswith("text.qwen-companion")
    return ProbeResult(holds, f"the scope of the first character is {scope.strip()!r}")


def detect_indentation(bench: Bench) -> Steps:
    view = bench.view("a:\n\tb:\n\t\tc\n\t\td\n\te\n" * 5)
    view.settings().update({"tab_size": 3, "translate_tabs_to_spaces": True, "detect_indentation": True})
    view.run_command("detect_indentation", {"show_message": False})
    yield lambda: not view.settings().get("translate_tabs_to_spaces")
    found = view.settings().get("translate_tabs_to_spaces")
    return ProbeResult(not found, f"translate_tabs_to_spaces is {found} for a text indented with tabs")
