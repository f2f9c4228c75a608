"""A review as Markdown: the turns with their prompts and reasons, what was decided, and the comments."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from ..changes.change_screen import Listing
from ..changes.rows import ChangeRow
from ..visible import visible, visible_name
from .log import LoggedTurn

_TICKS = re.compile(r"`+")
_MEANS = re.compile(r"([\\`*_\[\]<>#|~!])")


def markdown(turns: Sequence[LoggedTurn], listing: Listing, comments: str, now: float) -> str:
    """The text. `comments` are Markdown already, `now` is a Unix time."""
    parts = [f"# Review of {_time(now)}"]
    parts += [_turn(turn) for turn in turns if turn.agent]
    waiting = [f"- {_code(row.path)} {_count(row)}" for row in listing.rows]
    decided = [f"- {_code(row.path)} {_count(row)}: {word}" for row, word in listing.done]
    parts += [_section("Waits for a review", waiting), _section("Reviewed", decided)]
    parts += [f"## Comments\n\n{comments}"] if comments else []
    return "\n\n".join(filter(None, parts)) + "\n"


def _turn(turn: LoggedTurn) -> str:
    heading = " · ".join(filter(None, (_plain(turn.agent), _plain(turn.model), _time(turn.at))))
    said = [f"## {heading}"]
    said += [_quoted(turn.prompt)] if turn.prompt.strip() else []
    calls: list[str] = []
    for call in turn.calls:
        lines = sum(len(run.added) for run in call.runs)
        asked = f" (asked: {_plain(call.asked)})" if call.asked.strip() else ""
        reason = f": {_plain(call.reason)}" if call.reason.strip() else ""
        calls.append(f"- {_code(call.path)}, {lines} line{'s' * (lines != 1)}{asked}{reason}")
    return "\n\n".join([*said, "\n".join(calls)])


def _section(name: str, lines: Sequence[str]) -> str:
    return f"## {name}\n\n" + "\n".join(lines) if lines else ""


def _quoted(text: str) -> str:
    lines = _MEANS.sub(r"\\\1", visible(text.strip())).split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _plain(text: str) -> str:
    """A text in one line in which nothing is Markdown."""
    return _MEANS.sub(r"\\\1", " ".join(visible(text).split()))


def _code(path: str) -> str:
    text = visible_name(path)
    ticks = "`" * (1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    blank = " " if len(ticks) > 1 else ""
    return f"{ticks}{blank}{text}{blank}{ticks}"


def _count(row: ChangeRow) -> str:
    return f"+{row.inserted} −{row.deleted}"


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
