"""Sessions of an agent, as a chat knows them."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from .agent import Text, Wire


class Session(Wire):
    """A session that this client takes part in, or wants to."""

    id: str = Field(alias="sessionId")
    folder: str = Field(default="", alias="workspaceCwd")
    client_id: str = ""
    """Our client id in it; empty where nobody else can take part."""
    attached: bool = False
    """Whether it was there before."""

    @classmethod
    def known(cls, identifier: str, folder: str, client_id: str = "") -> Self:
        """A session that is known by its id, for example from before a reload; its folder as the agent calls it."""
        return cls.model_validate({"sessionId": identifier, "workspaceCwd": folder, "clientId": client_id})


class SessionInfo(Session):
    """A session in the list."""

    title: Text = Field(default="", alias="displayName")
    created_at: Text = ""
    updated_at: Text = ""
    client_count: int = 0
    has_active_prompt: bool = False
    is_waiting_for_permission: bool = False
    is_waiting_for_user_question: bool = False
