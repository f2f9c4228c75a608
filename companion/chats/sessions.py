"""The list of conversations of each chat's folder: pages of it, a search, and what is done with one of them."""

from __future__ import annotations

from ..backends.backend import needed
from ..backends.parts import ExportForm
from ..backends.sessions import AgentSession, FoundSession, SessionInfo, SessionPage
from ..conversation.failures import SessionGoneError
from ..ids import ChatId
from .registry import Registry


class ChatSessions:
    """Lists conversations, and changes what is in the list."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def resume(self, chat_id: ChatId, session: str) -> None:
        """Show another conversation in a chat."""
        if chat := self._registry.get(chat_id):
            chat.resume(session)

    async def page(self, chat_id: ChatId, cursor: str = "", *, is_archived: bool = False) -> SessionPage:
        """A page of the conversations in the chat's folder: those that are pinned first, then the latest."""
        client, _, folder = await self._registry.reached(chat_id)
        if is_archived:
            page = await needed(client.catalog, client, "list archived conversations").archived(folder.there, cursor)
        else:
            page = await needed(client.sessions, client, "list conversations").list(folder.there, cursor)
        return SessionPage(tuple(sorted(page.sessions, key=_order, reverse=True)), page.cursor)

    async def search(self, chat_id: ChatId, words: str) -> list[FoundSession]:
        """The conversations in the chat's folder in which something was said."""
        client, _, folder = await self._registry.reached(chat_id)
        return await needed(client.catalog, client, "search its conversations").search(folder.there, words)

    async def rename(self, chat_id: ChatId, session: str, title: str) -> None:
        """Give a conversation a title."""
        client, _, folder = await self._registry.reached(chat_id)
        known = AgentSession.known(session, folder.there)
        catalog = needed(client.catalog, client, "rename a conversation")
        try:
            await catalog.rename(known, title)
        except SessionGoneError:
            # Only one that is at work can be renamed.
            loaded, _ = await client.load(known)
            await catalog.rename(loaded, title)
            await client.detach(loaded)

    async def pin(self, chat_id: ChatId, session: str, *, is_pinned: bool) -> None:
        """Keep a conversation at the top of the list, or no longer."""
        client, _, folder = await self._registry.reached(chat_id)
        catalog = needed(client.catalog, client, "pin a conversation")
        await catalog.pin(AgentSession.known(session, folder.there), is_pinned=is_pinned)

    async def archive(self, chat_id: ChatId, session: str, *, is_archived: bool) -> None:
        """Put a conversation into the archive, or take it out. The chat that shows it begins a new one."""
        chat = self._registry[chat_id]
        client, shown, folder = await self._registry.reached(chat_id)
        catalog = needed(client.catalog, client, "put a conversation into an archive")
        await catalog.archive(AgentSession.known(session, folder.there), is_archived=is_archived)
        if is_archived and session == shown.id:
            chat.begin()

    async def reopen(self, chat_id: ChatId, session: str) -> None:
        """Take a conversation out of the archive, and show it."""
        await self.archive(chat_id, session, is_archived=False)
        self._registry[chat_id].resume(session)

    async def delete(self, chat_id: ChatId, session: str) -> None:
        """Delete a conversation and its history. The chat that shows it begins a new one."""
        chat = self._registry[chat_id]
        client, shown, folder = await self._registry.reached(chat_id)
        sessions = needed(client.sessions, client, "delete a conversation")
        await sessions.delete(AgentSession.known(session, folder.there))
        if session == shown.id:
            chat.begin()

    async def export(self, chat_id: ChatId, session: str, form: ExportForm, *, is_archived: bool = False) -> str:
        """A conversation as a text."""
        client, _, folder = await self._registry.reached(chat_id)
        catalog = needed(client.catalog, client, "export a conversation")
        return await catalog.export(AgentSession.known(session, folder.there), form, is_archived=is_archived)


def _order(session: SessionInfo) -> tuple[bool, str]:
    return session.is_pinned, session.updated_at or session.created_at
