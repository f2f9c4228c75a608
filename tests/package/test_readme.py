"""What the pages say of what a CLI is told is what the package does, and the README is short."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from companion.editor import ViewId
from companion.exclusion import DEFAULT_EXCLUDE
from companion.protocol import Cursor, File, IdeContext
from companion.server.context import MAX_FILES, MAX_SELECTED, FocusOrder, Listed, ide_context
from companion.server.window_screen import OpenFile, Selection


@pytest.fixture(scope="module")
def told(root: Path) -> str:
    """The page on what leaves the machine."""
    return (root / "docs/privacy.md").read_text(encoding="utf-8")


def sent(files: list[OpenFile], order: FocusOrder, selection: Selection) -> dict[str, Any]:
    """The message that a CLI gets."""
    context = ide_context(Listed(files), order, selection, is_trusted=None)
    return json.loads(context.event.partition(b"data: ")[2])["params"]


def test_the_sample_is_the_message_that_a_cli_gets(told: str) -> None:
    sample = json.loads(told.partition("```json\n")[2].partition("```")[0])
    order = FocusOrder()
    order.seen(ViewId(2), 1795299940000)
    order.focused(ViewId(1), 1795300000000)
    files = [OpenFile(ViewId(1), "/home/ada/shop/orders.js"), OpenFile(ViewId(2), "/home/ada/shop/README.md")]
    assert sample == sent(files, order, Selection(7, 40, "amount += prices[title] * copies;"))


def test_every_field_of_the_message_is_in_the_sample_or_in_the_table(told: str) -> None:
    """A new fact can't be sent without being said."""
    file = File("/a", 1, is_active=True, cursor=Cursor(1, 1), selected_text="x")
    message = IdeContext([file], is_trusted=True).message
    fields = set(re.findall(r'"(\w+)":', json.dumps(message))) - {"workspaceState"}
    known = {one.name for kind in (IdeContext, File, Cursor) for one in dataclasses.fields(kind)}
    assert fields == {to_camel(name) for name in known}
    assert fields == {
        "openFiles",
        "isTrusted",
        "path",
        "timestamp",
        "isActive",
        "cursor",
        "selectedText",
        "line",
        "character",
    }
    missing = {name for name in fields if f'"{name}"' not in told}
    assert missing == {"isTrusted"}
    assert "| whether you trust the folders | `is_trusted` is `null`" in told


def test_the_limits_are_those_of_the_code(told: str) -> None:
    assert f"at most {MAX_FILES}, and when" in told
    assert f"at most {MAX_SELECTED:,} characters" in told


def test_the_readme_names_the_globs_that_are_excluded_at_first(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    assert [glob for glob in DEFAULT_EXCLUDE if f"`{glob}`" not in text] == []
