"""What can go wrong with a daemon: one class for each case, with a sentence and a remedy for the person.

No message holds a token, nor anything that the daemon wrote beyond its own `error` text.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from ...clis.shell import on_the_path
from ...conversation.failures import ChatError, MissingFeatureError, SessionEndedError


class DaemonError(ChatError):
    """A failure that has to do with the daemon."""


class InvalidAddressError(DaemonError):
    """The address in the settings or in the environment can't be used."""

    remedy = "Set it to one like http://127.0.0.1:4170."


class UnreachableError(DaemonError):
    """Nothing listens at the address, or the network refuses."""

    remedy = "Start `qwen serve` there, or correct the address in the settings."
    final = False
    agent_may_change = True

    def __init__(self, url: str) -> None:
        super().__init__(f"No daemon answers at {url}.")


class NotADaemonError(DaemonError):
    """Something else answers at the address."""

    remedy = "Correct the address in the settings, or start `qwen serve` on another port."

    def __init__(self, url: str) -> None:
        super().__init__(f"What answers at {url} is not `qwen serve`.")


class UnauthorizedError(DaemonError):
    """401: the token is missing or wrong."""

    def __init__(self, *, had_token: bool) -> None:
        if had_token:
            super().__init__(
                "The daemon refuses the token.", "Set the token to what `QWEN_SERVER_TOKEN` was when it started."
            )
        else:
            super().__init__("The daemon wants a token.", "Set QWEN_SERVER_TOKEN in the environment of Sublime Text.")


class ForbiddenError(DaemonError):
    """403: the daemon takes no request like this from here."""

    remedy = "Use the address that it prints at its start, or the rights that it asks for."

    def __init__(self, reason: str) -> None:
        super().__init__(f"The daemon refuses the request: {reason}.")


class UntrustedWorkspaceError(DaemonError):
    """403 `untrusted_workspace`."""

    remedy = "Trust the folder in Qwen Code first: /trust in its terminal."

    def __init__(self) -> None:
        super().__init__("The daemon doesn't trust this folder.")


class WorkspaceMismatchError(DaemonError):
    """The daemon runs in another folder than the window."""

    def __init__(self, folder: str, bound: Sequence[str]) -> None:
        self.folder = folder
        self.bound = tuple(bound)
        super().__init__(
            f"The daemon works in {', '.join(bound) or 'another folder'}, not in {folder}.",
            "Start `qwen serve` in this folder, or open its folder in a window.",
        )


class QueueFullError(DaemonError):
    """503 `prompt_queue_full`."""

    remedy = "Wait until one is through, or remove one."
    final = False

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        super().__init__(f"The queue is full{f': it takes {limit}, with the one that runs' if limit else ''}.")


class BusyError(DaemonError):
    """429 or 503: too many sessions, listeners or requests."""

    remedy = "Close another session or client, or try again later."
    final = False

    def __init__(self, reason: str, retry_after: float | None = None, *, may_have_arrived: bool = False) -> None:
        self.retry_after = retry_after
        """Seconds that the daemon asks to wait."""
        self.may_have_arrived = may_have_arrived
        super().__init__(f"The daemon has too much to do: {reason}.")


class UpstreamError(DaemonError):
    """502 `upstream_error`: a service that the daemon needs has failed."""

    remedy = "Check whether it can be reached from the daemon's machine, then try again."

    def __init__(self, reason: str) -> None:
        super().__init__(f"The service that signs you in doesn't answer as it should: {reason}.")


class TroubleError(DaemonError):
    """A daemon that is known answers something else, for example because a proxy before it can't reach it."""

    final = False
    may_have_arrived = True

    def __init__(self, status: int, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        """Seconds that it asks to wait."""
        super().__init__(f"The daemon doesn't answer as it should ({status}).")


class RefusedError(DaemonError):
    """Any other answer that is no success."""

    def __init__(self, status: int, reason: str, code: str | None = None) -> None:
        self.status = status
        self.final = status < 500
        self.may_have_arrived = status >= 500
        self.is_conflict = status == HTTPStatus.CONFLICT
        self.code = code
        super().__init__(f"The daemon refuses ({status}): {reason}.")


class NoQwenError(DaemonError):
    """There is no Qwen Code to start."""

    remedy = "Install it (npm install -g @qwen-code/qwen-code), or set “qwen_command” to its path."

    def __init__(self, program: str) -> None:
        super().__init__(f"“{program}” is not {on_the_path()}.")


class QwenTooOldError(DaemonError):
    """This Qwen Code has no `serve`, or one that is too old."""

    remedy = "Update it: npm install -g @qwen-code/qwen-code@latest."

    def __init__(self, version: str) -> None:
        super().__init__(f"Qwen Code {version} is too old for a chat, which needs 0.21.2 or later.")


class NoNodeError(DaemonError):
    """There is no Node.js to run Qwen Code."""

    remedy = "Install Node.js 22 or later, or add its folder to a PATH."

    def __init__(self) -> None:
        super().__init__(f"Qwen Code needs Node.js, which is not {on_the_path()}.")


class NodeTooOldError(DaemonError):
    """Qwen Code needs a newer Node.js."""

    remedy = "Install Node.js 22 or later."

    def __init__(self, version: str) -> None:
        super().__init__(f"Node.js {version} is too old for `qwen serve`.")


class DaemonStartError(DaemonError):
    """The daemon ended before it listened on its port."""

    remedy = "Run `qwen serve` in a terminal to see more."

    def __init__(self, last_line: str) -> None:
        super().__init__(f"`qwen serve` ended as soon as it was started{f': {last_line}' if last_line else ''}.")


class NotListeningError(DaemonError):
    """The daemon runs, but doesn't listen."""

    remedy = "Run `qwen serve` in a terminal to see why."

    def __init__(self, seconds: float) -> None:
        super().__init__(f"`qwen serve` didn't listen within {seconds:.0f} s.")


class DaemonEndedError(DaemonError):
    """The private daemon has ended, and not because we wanted it to."""

    remedy = "Reconnect to start it again and to resume the conversation."

    def __init__(self) -> None:
        super().__init__("`qwen serve` has ended unexpectedly.")


class ClosedError(SessionEndedError):
    """A client has closed the session."""

    def __init__(self, client: str) -> None:
        self.client = client
        super().__init__("Another client has closed the session.")


class DisabledError(DaemonError):
    """The chat is off, which is the default."""

    remedy = "Set “chat_enabled” to true in the settings, then reconnect."

    def __init__(self) -> None:
        super().__init__("The chat is off.")


def missing_feature(feature: str, sentence: str = "") -> MissingFeatureError:
    """The daemon lacks something that is needed."""
    sentence = sentence or f"This Qwen Code can't do that: its daemon has no “{feature}”."
    return MissingFeatureError(feature, sentence, "Update Qwen Code: npm install -g @qwen-code/qwen-code@latest.")
