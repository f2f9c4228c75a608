"""Receives the companion's own notifications through the extension point of Python's MCP client."""

from __future__ import annotations

from functools import partial
from typing import Any

from mcp.client.extension import ClientExtension, NotificationBinding
from pydantic import BaseModel, ConfigDict

NOTIFICATIONS = ("ide/contextUpdate", "ide/diffAccepted", "ide/diffRejected", "ide/diffClosed")


class Params(BaseModel):
    """The parameters of a notification, as they arrived."""

    model_config = ConfigDict(extra="allow")


class Listening(ClientExtension):
    """Collects the companion's notifications."""

    identifier = "io.github.qwencompanion/tests"

    def __init__(self) -> None:
        self.received: list[tuple[str, dict[str, Any]]] = []

    def notifications(self) -> list[NotificationBinding[Any]]:
        return [
            NotificationBinding(method=method, params_type=Params, handler=partial(self._take, method))
            for method in NOTIFICATIONS
        ]

    async def _take(self, method: str, params: Params) -> None:
        self.received.append((method, params.model_dump()))
