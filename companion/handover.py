"""What one instance of the package hands over to the next one in the same process, so that no CLI notices a reload.

A listening socket continues to accept connections while nobody serves it: the kernel queues them. With the tokens and
the session ids, the next instance can answer as if nothing had happened (`server.resumed`).

The data are kept in `sys.modules` as plain values, because the modules of an instance go with it.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

HOLDER = "_qwen_companion_handover"
EndChat = Callable[[dict[str, Any]], object]
LIMIT = 30.0
"""Seconds after which the data are given up: the package was removed, not reloaded."""


@dataclass(frozen=True)
class Inheritance:
    """One window's endpoint, as the previous instance left it."""

    listener: socket.socket
    tokens: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """From the name of a CLI family to its token."""
    sessions: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """From the session ids that the CLIs know to the names of the families."""
    folders_since: dict[str, float] = field(default_factory=dict[str, float])
    """Since when each folder has been published, as a Unix time in seconds."""
    chat: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """What its chat needs to continue (`WindowChat.stop`); empty without a chat."""


class _Holder(ModuleType):
    windows: dict[int, tuple[Any, ...]]
    timer: threading.Timer


def leave(left: dict[int, Inheritance], end_chat: EndChat = lambda _: None) -> None:
    """Hand over the endpoints of these windows. `end_chat` ends a chat that no next instance takes."""
    give_up(take(), end_chat)
    holder = _Holder(HOLDER)
    holder.windows = {
        window: (one.listener, one.tokens, one.sessions, one.folders_since, one.chat) for window, one in left.items()
    }
    holder.timer = threading.Timer(LIMIT, lambda: give_up(take(), end_chat))
    holder.timer.daemon = True
    holder.timer.start()
    sys.modules[HOLDER] = holder


def take() -> dict[int, Inheritance]:
    """What the previous instance handed over, by window. The caller owns it from now on."""
    holder = sys.modules.pop(HOLDER, None)
    if holder is None:
        return {}
    holder.timer.cancel()
    return {window: Inheritance(*one) for window, one in holder.windows.items()}


def give_up(left: dict[int, Inheritance], end_chat: EndChat = lambda _: None) -> None:
    """Close what no instance takes."""
    for one in left.values():
        one.listener.close()
        if one.chat:
            end_chat(one.chat)
