"""Whether the person has seen a diff: nothing is answered unseen."""

from __future__ import annotations

from time import monotonic

SETTLED = 1.0
"""Seconds that what appeared by itself has to stay until it counts as seen, and a key, a save or a click answers it."""


class Attention:
    """What the person has seen of a diff.

    They have seen it once they have gone to it, or once it had the focus for a second that came to it by itself. That
    it was on the screen is not enough: many proposals cover each other within a moment.
    """

    def __init__(self) -> None:
        self._is_seen = False
        self._appeared: float | None = None
        """When it came to the screen by itself; None if it never did, or if the person has brought it since."""
        self._focused: float | None = None
        """When it got the focus by itself, unseen; None without the focus."""
        self.is_answered = False
        """The person has answered it in the editor, which is not its outcome yet."""
        self.has_landed = False
        """It opened with the focus, as the window had nothing else to focus: nobody knows whether anybody is there."""

    @property
    def is_seen(self) -> bool:
        """Whether the person has gone to it, or was there for a second."""
        return self._is_seen or (self._focused is not None and not _is_new(self._focused))

    @property
    def is_new(self) -> bool:
        """Whether it has only just appeared by itself: a key or a click may be meant for what was there before."""
        return _is_new(self._appeared) or _is_new(self._focused)

    def appeared(self) -> None:
        """It has come to the screen by itself, for the first time or because another one has closed."""
        self._appeared = monotonic()

    def focused(self) -> None:
        """One of its views got the focus, and nobody knows why."""
        if self._focused is None and not self.is_seen and not self.has_landed:
            self._focused = monotonic()

    def left(self) -> None:
        """Another view of the window got the focus."""
        self._is_seen = self.is_seen
        self._focused = None
        self.has_landed = False

    def entered(self) -> None:
        """The person has clicked into it, or has run a command in it."""
        self._is_seen = True
        self._focused = None

    def saw(self) -> None:
        """All its changes were in front of the person for a second in the Review."""
        self._is_seen = True

    def brought(self) -> None:
        """The person has gone to it by a key or a command, which can't have been meant for anything else."""
        self.entered()
        self._appeared = None


def _is_new(since: float | None) -> bool:
    return since is not None and monotonic() - since < SETTLED
