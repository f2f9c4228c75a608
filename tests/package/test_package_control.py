"""The package through the real Package Control: installed, used, upgraded, refused, removed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..e2e.mcp_client import connect
from .control import Sublime


@pytest.fixture
def sublime(control: Path, offline: Path) -> Iterator[Sublime]:
    one = Sublime(control, [f"file://{offline}/repository.json"])
    yield one
    one.remove()


def test_it_is_installed_from_a_folder(sublime: Sublime) -> None:
    editor = sublime.start()
    editor.install()
    print(sublime.versions())
    with connect(editor.lock()) as client:
        print(client.tools())
    editor.quit()
