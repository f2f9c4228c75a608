"""What can go wrong with a chat, whatever carries it. Each back end has more classes, for its own cases."""

from __future__ import annotations


class ChatError(Exception):
    """A failure of a chat. `str()` is the whole message, a sentence and a remedy."""

    remedy = ""
    """What the person can do, a sentence."""
    final = True
    """Whether trying again can't help until somebody changes something."""
    may_have_arrived = False
    """Whether what was sent may have reached the agent all the same."""
    retry_after: float | None = None
    """Seconds that the agent asks to wait before the next try."""
    wants_sign_in = False
    """Whether the agent answers once the person has signed in."""
    agent_may_change = False
    """Whether the next try may reach another agent than this one did."""
    is_conflict = False
    """Whether the agent can't do it in its present state, and may be able to in a moment."""

    def __init__(self, sentence: str, remedy: str | None = None) -> None:
        self.sentence = sentence
        """What is wrong, one sentence."""
        if remedy is not None:
            self.remedy = remedy
        super().__init__(f"{sentence} {self.remedy}".rstrip())


class StreamLostError(ChatError):
    """The connection ended in the middle of an answer or of the events."""

    final = False
    may_have_arrived = True


class UncertainError(ChatError):
    """What was sent may have reached the agent, and nobody can tell."""

    remedy = "Check whether it has arrived before you send it again."
    may_have_arrived = True

    def __init__(self, sentence: str = "The connection was lost while this was sent.") -> None:
        super().__init__(sentence)


class StaleError(ChatError):
    """Events are missing, or the agent tells nothing of this session yet: it has to be loaded."""

    final = False

    def __init__(self, *, agent_may_change: bool = False) -> None:
        self.agent_may_change = agent_may_change
        super().__init__("Something of the conversation is missing.", "It is read anew.")


class SessionEndedError(ChatError):
    """The session has ended, and its conversation goes on once it is loaded."""

    remedy = "Reconnect to resume it."


class MissingFeatureError(ChatError):
    """The agent, or what it is reached through, lacks something that is needed."""


class SessionGoneError(ChatError):
    """The session isn't at work any more."""

    remedy = "Resume it from the list of sessions, or start a new chat."
    agent_may_change = True

    def __init__(self, sentence: str = "The agent doesn't run this session any more.") -> None:
        super().__init__(sentence)


class AlreadyAnsweredError(ChatError):
    """Somebody else was faster to answer a question, or its turn is over."""

    def __init__(self) -> None:
        super().__init__("This question has been answered already.")


class NotConnectedError(ChatError):
    """The person has asked for something that needs a connected chat."""

    remedy = "Wait until it is, or reconnect."

    def __init__(self) -> None:
        super().__init__("The chat isn't connected.")


class UnsendableError(ChatError):
    """The draft can't be sent as it is."""
