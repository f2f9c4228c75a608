"""How the daemon is asked: its address and folder, what it can do, and the requests."""

from __future__ import annotations

from urllib.parse import quote

from ..sessions import AgentSession
from .address import Address
from .answers import Capabilities
from .errors import missing_feature

QUALIFIED = "workspace_qualified_rest_core"
"""The feature of routes that name their folder."""


class Routes:
    """What all parts of a client share."""

    def __init__(self, address: Address, *, is_known: bool = False) -> None:
        """`is_known`: whether a daemon has answered at the address before."""
        self.address = address
        self.folder = ""
        """The one that it works in for us, if that isn't the daemon's primary one, as the daemon calls it."""
        self.capabilities: Capabilities | None = None
        """What the daemon can do, once `connect` has asked."""
        from .transport import Transport  # noqa: PLC0415 - a companion without a chat does without its library

        self.transport = Transport(address, is_known=is_known)

    def has(self, feature: str) -> bool:
        """Whether the daemon has a feature; every one until it was asked."""
        return self.capabilities is None or feature in self.capabilities.features

    def own(self, route: str, feature: str) -> str:
        """A route for our folder: the daemon takes it for its primary one where none is named.

        Raises:
            MissingFeatureError: the folder isn't the primary one, and this daemon has the route for no other.
        """
        if not self.folder:
            return route
        self.need(feature)
        return f"/workspaces/{quote(self.folder, safe='')}{route}"

    def need(self, feature: str) -> None:
        """Check that the daemon has a feature.

        Raises:
            MissingFeatureError: it hasn't.
        """
        if not self.has(feature):
            raise missing_feature(feature)


def path(session: AgentSession, route: str = "") -> str:
    """A route of a session."""
    return f"/session/{quote(session.id, safe='')}" + (f"/{route}" if route else "")
