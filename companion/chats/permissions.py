"""Permissions as diffs: accepting or rejecting a diff is the vote on the permission that a chat asks for.

Nothing here answers by itself: a vote comes from a diff that the person has accepted, rejected or closed, or from the
chat. When another client answers a permission, its diffs close.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ..conversation.failures import AlreadyAnsweredError, ChatError
from ..conversation.forms import Values
from ..conversation.snapshot import Diff, Permission, Snapshot, Tool
from ..editor import WindowId
from ..protocol import DiffOutcome
from ..provenance.calls import said_before
from ..provenance.log import MAX_REASON
from ..review.review import Request
from .transcript.plain import flat

if TYPE_CHECKING:
    from .chat import Chat


class Approvals:
    """The permissions of one chat that wait for an answer."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self._waiting: dict[str, _Approval] = {}
        self._given: Counter[str] = Counter()
        """How many answers were given to each; a second click may be one too many."""

    def has_answered(self, permission: str) -> bool:
        """Whether the person has answered a permission, which the agent may not know yet."""
        return self._given[permission] > 0

    async def give(self, permission: str, option: str | None, answers: Values | None = None) -> None:
        """Answer a permission with the id of an option; None for "cancelled".

        Raises:
            ChatError: the daemon doesn't take the answer.
        """
        client, session = self.chat.connection.connected
        self._given[permission] += 1
        try:
            await client.answer(session, permission, option, answers)
        except ChatError:
            self._given[permission] -= 1
            raise

    def update(self, snapshot: Snapshot) -> None:
        """Open the diffs of new permissions, and close those of answered ones."""
        asked = {permission.id: permission for permission in snapshot.status.permissions}
        before = self.questions
        for identifier in [identifier for identifier in self._waiting if identifier not in asked]:
            approval = self._waiting.pop(identifier)
            approval.withdraw()
            if message := self._how(_answered(snapshot, identifier), approval.permission):
                self.chat.mention(message)
        for identifier, permission in asked.items():
            if identifier not in self._waiting:
                self._waiting[identifier] = _Approval(self, permission, _reason(snapshot, permission))
            approval = self._waiting[identifier]
            if not (approval.has_diffs or self.has_answered(identifier)):
                approval.show()  # the person may have turned diffs on since it was asked
        if self.questions != before:
            self.chat.place.chats.windows.changes_changed()

    @property
    def questions(self) -> int:
        """How many permissions wait without a diff that shows them."""
        shown: set[object] = {review.owner for review in self.chat.place.reviews}
        return sum(approval.is_question(shown) for approval in self._waiting.values())

    def waits(self, permission: str) -> bool:
        """Whether a permission still waits for an answer, as far as is known."""
        return permission in self._waiting

    def dismiss(self) -> None:
        """Close all diffs without a vote: the chat ends, its questions stay with the daemon."""
        for approval in self._waiting.values():
            approval.withdraw()
        self._waiting.clear()
        self.chat.place.chats.windows.changes_changed()

    def _how(self, answered: Permission | None, asked: Permission) -> str:
        """How a permission was answered; empty if it was answered here."""
        if self.has_answered(asked.id):
            return ""
        title = flat(asked.title, 100)
        if answered is None or answered.state == "open":
            return f"“{title}” is not asked any more."
        if answered.chosen is None:
            return f"“{title}” was cancelled."
        verb = {"allow": "allowed", "reject": "rejected"}.get(answered.chosen.kind.partition("_")[0], "answered")
        return f"Another client has {verb} “{title}”."


