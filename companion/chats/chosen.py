"""What the person has chosen for a session: its mode, its model and other options. Some agents forget it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..backends.wire import as_object
from ..conversation.failures import ChatError


class UndecidedError(ChatError):
    """What the person has chosen does not hold, and they haven't said yet what is to be done."""

    remedy = "Choose another one, or send this again to go on."

    def __init__(self, failed: str) -> None:
        super().__init__(f"This was not sent, because it could not be set as you had chosen: {failed}.")


@dataclass
class Chosen:
    """The choices of one chat, and whether they hold."""

    mode: str = ""
    """Its id; empty if the person hasn't chosen one. The others likewise."""
    model: str = ""
    effort: str = ""
    options: dict[str, str | bool] = field(default_factory=dict[str, str | bool])
    """The values by the ids of the options."""
    _failed: str = ""
    """What does not hold, in words."""
    _is_told: bool = False

    @classmethod
    def from_plain(cls, value: object, session: str) -> Chosen:
        """What `as_plain` has made, if it was of this session. Anything else is empty."""
        kept = as_object(value)
        if kept.get("session") != session:
            return cls()
        mode, model, effort = (each if isinstance(each := kept.get(name), str) else "" for name in _NAMES)
        options = {key: each for key, each in as_object(kept.get("options")).items() if isinstance(each, str | bool)}
        return cls(mode, model, effort, options)

    def as_plain(self, session: str) -> Mapping[str, Any]:
        """The choices for a session, as the editor keeps them; empty if there are none."""
        chosen: dict[str, Any] = {name: each for name in _NAMES if (each := getattr(self, name))}
        if self.options:
            chosen["options"] = dict(self.options)
        return {"session": session, **chosen} if chosen else {}

    def take(
        self, *, mode: str = "", model: str = "", effort: str = "", options: Mapping[str, str | bool] | None = None
    ) -> None:
        """The person has chosen one of them, and it holds."""
        self.mode, self.model, self.effort = mode or self.mode, model or self.model, effort or self.effort
        self.options |= options or {}
        self.fail("")

    def fail(self, failed: str) -> None:
        """These could not be set, in words: the next prompt waits for the person. Empty if all hold."""
        self._failed, self._is_told = failed, False

    def check(self) -> None:
        """Raise UndecidedError if the person has to decide first."""
        if self._failed:
            self._is_told = True
            raise UndecidedError(self._failed)

    def sends(self) -> None:
        """The person sends something. Once they were told what doesn't hold, that means that they go on."""
        if self._is_told:
            self.fail("")


_NAMES = ("mode", "model", "effort")
