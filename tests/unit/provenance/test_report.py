"""A review as Markdown."""

from __future__ import annotations

import re
import time

from companion.changes.change_screen import Listing
from companion.changes.rows import ChangeRow
from companion.provenance.log import LoggedCall, LoggedTurn, Run
from companion.provenance.report import markdown

NOW = time.mktime((2026, 11, 26, 14, 5, 0, 0, 0, -1))


def row(path: str) -> ChangeRow:
    return ChangeRow("/p", path, "modified", ("Agent",), 3, 1, 1, "", "", "", "")


def test_it_has_turns_with_prompts_and_reasons_decisions_and_comments() -> None:
    run = Run((), ("a", "b"), ())
    call = LoggedCall("shop.py", (run,), reason="A KeyError\nsays too little.", asked="And round it")
    turn = LoggedTurn(NOW, "Agent", (call,), model="m-1", prompt="Refuse titles\nthat we do not sell")
    person = LoggedTurn(NOW, "", (LoggedCall("mine.py", ()),))
    listing = Listing((row("shop.py"),), ((row("a`b.py"), "kept"),))
    assert markdown([turn, person], listing, "`shop.py` line 3\nToo long.", NOW) == (
        "# Review of 2026-11-26 14:05\n\n"
        "## Agent · m-1 · 2026-11-26 14:05\n\n"
        "> Refuse titles\n> that we do not sell\n\n"
        "- `shop.py`, 2 lines (asked: And round it): A KeyError says too little.\n\n"
        "## Waits for a review\n\n- `shop.py` +3 −1\n\n"
        "## Reviewed\n\n- `` a`b.py `` +3 −1: kept\n\n"
        "## Comments\n\n`shop.py` line 3\nToo long.\n"
    )


def test_nothing_that_an_agent_says_is_markdown_or_acts() -> None:
    hostile = "\x1b[201~ [x](http://y) <img src=x> # **b** `c`"
    call = LoggedCall("a\n# b.py", (), reason=hostile, asked=hostile)
    text = markdown([LoggedTurn(NOW, hostile, (call,), prompt=f"x\n# {hostile}")], Listing(), "", NOW)
    assert "\x1b" not in text
    assert not re.search(r"(?<!\\)\]\(", text)
    assert "<img" not in text.replace("\\<", "")
    assert [line for line in text.split("\n") if line.startswith("#")][1:] == [text.split("\n")[2]]
