"""What a chat offers and the protocol has no way for. Each method says so."""

from __future__ import annotations

from typing import Literal, NoReturn

from ..backends.sessions import Session
from ..conversation.conversation import Oldest
from ..conversation.failures import MissingFeatureError
from ..conversation.snapshot import Task


class Lacking:
    """The methods of a chat's back end that no agent on stdio has."""

    name: str
    """What the agent is called."""

    async def rename(self, session: Session, title: str) -> NoReturn:
        """Raises MissingFeatureError."""
        raise self._missing("rename a conversation")

    async def search(self, folder: str, words: str) -> NoReturn:
        """Raises MissingFeatureError."""
        raise self._missing("search its conversations")

    async def pin(self, session: Session, *, is_pinned: bool) -> NoReturn:
        """Raises MissingFeatureError."""
        raise self._missing("pin a conversation")

    async def archive(self, session: Session, *, is_archived: bool) -> NoReturn:
        """Raises MissingFeatureError."""
        raise self._missing("put a conversation into an archive")

    async def export(
        self, session: Session, form: Literal["html", "md", "json", "jsonl"], *, is_archived: bool = False
    ) -> NoReturn:
        """Raises MissingFeatureError."""
        raise self._missing("export a conversation")

    async def go_on(self, session: Session) -> NoReturn:
        """Raises MissingFeatureError: a prompt has to do."""
        raise self._missing("continue a turn")

    async def commands(self, session: Session) -> NoReturn:
        """Raises MissingFeatureError: an agent sends them as an event."""
        raise self._missing("list its commands on request")

    async def earlier(self, session: Session, oldest: Oldest) -> NoReturn:
        """Raises MissingFeatureError: a history comes whole."""
        raise self._missing("show earlier turns page by page")

    async def sign_in_providers(self) -> NoReturn:
        """Raises MissingFeatureError."""
        raise self._missing("be signed in with a code")

    async def begin_sign_in(self, provider: str) -> NoReturn:
        """Raises MissingFeatureError."""
        await self.sign_in_providers()

    async def sign_in(self, identifier: str) -> NoReturn:
        """Raises MissingFeatureError."""
        await self.sign_in_providers()

    async def cancel_sign_in(self, identifier: str) -> NoReturn:
        """Raises MissingFeatureError."""
        await self.sign_in_providers()

    async def rewind_points(self, session: Session) -> NoReturn:
        """Raises MissingFeatureError."""
        raise self._missing("go back to an earlier prompt")

    async def rewind(self, session: Session, point: str, *, undo_files: bool) -> NoReturn:
        """Raises MissingFeatureError."""
        raise self._missing("go back to an earlier prompt")

    async def fork(self, session: Session, title: str = "") -> NoReturn:
        """Raises MissingFeatureError."""
        raise self._missing("copy a conversation")

    async def tasks(self, session: Session) -> NoReturn:
        """Raises MissingFeatureError."""
        raise self._missing("list what runs in the background")

    async def agents(self, session: Session) -> tuple[Task, ...]:
        """None: sub-agents are not listed."""
        return ()

    async def stop_task(self, session: Session, task: Task) -> NoReturn:
        """Raises MissingFeatureError."""
        raise self._missing("stop what runs in the background")

    def _missing(self, what: str) -> MissingFeatureError:
        return MissingFeatureError(what, f"{self.name} can't {what}.", "")
