"""The modes, models and other options of an agent's session."""

from __future__ import annotations

from collections.abc import Callable

from ...conversation.events import ConfigOptionUpdate, Event
from ...conversation.snapshot import Choices
from ..sessions import AgentSession
from ..wire import read
from . import schema
from .requests import Requests


class AgentOptions:
    """Switches what a session can switch. `publish` tells the chat of it, `say` shows a sentence."""

    model_is_default = False
    forgets = True

    def __init__(self, requests: Requests, publish: Callable[[Event], object], say: Callable[[str], object]) -> None:
        self.settings = schema.SessionSettings(schema.Opened())
        self._requests = requests
        self._publish = publish
        self._say = say

    async def switch_model(self, session: AgentSession, model: str) -> None:
        """Switch the model."""
        if option := self.settings.option("model"):
            await self.set_option(session, option.id, model)
        else:
            await self._requests.call("session/set_model", {"sessionId": session.id, "modelId": model})
            self.settings.model = model
            self._tell()

    async def switch_mode(self, session: AgentSession, mode: str) -> None:
        """Switch the mode."""
        option = self.settings.option("mode")
        if option and not self.settings.opened.modes.available:
            await self.set_option(session, option.id, mode)
        else:
            await self._requests.call("session/set_mode", {"sessionId": session.id, "modeId": mode})
            self.settings.mode = mode
            self._tell()

    async def switch_effort(self, session: AgentSession, effort: str) -> None:
        """Switch how long the model thinks.

        Raises:
            MissingFeatureError: the session has no such option.
        """
        if (option := self.settings.option("thought_level")) is None:
            raise self._requests.missing("switch how long the model thinks")
        await self.set_option(session, option.id, effort)

    async def set_option(self, session: AgentSession, option: str, value: str | bool) -> None:
        """Set one of the session's options, to the id of a value or to true or false."""
        params: dict[str, object] = {"sessionId": session.id, "configId": option, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        before = self.settings.options
        answer = read(schema.OptionsUpdate, await self._requests.call("session/set_config_option", params))
        if answer and answer.options:
            self.settings.update(answer.options)
        elif self.settings.options is before and (unsure := self.settings.accepted(option, value)):
            self._say(f"{self._requests.name} has accepted {unsure}, but doesn't say what holds now.")
        self._tell()

    async def choices(self, session: AgentSession) -> Choices:
        """The models and the modes that the session can switch to."""
        return self.settings.choices

    def _tell(self) -> None:
        self._publish(ConfigOptionUpdate(self.settings.choices))
