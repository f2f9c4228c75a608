"""The daemon's routes for what a session can switch, and for what no event tells of a session."""

from __future__ import annotations

from ...conversation.events import AvailableCommandsUpdate
from ...conversation.snapshot import Choices, Command, ContextWindow
from ..sessions import AgentSession
from ..updates import decode_update
from . import answers
from .routes import Routes, path


class DaemonOptions:
    """Switches the model, the mode and other options."""

    model_is_default = True
    forgets = False

    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def choices(self, session: AgentSession) -> Choices | None:
        """The models, the modes and the efforts that the session can switch to; None if this daemon doesn't tell."""
        if not self._routes.has("session_context"):
            return None
        return answers.choices(await self._routes.transport.json("GET", path(session, "context"), session=session))

    async def switch_model(self, session: AgentSession, model: str) -> None:
        """Switch the model. The daemon makes it the user's default too."""
        self._routes.need("session_set_model")
        await self._routes.transport.json("POST", path(session, "model"), {"modelId": model}, session)

    async def switch_mode(self, session: AgentSession, mode: str) -> None:
        """Switch the mode: plan, default, auto-edit, auto or yolo."""
        self._routes.need("session_approval_mode_control")
        await self._routes.transport.json("POST", path(session, "approval-mode"), {"mode": mode}, session)

    async def switch_effort(self, session: AgentSession, effort: str) -> None:
        """Switch how long the model thinks, for this session."""
        await self.set_option(session, answers.EFFORT, effort)

    async def set_option(self, session: AgentSession, option: str, value: str | bool) -> None:
        """Set an option of the session."""
        body = {"configId": option, "value": value}
        await self._routes.transport.json("POST", path(session, "config-option"), body, session)


class DaemonQueries:
    """Tells of a session what no event tells."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def commands(self, session: AgentSession) -> tuple[Command, ...]:
        """The slash commands of the session."""
        self._routes.need("session_supported_commands")
        answer = await self._routes.transport.json("GET", path(session, "supported-commands"), session=session)
        update = decode_update({**answer, "sessionUpdate": "available_commands_update"})
        return update.commands if isinstance(update, AvailableCommandsUpdate) else ()

    async def window(self, session: AgentSession) -> ContextWindow | None:
        """How full the context window is; None if this daemon doesn't tell."""
        if not self._routes.has("session_context_usage"):
            return None
        return answers.window(await self._routes.transport.json("GET", path(session, "context-usage"), session=session))
