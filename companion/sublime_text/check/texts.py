"""Probes of how the editor keeps texts, carets, regions, phantoms and folds."""

from __future__ import annotations

import sublime
import sublime_plugin

from .bench import Bench, ProbeResult, Steps, region

CHARACTERS = "a\tb\u2028c\u2029d\x01\x1b\x7fe\x85f\u00a0g"
NUL = "a\0b"


def insert_keeps_characters(bench: Bench) -> Steps:
    yield 0
    return _kept(bench, CHARACTERS)


def insert_keeps_nul(bench: Bench) -> Steps:
    yield 0
    return _kept(bench, NUL)


def replace_keeps_carets(bench: Bench) -> Steps:
    view = bench.view("abc")
    view.sel().clear()
    view.sel().add(1)
    bench.replace(view, 1, 1, "XY")
    yield 0
    selected = list(view.sel())
    return ProbeResult(all(one.empty() for one in selected), f"the selection is {region(selected)}")


def replace_keeps_regions(bench: Bench) -> Steps:
    view = bench.view("abcdef")
    view.add_regions("check", [sublime.Region(1)], flags=sublime.RegionFlags.NO_UNDO)
    bench.replace(view, 1, 1, "XY")
    yield 0
    regions = view.get_regions("check")
    return ProbeResult(len(regions) == 1 and regions[0].empty(), f"the region is {region(regions)}")


def modified_during_command(bench: Bench) -> Steps:
    view = bench.view()
    bench.replace(view, 0, 0, "x")
    during = bool(bench.heard(view, "on_modified"))
    yield lambda: bench.heard(view, "on_modified")
    if not bench.heard(view, "on_modified"):
        return ProbeResult(False, "it did not come")
    return ProbeResult(during, "" if during else "it came after the command")


def nested_modified_at_once(bench: Bench) -> Steps:
    view = bench.view()
    counts: list[int] = []

    def edit_again() -> None:
        before = len(bench.heard(view, "on_modified"))
        bench.replace(view, 0, 0, "y")
        counts.append(len(bench.heard(view, "on_modified")) - before)

    bench.events.clear()
    bench.reaction = edit_again
    bench.replace(view, 0, 0, "x")
    yield lambda: counts
    bench.reaction = None
    if not counts:
        return ProbeResult(False, "on_modified did not come")
    return ProbeResult(counts[0] > 0, "" if counts[0] else "it was told after the first listener returned")


def typed_letters_one_step(bench: Bench) -> Steps:
    view = bench.view()
    for letter in "abc":
        view.run_command("insert", {"characters": letter})
    view.run_command("undo")
    yield 0
    left = bench.text(view)
    return ProbeResult(not left, f"one undo of “abc” leaves “{left}”")


def rewritten_command_asked(bench: Bench) -> Steps:
    view = bench.view("abc")
    bench.events.clear()
    bench.rewrite = ("right_delete", "select_all")
    try:
        view.run_command("right_delete")
        yield 20
    finally:
        bench.rewrite = None
    names = [command for name, _, command in bench.events if name == "on_text_command"]
    return ProbeResult(
        names == ["right_delete", "select_all"], f"listeners were asked about {', '.join(names) or 'nothing'}"
    )


class _Ear(sublime_plugin.TextChangeListener):
    """Notes that a text changed. Attached by hand only."""

    @classmethod
    def is_applicable(cls, buffer: sublime.Buffer) -> bool:  # noqa: ARG003 - the name is given
        """Never by itself."""
        return False

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def on_text_changed(self, changes: list[sublime.TextChange]) -> None:
        """The text has changed."""
        self.count += 1


def text_listener_during_edit(bench: Bench) -> Steps:
    view, ear = bench.view(), _Ear()
    ear.attach(view.buffer())
    try:
        bench.replace(view, 0, 0, "x")
        during = ear.count > 0
        yield lambda: ear.count
        if not ear.count:
            return ProbeResult(False, "it heard nothing")
        return ProbeResult(during, "" if during else "it heard it after the command")
    finally:
        if ear.is_attached():
            ear.detach()


def phantom_moves_at_insertion(bench: Bench) -> Steps:
    view = bench.view("abc")
    number = view.add_phantom("check", sublime.Region(1), "x", sublime.PhantomLayout.BLOCK)
    bench.replace(view, 1, 1, "XY")
    yield 0
    regions = view.query_phantom(number)
    return ProbeResult([one.begin() for one in regions] == [3], f"it was at 1 and is at {region(regions)}")


def fold_stays_at_insertion(bench: Bench) -> Steps:
    view = bench.view("abcdef")
    view.fold(sublime.Region(1, 3))
    bench.replace(view, 3, 3, "XY")
    yield 0
    folds = view.folded_regions()
    return ProbeResult([(one.begin(), one.end()) for one in folds] == [(1, 3)], f"the fold is {region(folds)}")


def _kept(bench: Bench, text: str) -> ProbeResult:
    view = bench.view(text)
    kept = bench.text(view)
    return ProbeResult(kept == text, "" if kept == text else f"{text!r} became {kept!r}")
