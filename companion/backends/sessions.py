"""Sessions of an agent, as a chat knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pydantic import Field

from .wire import Text, Wire


class AgentSession(Wire):
    """A session that this client takes part in, or wants to."""

    id: str = Field(alias="sessionId")
    folder: str = Field(default="", alias="workspaceCwd")
    client_id: str = ""
    """Our client id in it; empty where nobody else can take part."""
    attached: bool = False
    """Whether it was there before."""
    begun: float = 0.0
    """When it was begun, as a Unix time in seconds; 0 if that isn't known."""

    @classmethod
    def known(cls, identifier: str, folder: str, client_id: str = "", begun: float = 0.0) -> Self:
        """A session that is known by its id, for example from before a reload; its folder as the agent calls it."""
        return cls.model_validate(
            {"sessionId": identifier, "workspaceCwd": folder, "clientId": client_id, "begun": begun}
        )


class SessionInfo(AgentSession):
    """A session in the list."""

    title: Text = Field(default="", alias="displayName")
    created_at: Text = ""
    updated_at: Text = ""
    client_count: int = 0
    has_active_prompt: bool = False
    is_waiting_for_permission: bool = False
    is_waiting_for_user_question: bool = False
    is_pinned: bool = False
    is_archived: bool = False


@dataclass(frozen=True, slots=True)
class SessionPage:
    """A part of the list of sessions."""

    sessions: tuple[SessionInfo, ...]
    cursor: str = ""
    """Where the next part begins; empty if this is the last one."""


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session in which something was found."""

    session: SessionInfo
    snippet: str
    """The words around it."""
