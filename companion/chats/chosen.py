"""What the person has chosen for a session: its mode, its model and other options. Some agents forget it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..conversation.failures import ChatError
from ..conversation.snapshot import Status
from ..json_text import as_object


class UndecidedError(ChatError):
    """What the person has chosen does not hold, and they haven't said yet what is to be done."""

    remedy = "Choose another one, or send this again to go on."

    def __init__(self, failed: str) -> None:
        super().__init__(f"This was not sent, because {failed} could not be set as before.")


@dataclass
class Chosen:
    """The choices of one chat, and whether they hold."""

    mode: str = ""
    """Its id; empty if the person hasn't chosen one. The others likewise."""
    model: str = ""
    effort: str = ""
    options: dict[str, str | bool] = field(default_factory=dict[str, str | bool])
    """The values by the ids of the options."""
    before: Status | None = None
    """What held before a connection that has not brought all of it back yet."""
    _failed: dict[str, str] = field(default_factory=dict[str, str])
    """What does not hold, in words, by `mode`, `model`, `effort` or `option_kind`."""
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
        """The person has chosen one of them, and it holds. What else does not hold waits for them still."""
        options = options or {}
        self.mode, self.model, self.effort = mode or self.mode, model or self.model, effort or self.effort
        self.options |= options
        if before := self.before:
            self.before = replace(
                before,
                mode=mode or before.mode,
                model=model or before.model,
                effort=effort or before.effort,
                options=tuple(replace(each, value=options.get(each.id, each.value)) for each in before.options),
            )
        taken = {name for name, each in zip(_NAMES, (mode, model, effort), strict=True) if each}
        taken |= {option_kind(option) for option in options}
        if self._failed:
            self.fail({kind: words for kind, words in self._failed.items() if kind not in taken})

    def follow(self, status: Status) -> None:
        """The session has changed by itself: what was chosen is from now on what it has."""
        if self._failed:
            return
        self.mode, self.model, self.effort = (
            own and (getattr(status, name) or own)
            for name, own in zip(_NAMES, (self.mode, self.model, self.effort), strict=True)
        )
        self.options |= {each.id: each.value for each in status.options if each.id in self.options}

    def fail(self, failed: Mapping[str, str]) -> None:
        """These could not be set, in words by their kinds: the next prompt waits for the person. Empty if all hold."""
        self._failed, self._is_told = dict(failed), False
        if not failed:
            self.before = None

    def try_again(self) -> None:
        """A new connection sets them again. What was told of the one before is no reason to go on in this one."""
        self._is_told = False

    def check(self) -> None:
        """Raise UndecidedError if the person has to decide first."""
        if self._failed:
            self._is_told = True
            raise UndecidedError(", ".join(self._failed.values()))

    def sends(self) -> None:
        """The person sends something. Once they were told what doesn't hold, that means that they go on."""
        if self._is_told:
            self.fail({})


def option_kind(option: str) -> str:
    """What `Chosen.fail` calls an option. It may have the id `mode`."""
    return f"option {option}"


_NAMES = ("mode", "model", "effort")
