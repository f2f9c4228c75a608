"""The daemon's routes for signing in at a provider of models with a code that the person enters on a web page."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from pydantic import Field

from ..parts import SigningIn
from ..wire import Number, ShortText, Wire, texts
from . import answers
from .routes import Routes

FEATURE = "auth_device_flow"
_ROUTE = "/workspace/auth/device-flow"
BEGIN_LIMIT = 60.0
"""Seconds: the daemon asks the provider."""
USUAL_INTERVAL = 5.0
"""Seconds between two questions, if the daemon doesn't say."""


class _Flow(Wire):
    id: str = Field(alias="deviceFlowId")
    provider: ShortText = Field(default="", alias="providerId")
    status: ShortText = ""
    user_code: ShortText = ""
    verification_uri: ShortText = ""
    verification_uri_complete: ShortText = ""
    expires_at: Number = 0.0
    interval_ms: Number = 0.0
    hint: ShortText = ""
    error_kind: ShortText = ""


class DaemonSignIn:
    """Signs the daemon in."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def providers(self) -> list[str]:
        """The ids of the providers at which one can sign in."""
        answer = await self._routes.transport.json("GET", "/workspace/auth/status")
        return list(texts(answer.get("supportedDeviceFlowProviders")))

    async def begin(self, provider: str) -> SigningIn:
        """Begin to sign in, or take up a sign-in that has begun.

        Raises:
            UpstreamError: the provider doesn't answer.
        """
        answer = await self._routes.transport.json("POST", _ROUTE, {"providerId": provider}, limit=BEGIN_LIMIT)
        return _read(answers.read(_Flow, answer))

    async def look(self, identifier: str) -> SigningIn:
        """How far a sign-in is."""
        return _read(
            answers.read(_Flow, await self._routes.transport.json("GET", f"{_ROUTE}/{quote(identifier, safe='')}"))
        )

    async def cancel(self, identifier: str) -> None:
        """Give a sign-in up."""
        await self._routes.transport.json("DELETE", f"{_ROUTE}/{quote(identifier, safe='')}")


def _read(flow: _Flow) -> SigningIn:
    page = flow.verification_uri_complete or flow.verification_uri
    state: Literal["pending", "authorized", "failed"] = (
        "pending" if flow.status == "pending" else "authorized" if flow.status == "authorized" else "failed"
    )
    why = flow.hint or flow.error_kind.replace("_", " ") or flow.status
    return SigningIn(
        flow.id,
        flow.provider,
        state,
        flow.user_code,
        page if page.startswith(("https://", "http://")) else "",
        flow.expires_at / 1000,
        flow.interval_ms / 1000 or USUAL_INTERVAL,
        why if state == "failed" else "",
    )
