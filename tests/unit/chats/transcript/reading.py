"""What a test reads in a transcript: its lines, links and code blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from companion.chats.transcript.plain import GAP
from companion.chats.transcript.render import MARK, Render
from companion.chats.transcript.transcript import Transcript
from companion.conversation.snapshot import (
    ConnectionStatus,
    Diff,
    Item,
    Locality,
    Location,
    Permission,
    PermissionOption,
    Snapshot,
    Status,
    Tool,
    Turn,
)

HERE = Locality("this computer", "/home/ada/shop", "0.24.4", agent="Qwen Code")
LIVE = Status(ConnectionStatus("live"))
ORDERS = "/home/ada/shop/orders.js"
ALWAYS, ONCE, NO = (
    PermissionOption("always", "Allow All Edits", "allow_always"),
    PermissionOption("once", "Allow", "allow_once"),
    PermissionOption("no", "Reject", "reject_once"),
)
DIFF = Diff(ORDERS, "one\ntwo\n", "one\n2\nthree\n")


class Shown:
    """A view: it knows the transcript only by its renders."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.raw = ""
        self.inserted = 0
        self.render: Render | None = None

    @property
    def text(self) -> str:
        """As it looks."""
        return self.raw.replace(GAP, " ")

    def update(self, view: Snapshot, locality: Locality = HERE) -> Render:
        self.render = render = self.transcript.update(view, locality, "s")
        if render.replaces_all:
            assert len(render.edits) == 1
        for edit in render.edits:
            assert render.replaces_all or 0 <= edit.start <= edit.end <= len(self.raw)
            self.raw = edit.text if render.replaces_all else edit.apply(self.raw)
            self.inserted += len(edit.text)
        assert self.raw == self.transcript.text
        assert render.length == len(self.raw)
        assert self.raw.endswith(MARK)
        assert (render.status, render.locality, render.session) == (view.status, locality, "s")
        for fold in render.folds:
            assert self.raw[fold.start] == self.raw[fold.end] == "\n"
        for link in render.links:
            assert link.start < link.end
            assert "\n" not in self.raw[link.start : link.end]
        for code in render.codes:
            assert self.raw[code.start - 1] == "\n"
            assert code.start == code.end or self.raw[code.end] == "\n"
        for ask in render.asks:
            assert self.raw[ask.end] == "\n"
            assert self.raw[ask.start] == "?"
        return render


def turn(*items: Item, key: str = "k", **more: Any) -> Turn:
    return Turn(key, more.pop("state", "done"), items, **more)


def view(*turns: Turn, status: Status = LIVE) -> Snapshot:
    return Snapshot(tuple(each.key for each in turns), turns, status)


def shown(
    *turns: Turn,
    status: Status = LIVE,
    locality: Locality = HERE,
    own: frozenset[str] = frozenset(),
    shows_diffs: bool = True,
) -> Shown:
    made = Shown()
    made.transcript.own_clients |= own
    made.transcript.shows_diffs = shows_diffs
    made.update(view(*turns, status=status), locality)
    return made


def lines(*items: Item, **more: Any) -> list[str]:
    """What a turn shows, without what is around it."""
    return shown(turn(*items, **more)).text.split("\n")[3:-2]


def tool(**more: Any) -> Tool:
    return replace(
        Tool("t", "read_file", "ReadFile: orders.js", "read", "completed", locations=(Location(ORDERS),)), **more
    )


def asked(**more: Any) -> Permission:
    return replace(Permission("p", "k", "t", "Writing to orders.js", "edit", (ALWAYS, ONCE, NO)), **more)


def links(made: Shown) -> list[tuple[str, str, int | None]]:
    assert made.render
    return [(made.text[link.start : link.end], link.path, link.line) for link in made.render.links]


def codes(made: Shown) -> list[tuple[str, str]]:
    assert made.render
    return [(code.language, made.text[code.start : code.end]) for code in made.render.codes]
