"""A reason that a comment or a docstring names can be opened: a page of this repository, or a public tracker."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ("companion", "headless", "plugin.py", "tests", "benchmarks", "scripts")
PAGE = re.compile(r"(?<![\w:/.*-])([\w][\w./-]*\.md)(?:#([\w-]+))?")
NUMBER = re.compile(r"(?<!\w)[Ii]ssues? #?\d+")
TRACKED = re.compile(r"[\w-]+/[\w.-]+#\d+(?:(?:,| and|, and)\s#\d+)*")
BARE = re.compile(r"(?<!\bI)#\d+\b")
"""`I#n` is an issue of the editor's tracker in headless/, which says so."""
REQUIREMENT = re.compile(r"\b(?:[A-E]\d|F[1-6])\b")
"""Sections of a page that is not here. `F7` and `F8` are keys."""


@cache
def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def sources(place: str) -> list[str]:
    return [name for name in tracked() if name.startswith(place) and name.endswith(".py")]


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Each comment and each string that stands alone, with its line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string[1:]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def wrong_page(name: str, anchor: str) -> bool:
    page = ROOT / name
    return name not in tracked() or (bool(anchor) and anchor not in anchors(page))


def unopened(text: str) -> Iterator[str]:
    """What a reader of this text could not open."""
    yield from (f"{name}#{anchor}" for name, anchor in PAGE.findall(text) if wrong_page(name, anchor))
    yield from NUMBER.findall(text)
    yield from BARE.findall(TRACKED.sub("", PAGE.sub("", text)))
    yield from REQUIREMENT.findall(text)
    yield from re.findall("§.*", text)


@pytest.mark.parametrize("place", PLACES)
def test_every_reason_that_is_named_can_be_opened(place: str) -> None:
    found: list[str] = []
    for name in sources(place):
        source = (ROOT / name).read_text(encoding="utf-8")
        found += [f"{name}:{line}: {reason}" for line, text in prose(source) for reason in unopened(text)]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "As in qwen-ide.md §4.",
        "See docs/protocols/qwen-ide.md#no-such-section.",
        "See contract/qwen-ide.md.",
        "Issue 3: the change at the caret.",
        "The editor's issues 2666 and 2728.",
        "As in #33.",
        "D3: byte for byte.",
    ],
)
def test_a_reason_that_nobody_can_open_is_found(text: str) -> None:
    assert list(unopened(text))


def test_a_page_and_a_public_tracker_are_reasons() -> None:
    text = "docs/protocols/qwen-ide.md#diffs, docs/chat.md, sublimehq/sublime_text#2666, #2728 and #4747. `F8`"
    assert list(unopened(text)) == []


def test_no_page_or_script_names_a_section_of_what_is_not_here() -> None:
    """Those that are not Python: pages, scripts, workflows, settings."""
    kinds = (".md", ".txt", ".toml", ".yml", ".cjs", ".mjs", ".sublime-settings")
    names = [name for name in tracked() if name.endswith(kinds) or name.startswith("scripts/")]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names if (ROOT / name).is_file()}
    assert [name for name, text in texts.items() if NUMBER.search(text) or "§" in text] == []


@pytest.mark.parametrize("name", [name for name in tracked() if name.startswith("docs/") and name.endswith(".md")])
def test_a_link_to_a_section_leads_to_it(name: str) -> None:
    page = ROOT / name
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if link[1] not in anchors((page.parent / link[0]) if link[0] else page)] == []
