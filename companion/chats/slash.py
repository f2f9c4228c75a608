"""Slash commands that the chat translates, or doesn't offer, since they do harm in a session of `qwen serve`. Pure."""

from __future__ import annotations

import re
from typing import Literal

from ..conversation.snapshot import Command

_BEGINNING = {"clear", "new", "reset"}
"""They replace the agent's session behind the daemon's back, which then answers no request of it (0.24.4)."""
Instead = Literal["new", "model", "mode", "effort", "rewind", "fork"]
"""What the chat does instead of sending a command."""
_PICKERS: dict[str, Instead] = {
    "model": "model",
    "approval-mode": "mode",
    "effort": "effort",
    "rewind": "rewind",
    "rollback": "rewind",
    "branch": "fork",
}
"""Without an argument they open a dialog, and a session of the daemon has no dialogs."""
_USELESS = {"auth", "branch", "bug", "connect", "delete", "docs", "exit", "login", "quit", "resume", "update"}
"""They open a dialog or a browser on the daemon's machine, or replace the program that runs."""
_COMMAND = re.compile(r"/[\s\ufeff]*([^\s\ufeff]+)[\s\ufeff]*(.*)", re.DOTALL)
"""Qwen Code skips blanks behind the slash, and a byte order mark is one for it."""


def translated(text: str) -> tuple[Instead, str] | None:
    """What the chat does instead of sending a prompt, for example begin a new chat; None to send it.

    With it comes the text that is left to be sent, which was written behind the command.
    """
    if not (found := _COMMAND.fullmatch(text.strip())):
        return None
    name, argument = found[1], found[2]
    if name in _BEGINNING:
        return "new", argument
    return (_PICKERS[name], "") if name in _PICKERS and not argument else None


def offered(commands: tuple[Command, ...]) -> list[Command]:
    """The commands to complete."""
    return [command for command in commands if command.name not in _USELESS]
