"""What can go wrong with an agent on its standard input and output: a sentence and a remedy for the person."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...conversation.failures import ChatError

_REQUIRED = re.compile(r"^authentication (is )?required\b[.:]?", re.IGNORECASE)
"""What the code says as well."""
AUTHENTICATION_NEEDED = -32000
"""The protocol's code for a session that needs a sign-in."""
NOT_FOUND = -32002
"""The protocol's code for a file or a session that isn't there."""
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800
"""The protocol's code for a request that whoever made it has cancelled."""


class AgentError(ChatError):
    """A failure that has to do with an agent."""


class AgentStartError(AgentError):
    """The agent has ended before it answered."""

    remedy = "Run its command in a terminal to see more."

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"{agent} ended as soon as it was started{f': {why}' if why else ''}.")


class EndedError(AgentError):
    """The agent's process has ended, and not because we wanted it to."""

    remedy = "Reconnect to start it again."

    def __init__(self, agent: str, how: str) -> None:
        super().__init__(f"{agent} has ended unexpectedly{f': {how}' if how else ''}.")


class SilentError(AgentError):
    """The agent doesn't answer."""

    remedy = "Reconnect to start it again."

    def __init__(self, agent: str, seconds: float) -> None:
        super().__init__(f"{agent} didn't answer within {seconds:.0f} s.")


class SignInError(AgentError):
    """The agent wants the person to sign in."""

    remedy = "Click Sign In, or run “Qwen: Chat: Sign In”."
    wants_sign_in = True

    def __init__(self, agent: str, methods: Sequence[str], words: str = "") -> None:
        """`words` are the agent's own."""
        self.agent = agent
        words = _REQUIRED.sub("", words).strip().rstrip(".")
        why = f": {words}" if words else ""
        how = f" It offers: {', '.join(methods)}." if methods else ""
        super().__init__(f"{agent} wants you to sign in{why}.{how}")


class AnswerError(AgentError):
    """The agent has answered a request with an error."""

    def __init__(self, agent: str, code: int, message: str) -> None:
        self.code = code
        self.message = message.rstrip(".")
        """In the agent's words."""
        super().__init__(f"{agent} refuses: {self.message or f'error {code}'}.")


class UnnamedError(AnswerError):
    """The agent has answered with an error that names no request: it may go on with it."""


class RequestError(Exception):
    """Our answer to a request of the agent that can't be fulfilled."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)