class _Approval:
    """A permission and its diffs."""

    def __init__(self, approvals: Approvals, permission: Permission, reason: str) -> None:
        self.permission = permission
        self._reason = reason
        """What the agent has said before it asks; empty if it isn't known."""
        self.approvals = approvals
        self._open: list[_Owner] = []
        """The owners of the diffs that wait for an answer."""
        self.has_diffs = False
        """Whether its diffs were opened."""
        self._edited: dict[Diff, str] = {}
        """What the person has made of proposals that they have accepted."""

    def show(self) -> None:
        """Open the diffs, if the person wants any."""
        connection = self.approvals.chat.connection
        if self.approvals.chat.place.shows_diffs:
            takes_edits = connection.has_client and connection.connected[0].can("edits")
            self._edited.clear()
            owners = [_Owner(self, diff) for diff in self.permission.diffs]
            self._open = list(owners)
            self.has_diffs = bool(owners)
            for owner in owners:
                if owner not in self._open:  # a rejection from before a reload has answered all of them
                    return
                # Two edits of one file would be two texts for it.
                is_alone = sum(each.path == owner.diff.path for each in self.permission.diffs) == 1
                is_part = owner.diff.is_part
                is_editable = is_alone and takes_edits and not is_part
                request = Request(owner.diff.old, self.approvals.chat.is_local, is_editable, is_part)
                self.approvals.chat.place.reviews.open(
                    owner, connection.path_there(owner.diff.path), owner.diff.new, request, self._reason
                )

    def is_question(self, shown: set[object]) -> bool:
        """Whether it waits without a diff; `shown` are the owners of the diffs on the screen."""
        is_voted_on = self.has_diffs and self.approvals.has_answered(self.permission.id)
        return not is_voted_on and shown.isdisjoint(self._open)

    def withdraw(self) -> None:
        """Close the diffs without a vote."""
        owners, self._open = self._open, []
        for owner in owners:
            self.approvals.chat.place.reviews.withdraw(owner)

    def answered(self, owner: _Owner, content: str | None) -> None:
        """The person has accepted one of the diffs with this content, or rejected it (None).

        The last acceptance or the first rejection counts.
        """
        if owner not in self._open:
            return
        self._open.remove(owner)
        if content is not None and content != owner.diff.new:
            self._edited[owner.diff] = content
        if content is None or not self._open:
            self.withdraw()
            self.approvals.chat.background(self._vote(accepted=content is not None))

    async def _vote(self, *, accepted: bool) -> None:
        approvals, permission = self.approvals, self.permission
        connection = approvals.chat.connection
        kind = "allow_once" if accepted else "reject_once"
        option = next((option for option in permission.options if option.kind == kind), None)
        try:
            if accepted and option is None:
                names = ", ".join(f"“{each.name}”" for each in permission.options)
                approvals.chat.place.screen.messenger.say(
                    f"Answer in the chat: it offers {names}.", approvals.chat.window
                )
            else:
                for diff, content in self._edited.items() if accepted else ():
                    client, _ = connection.connected
                    await client.edited(connection.path_there(diff.path), diff.new, content)
                await approvals.give(permission.id, option.id if option else None)
                return
        except AlreadyAnsweredError as error:
            approvals.chat.mention(str(error))
            return
        except ChatError as error:
            approvals.chat.place.screen.messenger.say(f"Your answer could not be sent. {error}", approvals.chat.window)
        # It is still asked.
        if approvals.waits(permission.id):
            self.show()


class _Owner:
    """Owns one diff of a permission, and is notified of its outcome."""

    is_model = False

    def __init__(self, approval: _Approval, diff: Diff) -> None:
        self.diff = diff
        self._approval = approval

    @property
    def window(self) -> WindowId:
        """The window that the chat is in."""
        return self._approval.approvals.chat.window

    @property
    def cli(self) -> str:
        """The name of the agent, for messages."""
        return self._approval.approvals.chat.agent

    def handed_over(self) -> dict[str, Any]:
        """Nothing: the chat asks again after a reload, and goes on with the review then."""
        return {}

    def notify(self, outcome: DiffOutcome) -> None:
        """The outcome of the diff, which is the vote."""
        self._approval.answered(self, outcome.content)


def _reason(snapshot: Snapshot, permission: Permission) -> str:
    turn = next((turn for turn in snapshot.changed if turn.key == permission.turn), None)
    return said_before(turn, permission.tool)[-MAX_REASON:] if turn else ""


def _answered(snapshot: Snapshot, identifier: str) -> Permission | None:
    """A permission that was asked, as its turn shows it now."""
    tools = (item for turn in snapshot.changed for item in turn.items if isinstance(item, Tool))
    permissions = (permission for tool in tools for permission in tool.permissions)
    return next((permission for permission in permissions if permission.id == identifier), None)
