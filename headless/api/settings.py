"""Settings: the handle to a dictionary of settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headless.api.types import Value, ValueLike
from headless.host import app, locked
from headless.settings import SettingsState


class Settings:
    """Like a `dict`; keys that are not set here are looked up in the settings above."""

    def __init__(self, id: int) -> None:
        self.settings_id = id

    def __repr__(self) -> str:
        return f"Settings({self.settings_id})"

    def _state(self) -> SettingsState:
        return app().settings.by_id(self.settings_id)

    @locked
    def __getitem__(self, key: str) -> Value:
        found, _ = self._state().lookup(key)
        if not found:
            raise KeyError(repr(key))
        return self._state().get(key)

    def __setitem__(self, key: str, value: ValueLike) -> None:
        app().settings.set(self._state(), key, value)

    def __delitem__(self, key: str) -> None:
        app().settings.erase(self._state(), key)

    @locked
    def __contains__(self, key: str) -> bool:
        return self._state().lookup(key)[0]

    @locked
    def to_dict(self) -> dict[str, Value]:
        """All settings, those above included."""
        return self._state().flattened()

    def setdefault(self, key: str, value: ValueLike) -> Value:
        """The value of `key`, which is set to `value` first if it is not set."""
        if key not in self:
            self[key] = value
        return self[key]

    def update(
        self,
        other: Mapping[str, ValueLike] | Iterable[tuple[str, ValueLike]] = (),
        /,
        **kwargs: ValueLike,
    ) -> None:
        """Set many values."""
        for key, value in dict(other, **kwargs).items():
            self[key] = value

    @locked
    def get(self, key: str, default: ValueLike | None = None) -> Value:
        """The value of `key`, or `default`."""
        return self._state().get(key, default)

    def has(self, key: str) -> bool:
        """Whether `key` is set."""
        return key in self

    def set(self, key: str, value: ValueLike) -> None:
        """Set `key` to `value`."""
        self[key] = value

    def erase(self, key: str) -> None:
        """Remove `key`."""
        del self[key]

    @locked
    def add_on_change(self, tag: str, callback: Callable[[], None]) -> None:
        """Call `callback` whenever a setting changes, until `clear_on_change(tag)`."""
        self._state().listeners.append((tag, callback))

    @locked
    def clear_on_change(self, tag: str) -> None:
        """Remove the callbacks of this tag."""
        state = self._state()
        state.listeners = [entry for entry in state.listeners if entry[0] != tag]
