"""What the README says of the settings and of what a CLI is told is what the package does."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from companion.protocol import ContextUpdate, Cursor, File, IdeContext, WorkspaceState
from companion.server.context import MAX_FILES, MAX_SELECTED, FocusOrder, Listed, ide_context
from companion.server.port import OpenFile, Selection
from companion.settings import TABLE


@pytest.fixture(scope="module")
def told(root: Path) -> str:
    """The section on what leaves the machine."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    return readme.partition("## What leaves your machine")[2].partition("\n## ")[0]


def sent(files: list[OpenFile], order: FocusOrder, selection: Selection) -> dict[str, Any]:
    """The message that a CLI gets."""
    context = ide_context(Listed(files), order, selection, is_trusted=None)
    return json.loads(ContextUpdate(context).event.partition(b"data: ")[2])["params"]


def test_the_sample_is_the_message_that_a_cli_gets(told: str) -> None:
    sample = json.loads(told.partition("```json\n")[2].partition("```")[0])
    order = FocusOrder()
    order.seen(2, 1795299940000)
    order.focused(1, 1795300000000)
    files = [OpenFile(1, "/home/ada/shop/orders.js"), OpenFile(2, "/home/ada/shop/README.md")]
    assert sample == sent(files, order, Selection(7, 40, "amount += prices[title] * copies;"))


def test_every_field_of_the_message_is_in_the_sample_or_in_the_table(told: str) -> None:
    """A new fact can't be sent without being said."""
    file = File("/a", 1, is_active=True, cursor=Cursor(1, 1), selected_text="x")
    message = IdeContext(WorkspaceState([file], is_trusted=True)).message
    fields = set(re.findall(r'"(\w+)":', json.dumps(message))) - {"workspaceState"}
    known = {one.name for kind in (WorkspaceState, File, Cursor) for one in dataclasses.fields(kind)}
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


def test_every_setting_is_in_the_table_with_its_default(root: Path) -> None:
    readme = (root / "README.md").read_text(encoding="utf-8")
    table = readme.partition("\n## Settings\n")[2].partition("\n## ")[0]
    rows = {}
    for names, defaults in re.findall(r"^\| (`.*?) \| (.*?) \| .* \|$", table, re.MULTILINE):
        keys, values = re.findall(r"`([\w.]+)`", names), re.findall(r"`(.*?)`", defaults)
        values = values or [value.strip() for value in defaults.split(",")]
        rows |= dict(zip(keys, values, strict=True))
    assert set(rows) == {setting.name for setting in TABLE}
    wrong = {name: text for name, text in rows.items() if not is_default(name, text)}
    assert wrong == {}


def is_default(name: str, text: str) -> bool:
    [setting] = [each for each in TABLE if each.name == name]
    if name == "repository":  # the table says what it is
        return text == "this project's releases"
    return json.loads(text) == setting.default
