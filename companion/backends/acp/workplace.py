"""Where an agent works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Workplace:
    """What is known once an agent is started. All parts of its client share it."""

    folder: str = ""
    """The chat's, as the agent has it."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What the agent and its commands get."""
