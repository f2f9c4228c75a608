"""What an agent tells without being asked."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from ...conversation import events
from . import decoder
from .options import AgentOptions
from .plans import Plans
from .prompts import Prompts
from .publisher import Publisher
from .requests import Requests
from .services import Services
from .session import OpenSession

logger = logging.getLogger(__name__)


class Notifications:
    """Makes events of an agent's notifications.

    Args:
        requests: those to the agent.
        services: what it has the editor do, which shows in its tool calls.
        session: the open one. What is told of others is dropped.
        options: are told of by updates, too.
        prompts: are told when the agent does something.
        publisher: gets the events.
    """

    def __init__(
        self,
        requests: Requests,
        services: Services,
        session: OpenSession,
        options: AgentOptions,
        prompts: Prompts,
        publisher: Publisher,
    ) -> None:
        self._requests = requests
        self._services = services
        self._session = session
        self._options = options
        self._prompts = prompts
        self._publisher = publisher
        self._plans = Plans()

    def take(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a notification. One of an unknown method is ignored."""
        if method == "session/update":
            update = params.get("update")
            if params.get("sessionId") == self._session.id and isinstance(update, dict):
                self._update(cast("Mapping[str, Any]", update))
            else:
                logger.debug("%s tells of another session", self._requests.name)
        elif method == "elicitation/complete":
            self._services.questions.completed(str(params.get("elicitationId")))
        elif not method.startswith(("_", "$")) and "/" in method:
            logger.debug("%s sends the notification %s", self._requests.name, method)

    def _update(self, update: Mapping[str, Any]) -> None:
        update = self._services.note(update)
        event = self._plans.decode(update) or decoder.decode(update, self._services.output, self._options.settings)
        if isinstance(event, events.ToolCallUpdate):
            self._prompts.acted()
        if not isinstance(event, events.Ignored):
            self._publisher.publish(event)
