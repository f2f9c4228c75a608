"""What can go wrong with a daemon, each with a sentence and a remedy for the person.

A failure has a class only if somebody tells it apart from others. No message holds a token, nor anything that the
daemon wrote beyond its own `error` text.
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


class TemporaryError(DaemonError):
    """The daemon can't be reached, or doesn't do it now; the next try may work."""

    final = False

    def __init__(
        self,
        sentence: str,
        remedy: str = "",
        *,
        retry_after: float | None = None,
        may_have_arrived: bool = False,
        agent_may_change: bool = False,
    ) -> None:
        self.retry_after = retry_after
        self.may_have_arrived = may_have_arrived
        self.agent_may_change = agent_may_change
        super().__init__(sentence, remedy)


class RefusedError(DaemonError):
    """An answer that is no success, and that says no more than this."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        self.final = status < 500
        self.may_have_arrived = status >= 500
        self.is_conflict = status == HTTPStatus.CONFLICT
        super().__init__(f"The daemon refuses ({status}): {reason}.")


class ClosedError(SessionEndedError):
    """A client has closed the session."""

    def __init__(self, client: str) -> None:
        self.client = client
        super().__init__("Another client has closed the session.")


def missing_feature(feature: str, what: str = "do that") -> MissingFeatureError:
    """The daemon lacks something that is needed; `feature` is its own name for that, if it has one."""
    why = f": its daemon has no “{feature}”" if feature else ""
    remedy = "Update Qwen Code: npm install -g @qwen-code/qwen-code@latest."
    return MissingFeatureError(f"This Qwen Code can't {what}{why}.", remedy)


def not_a_daemon(url: str) -> DaemonError:
    """Something else answers at the address."""
    remedy = "Correct the address in the settings, or start `qwen serve` on another port."
    return DaemonError(f"What answers at {url} is not `qwen serve`.", remedy)


def trouble(status: int, retry_after: float | None = None) -> TemporaryError:
    """A daemon that is known answers something else, for example because a proxy before it can't reach it."""
    sentence = f"The daemon doesn't answer as it should ({status})."
    return TemporaryError(sentence, retry_after=retry_after, may_have_arrived=True)


def works_elsewhere(folder: str, bound: Sequence[str]) -> DaemonError:
    """The daemon runs in other folders than the chat's."""
    return DaemonError(
        f"The daemon works in {', '.join(bound) or 'another folder'}, not in {folder}.",
        "Start `qwen serve` in this folder, or open its folder in a window.",
    )


def no_qwen(program: str) -> DaemonError:
    """There is no Qwen Code to start."""
    remedy = "Install it (npm install -g @qwen-code/qwen-code), or set “qwen_command” to its path."
    return DaemonError(f"“{program}” is not {on_the_path()}.", remedy)


def qwen_too_old(version: str) -> DaemonError:
    """This Qwen Code has no `serve`, or one that is too old."""
    sentence = f"Qwen Code {version} is too old for a chat, which needs 0.21.2 or later."
    return DaemonError(sentence, "Update it: npm install -g @qwen-code/qwen-code@latest.")


def ended() -> DaemonError:
    """The private daemon has ended, and not because we wanted it to."""
    remedy = "Reconnect to start it again and to resume the conversation."
    return DaemonError("`qwen serve` has ended unexpectedly.", remedy)


def not_started(last_line: str) -> DaemonError:
    """The daemon ended before it listened on its port."""
    why = f": {last_line}" if last_line else ""
    return DaemonError(
        f"`qwen serve` ended as soon as it was started{why}.", "Run `qwen serve` in a terminal to see more."
    )
