"""Programs that lead to another machine, a container or WSL. A CLI behind one cannot see this editor's files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_SSH_WITH_VALUE = set("BbcDEeFIiJLlmOopQRSWw")
"""Options of ssh that have a value."""
_CONTAINERS = {"docker", "podman", "nerdctl", "kubectl"}
_INSIDE = {"exec", "run", "attach"}


class Remote(NamedTuple):
    """A running program behind which a CLI may be."""

    pid: int
    program: str
    where: str
    """A phrase such as "over SSH on buildbox"."""


def leads_to(command: Sequence[str]) -> str | None:
    """Where a command line leads a person to: a phrase, None if it opens no shell elsewhere.

    Commands such as git's own use of ssh, which run a program there, do not count.
    """
    if not command:
        return None
    program = command[0].replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    words = list(command[1:])
    if program in {"ssh", "mosh-client", "mosh", "autossh"}:
        host = _host(words)
        return f"over SSH on {host}" if host else None
    if program in _CONTAINERS and any(word in _INSIDE for word in words) and any(map(_is_interactive, words)):
        return "in a container"
    if program == "wsl":
        return "in WSL"
    if program in {"distrobox", "toolbox", "devcontainer"} and any(word in {"enter", *_INSIDE} for word in words):
        return "in a container"
    return None


def _host(words: Sequence[str]) -> str | None:
    rest = iter(words)
    forced = False
    for word in rest:
        if not word.startswith("-"):
            return word.rpartition("@")[2] if forced or next(rest, None) is None else None
        if "N" in word[1:] or "W" in word[1:2]:
            return None  # a tunnel alone
        forced = forced or "t" in word[1:]
        if len(word) == 2 and word[1] in _SSH_WITH_VALUE:
            next(rest, None)
    return None


def _is_interactive(word: str) -> bool:
    return word in {"--interactive", "--tty"} or (word.startswith("-") and word[1:2] != "-" and "i" in word[1:])
