"""Accepting a part of a proposal: the real Qwen Code writes exactly the part that the person kept.

People ask for this most often, and no other companion offers it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .editor import Told
from .session import Session

LINES = [f"value_{number} = {number}\n" for number in range(1, 31)]


def _text(*changes: int) -> str:
    """The file with some of the three changes."""
    lines = [*LINES]
    if 3 in changes:
        del lines[24:26]
    if 2 in changes:
        lines[14:14] = ["# added\n", "added = True\n"]
    if 1 in changes:
        lines[2] = "value_3 = 'three'\n"
    return "".join(lines)


ROWS = {1: 2, 2: 14, 3: 26}
"""The line of each change in the proposal, counted from 0."""


def _by_command(session: Session, proposal: Told, change: int) -> None:
    point = len("".join(proposal["text"].splitlines(keepends=True)[: ROWS[change]]))
    session.editor.do("select", view=proposal["id"], regions=[[point, point]])
    session.editor.do("command", name="qwen_companion_undo_change", view=proposal["id"])


def _by_link(session: Session, proposal: Told, change: int) -> None:
    # The marks appear a moment after the text.
    session.editor.wait("link at each change", lambda: len(session.editor.links_at_changes(proposal)) == len(ROWS))
    session.editor.do("click", view=proposal["id"], href=session.editor.links_at_changes(proposal)[change - 1])


@pytest.mark.parametrize(
    ("change", "revert"),
    [(1, _by_command), (2, _by_link), (3, _by_link)],
    ids=["changed line, by command", "new lines, by link", "removed lines, by link"],
)
def test_the_file_holds_the_two_changes_that_were_not_reverted(
    session: Session, change: int, revert: Callable[[Session, Told, int], Any]
) -> None:
    """Revert one of three changes and accept."""
    path = session.file(f"partial{change}{revert.__name__}.py", _text())
    script = session.cli.ask_to_write(path, _text(1, 2, 3))
    proposal = session.editor.wait_diff(path)
    assert proposal["text"] == _text(1, 2, 3)
    wanted = _text(*({1, 2, 3} - {change}))
    revert(session, proposal, change)
    session.editor.wait("reverted change", lambda: session.editor.view(proposal["id"])["text"] == wanted)
    session.editor.accept(proposal)
    session.cli.wait_done(script)
    session.editor.wait_no_diff()
    assert path.read_bytes() == wanted.encode()


def test_a_change_that_was_reverted_and_restored_is_written(session: Session) -> None:
    """Restore a change, in a file with Windows line endings."""
    path = session.file("restored.py", _text().replace("\n", "\r\n"))
    script = session.cli.ask_to_edit(path, "value_3 = 3", "value_3 = 'three'")
    proposal = session.editor.wait_diff(path)
    _by_command(session, proposal, 1)
    session.editor.wait("reverted change", lambda: session.editor.view(proposal["id"])["text"] == _text())
    session.editor.do("command", name="qwen_companion_undo_change", view=proposal["id"])
    session.editor.wait("restored change", lambda: session.editor.view(proposal["id"])["text"] == _text(1))
    session.editor.accept(proposal)
    session.cli.wait_done(script)
    session.editor.wait_no_diff()
    assert path.read_bytes() == _text(1).replace("\n", "\r\n").encode()
