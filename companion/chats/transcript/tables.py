"""Aligns the columns of markdown tables. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import zip_longest

MOST_COLUMNS = 120
"""The width of a table that is aligned. The lines of a wider one would be wrapped."""
_MARGIN = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S))*[ \t>]*")
"""What a line begins with in a list or a quote."""
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")


def may_begin(line: str) -> bool:
    """Whether a line may be the first one of a table."""
    return "|" in line and _BAR.search(line) is not None


def goes_on(lines: Sequence[str], line: str) -> bool:
    """Whether a line belongs to the table, or to what may become one, that begins with these lines."""
    (margin, first), (own, row) = _split(lines[0]), _split(line)
    if not may_begin(row) or own.count(">") != margin.count(">") or row.startswith("|") != first.startswith("|"):
        return False
    is_item = own.strip(" \t>")
    return not is_item and (len(lines) > 1 or _is_rule(row, len(_cells(first))))


def aligned(lines: Sequence[str]) -> Sequence[str]:
    """The lines of a table with columns of one width; as they are if they are no table, or a wide one."""
    if len(lines) < 2:
        return lines
    margins, rows = zip(*map(_split, lines), strict=True)
    cells = [_cells(row) for row in rows]
    rules = cells[1]
    content = [cells[0], *cells[2:]]
    widths = [max(3, *map(_width, column)) for column in zip_longest(*content, fillvalue="")]
    shown = [_row(row, rules, widths) for row in content]
    shown.insert(1, [_rule(rule, width) for rule, width in zip(rules, widths, strict=False)])
    found = [f"{margin}| {' | '.join(row)} |" for margin, row in zip(margins, shown, strict=True)]
    return found if max(map(_width, found)) <= MOST_COLUMNS else lines


def _row(row: Sequence[str], rules: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The cells of a row, which may have fewer than the table has columns, or more."""
    pairs = zip_longest(row, rules, fillvalue="")
    return [_padded(cell, width, rule) for (cell, rule), width in zip(pairs, widths, strict=False)]


def _split(line: str) -> tuple[str, str]:
    """The margin of a line, and what follows it."""
    found = _MARGIN.match(line)
    at = found.end() if found else 0
    return line[:at], line[at:].rstrip(" \t")


def _cells(row: str) -> list[str]:
    cells = _BAR.split(row)
    first = 1 if row.startswith("|") else 0
    last = len(cells) - 1 if len(cells) > first and not cells[-1] else len(cells)
    return [cell.strip(" \t") for cell in cells[first:last]]


def _is_rule(row: str, count: int) -> bool:
    cells = _cells(row)
    return len(cells) == count and all(map(_RULE.fullmatch, cells))


def _rule(rule: str, width: int) -> str:
    left, right = rule[:1].replace("-", ""), rule[-1:].replace("-", "")
    return left + "-" * (width - len(left) - len(right)) + right


def _padded(cell: str, width: int, rule: str) -> str:
    lacks = width - _width(cell)
    if rule.endswith(":"):
        before = lacks // 2 if rule.startswith(":") else lacks
        return " " * before + cell + " " * (lacks - before)
    return cell + " " * lacks


def _width(text: str) -> int:
    """How many columns a text takes: two for a wide character, none for one that joins the one before."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
