"""What single agents do beyond the protocol, with their own names. No other module of this room knows them.

Seen in Qwen Code 0.24.4 (`chunks/acpAgent-*.js`) and Gemini CLI 0.61.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...json_text import as_object
from ..wire import texts
from .schema import AuthMethod, Initialized

DRAIN = "craft/drainMidTurnQueue"
"""Qwen Code asks between two steps of a turn for messages that the person has sent into it."""
STEERING = "_session/steering"
"""Takes a message into the turn that runs: Claude Agent 0.101.0 (`dist/acp-agent.js`) and Codex 2.6.0 have it."""
_SPEAKS = {"--acp", "--experimental-acp", "acp", "--stdio"}
"""The words of a command that have an agent speak the protocol."""
_INSTALLERS = {"npx", "bunx", "uvx", "pipx"}
_INSTALLING = (["npm", "exec"], ["pnpm", "dlx"], ["yarn", "dlx"], ["uv", "tool"], ["bun", "x"])
_CONTEXT = ("<session_context>", "</session_context>")


def can_steer(agent: Initialized) -> bool:
    """Whether an agent takes messages into the turn that runs, by `STEERING`."""
    return as_object(agent.meta.get("steering")).get("supported") is True


def steering(session: str, message: str) -> Mapping[str, Any]:
    """The parameters of `STEERING`. Where no turn runs, the agent is to leave the message to us."""
    prompt = [{"type": "text", "text": message}]
    return {"sessionId": session, "prompt": prompt, "_meta": {"steering": {"idleBehavior": "promptRequired"}}}


def installs(command: Sequence[str]) -> bool:
    """Whether a command has a program installed before it runs: npx, uvx and the like."""
    words = [os.path.basename(word).removesuffix(".cmd").removesuffix(".exe") for word in command[:2]]
    return bool(words) and (words[0] in _INSTALLERS or words in _INSTALLING)


def drained(messages: Sequence[str]) -> Mapping[str, Any]:
    """The answer to `DRAIN`."""
    return {"messages": list(messages), "hasQueuedPrompt": False}


def pause_before_load(agent: str, begun: float, now: float) -> float:
    """Seconds to wait before a session is loaded that was begun at a time. Both times are Unix times.

    Gemini CLI 0.61 begins a file when it loads a session, named after the minute in UTC and the session. Within the
    minute in which the session was begun that is the session's own file, which it empties.
    """
    if agent != "gemini-cli" or now // 60 != begun // 60:
        return 0.0
    return 60 - now % 60 + 1


def written(params: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether a new file should begin with a byte order mark, and whether its lines should end as on Windows."""
    meta = _meta(params)
    return meta.get("bom") is True, meta.get("lineEnding") == "crlf"


def login(command: Sequence[str], method: AuthMethod) -> tuple[str, ...] | None:
    """The command of a login in a terminal that isn't one by the protocol; None if it is no such login.

    Qwen Code has the kind and the arguments of a method in its `_meta`, others a command there,
    as Zed takes it. That is the agent's own program: ours is run with its arguments, and never another one.
    """
    own = tuple(word for word in command if word not in _SPEAKS)
    terminal = as_object(method.meta.get("terminal-auth"))
    if arguments := texts(terminal.get("args")):
        # An interpreter is given the path of the program first.
        is_path = os.path.isabs(arguments[0])
        return (*own, *arguments[is_path:])
    if method.meta.get("type") != "terminal":
        return None
    return (*own, *texts(method.meta.get("args")))


def is_own_context(update: Mapping[str, Any]) -> bool:
    """Whether a prompt of a history is what Gemini CLI has told its model, not the person's words."""
    text = as_object(update.get("content")).get("text")
    return isinstance(text, str) and text.startswith(_CONTEXT[0]) and text.rstrip().endswith(_CONTEXT[1])


def _meta(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_object(fields.get("_meta"))


class TerminalNews(NamedTuple):
    """What an agent says of a terminal of its own."""

    terminal: str
    text: str = ""
    """What has come since."""
    has_ended: bool = False


def terminal_news(update: Mapping[str, Any]) -> TerminalNews | None:
    """What an update of a tool call says of a terminal that the agent runs: Zed's convention, which Codex follows."""
    meta = _meta(update)
    ended = as_object(meta.get("terminal_exit"))
    for name in ("terminal_output", "terminal_output_delta"):
        said = as_object(meta.get(name))
        terminal, text = said.get("terminal_id"), said.get("data")
        if isinstance(terminal, str) and isinstance(text, str):
            return TerminalNews(terminal, text, has_ended=bool(ended))
    for said in (ended, as_object(meta.get("terminal_info"))):
        if isinstance(terminal := said.get("terminal_id"), str):
            return TerminalNews(terminal, has_ended=bool(ended))
    return None
