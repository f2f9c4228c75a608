"""Whether the person has looked at a diff: nothing is answered unseen."""

from __future__ import annotations

from time import monotonic

SETTLED = 1.0
"""Seconds that a diff has to be on the screen before a key, a save or a click answers it."""


class Attention:
    """What the person has seen of a diff: whether it was on the screen, and whether they have gone to it."""

    def __init__(self) -> None:
        self._shown_at: float | None = None
        self.is_entered = False
        """The person has focused the diff by a click or a command."""
        self.is_answered = False
        """The person has answered it in the editor, which is not its outcome yet."""
        self.landed = False
        """The diff got the focus by itself, because the window had nothing else to focus."""

    @property
    def was_shown(self) -> bool:
        """Whether the diff has ever been on the screen."""
        return self._shown_at is not None

    @property
    def is_settled(self) -> bool:
        """Whether the diff has been there long enough to be answered by a key or a click."""
        return self._shown_at is not None and monotonic() - self._shown_at >= SETTLED

    def shown(self) -> None:
        """The diff is on the screen."""
        if self._shown_at is None:
            self._shown_at = monotonic()

    def came_back(self) -> None:
        """The diff is on the screen again because another one has closed: a second key or click was meant for that."""
        self._shown_at = monotonic()

    def focused(self) -> None:
        """A view of the diff got the focus."""
        self.is_entered = self.is_entered or not self.landed

    def left(self) -> None:
        """Another view of the window got the focus."""
        self.landed = False

    def entered(self) -> None:
        """The person has gone to the diff."""
        self.is_entered = True
