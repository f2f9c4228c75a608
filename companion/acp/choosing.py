"""The modes, models and other options of an agent's session."""

from __future__ import annotations

from ..backends.sessions import Session
from ..conversation import events
from ..conversation.snapshot import Choices
from . import schema
from .asking import Asking


class Choosing(Asking):
    """Switches what a session can switch."""

    async def switch_model(self, session: Session, model: str) -> None:
        """Switch the model."""
        if option := self._settings.option("model"):
            await self.set_option(session, option.id, model)
        else:
            await self._call("session/set_model", {"sessionId": session.id, "modelId": model})
            self._settings.model = model
            self._choices_changed()

    async def switch_mode(self, session: Session, mode: str) -> None:
        """Switch the mode."""
        option = self._settings.option("mode")
        if option and not self._settings.opened.modes.available:
            await self.set_option(session, option.id, mode)
        else:
            await self._call("session/set_mode", {"sessionId": session.id, "modeId": mode})
            self._settings.mode = mode
            self._choices_changed()

    async def switch_effort(self, session: Session, effort: str) -> None:
        """Switch how long the model thinks.

        Raises:
            MissingFeatureError: the session has no such option.
        """
        if (option := self._settings.option("thought_level")) is None:
            raise self._missing("switch how long the model thinks")
        await self.set_option(session, option.id, effort)

    async def set_option(self, session: Session, option: str, value: str | bool) -> None:
        """Set one of the session's options, to the id of a value or to true or false."""
        params: dict[str, object] = {"sessionId": session.id, "configId": option, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        answer = schema.read(schema.OptionsUpdate, await self._call("session/set_config_option", params))
        if answer and answer.options:
            self._settings.update(answer.options)
        self._choices_changed()

    async def choices(self, session: Session) -> Choices:
        """The models and the modes that the session can switch to."""
        return self._settings.choices

    def _choices_changed(self) -> None:
        self._publish(events.ConfigOptionUpdate(self._settings.choices))
