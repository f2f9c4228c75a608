"""What the person has undone of an agent's changes, which goes with the next prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..ids import WindowId

HEAD = "I have undone:"


class UndoneChanges(Protocol):
    """Who knows what was undone."""

    async def undone_since(self, window: WindowId) -> list[str]:
        """A line for each change that was undone and that no agent was told of yet."""
        ...

    async def told(self, window: WindowId, lines: Sequence[str]) -> None:
        """These lines were sent to an agent."""
        ...


class UndoneNews:
    """The lines for the agents of one window's chats, if the person wants them to know."""

    def __init__(self, changes: UndoneChanges, window: WindowId, is_wanted: Callable[[], bool]) -> None:
        self._changes = changes
        self._window = window
        self._is_wanted = is_wanted

    async def lines(self) -> list[str]:
        """What goes with a prompt that is sent now."""
        return await self._changes.undone_since(self._window) if self._is_wanted() else []

    async def told(self, lines: Sequence[str]) -> None:
        """A prompt with these lines was sent."""
        if lines:
            await self._changes.told(self._window, lines)


def undone_text(lines: Sequence[str]) -> str:
    """The lines as they follow the words of a prompt; nothing if there is none."""
    return "\n\n" + "\n".join([HEAD, *(f"- {line}" for line in lines)]) if lines else ""
