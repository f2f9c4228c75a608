"""Key bindings: how keys are written."""

from __future__ import annotations

import pytest

from headless.keymap import normalized


@pytest.mark.parametrize(
    ("key", "others", "mac"),
    [
        ("shift+escape", "shift+escape", "shift+escape"),
        ("primary+s", "ctrl+s", "super+s"),
        ("shift+ctrl+a", "ctrl+shift+a", "ctrl+shift+a"),
        ("command+option+x", "alt+super+x", "alt+super+x"),
        ("ctrl++", "ctrl++", "ctrl++"),
    ],
)
def test_a_key_is_written_in_one_way_on_each_system(key: str, others: str, mac: str) -> None:
    assert normalized(key, mac=False) == others
    assert normalized(key, mac=True) == mac
