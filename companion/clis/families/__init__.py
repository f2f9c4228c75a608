"""The CLI families that look for an editor. Each is a `CliFamily` in a module of its own, and no other module names it.

Start with `family`, which says what a family is made of. `FAMILIES` has all of them; everything else iterates over that
tuple.
"""

from __future__ import annotations

from .claude_code import CLAUDE_CODE
from .copilot_cli import COPILOT_CLI
from .family import CliFamily, DiscoveryFolder, DiscoveryName, Door, DoorAddress, Habits, Launch, temporary_folder
from .gemini_cli import GEMINI_CLI
from .opencode import OPENCODE
from .qwen_code import QWEN_CODE, qwen_home

__all__ = [
    "CLAUDE_CODE",
    "COPILOT_CLI",
    "FAMILIES",
    "GEMINI_CLI",
    "OPENCODE",
    "QWEN_CODE",
    "TERMINAL_VARIABLES",
    "CliFamily",
    "DiscoveryFolder",
    "DiscoveryName",
    "Door",
    "DoorAddress",
    "Habits",
    "Launch",
    "keeps_edits",
    "qwen_home",
    "takes_edits",
    "temporary_folder",
    "to_be_asked",
]

FAMILIES = (QWEN_CODE, GEMINI_CLI, CLAUDE_CODE, COPILOT_CLI, OPENCODE)

TERMINAL_VARIABLES = {"TERM_PROGRAM": "sublime"}
"""Only for terminals that we open: Gemini CLI recognizes the editor by it from 0.25 on."""


def keeps_edits(cli: str) -> bool:
    """Whether the CLI of that name writes an edited proposal after "yes" in its terminal.

    The name of one that runs elsewhere begins with that of its family.
    """
    return any(family.keeps_edits for family in _called(cli))


def takes_edits(cli: str) -> bool:
    """Whether the CLI of that name writes an accepted text that is not the one that it proposed."""
    return all(family.takes_edits for family in _called(cli))


def to_be_asked(cli: str) -> str:
    """What the person does to be asked by the CLI of that name, in an imperative; empty if it never asks an editor."""
    return next((family.habits.to_be_asked for family in _called(cli) if family.shows_diffs), "")


def _called(cli: str) -> list[CliFamily]:
    return [family for family in FAMILIES if cli == family.name or cli.startswith(f"{family.name} ")]
