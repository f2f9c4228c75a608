"""What an agent does besides its turn. Standard library alone."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from time import time


@dataclass(frozen=True, slots=True)
class Task:
    """What the agent does besides its turn: a command in the background, a sub-agent, a monitor."""

    id: str
    kind: str
    """shell, agent, monitor, or something newer."""
    title: str
    status: str
    """running, paused, completed, failed, cancelled, or something newer."""
    began: float
    """Seconds since 1970 by the agent's clock."""
    seconds: float | None = None
    """How long it took; None while it runs."""
    about: str = ""
    """The command, or what the sub-agent is asked to do."""
    output: str = ""
    """The path of the file with its output on the agent's machine."""
    error: str = ""
    tokens: int = 0
    is_background: bool = True
    """Whether the turn doesn't wait for it."""

    @property
    def is_running(self) -> bool:
        """Whether it may still do something."""
        return self.status in {"running", "paused", "pending"}

    @property
    def duration(self) -> str:
        """How long it took, or has been running."""
        seconds = max(0.0, time() - self.began) if self.seconds is None else self.seconds
        return duration(seconds)


def duration(seconds: float) -> str:
    """A time in words, such as "2 min 5 s"."""
    minutes, rest = divmod(round(seconds) if isfinite(seconds) else 0, 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
