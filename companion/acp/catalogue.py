"""The agents that a person can choose: how each is started, and how it is installed. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """How an agent is started."""

    name: str
    """What the person calls it. Once it runs, it says its own name."""
    command: tuple[str, ...]
    """The program and its arguments."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What it gets in addition to the person's login environment. It may hold a key."""
    letter: str = ""
    """Stands for it where there is little room."""
    install: str = ""
    """The command that installs it, from its own documents."""
