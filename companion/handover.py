"""What one instance of the package leaves for the next one in the same process, so that no CLI notices a reload.

A listening socket goes on to take connections while nobody serves it: the kernel queues them. With the tokens and the
session ids the next instance can answer as if it had always been there (`server.app` takes sessions up again).

It is kept in `sys.modules`, as plain data: whatever else belongs to an instance goes with it.
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
"""Seconds until what nobody has taken is given up: the package was removed, not reloaded."""


@dataclass(frozen=True)
class Inheritance:
    """One window's place on the loopback interface, as the last instance left it."""

    listener: socket.socket
    tokens: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """From the name of a CLI family to its token."""
    sessions: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """From the ids of sessions, as their CLIs know them, to the names of the families."""
    folders_since: dict[str, float] = field(default_factory=dict[str, float])
    """Since when each folder is told to CLIs, as a Unix time in seconds."""
    chat: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """What its chat needs to go on (`WindowChat.stop`); empty without one."""


class _Holder(ModuleType):
    windows: dict[int, tuple[Any, ...]]
    timer: threading.Timer


def leave(left: dict[int, Inheritance], end_chat: EndChat = lambda _: None) -> None:
    """Leave the places of some windows to the next instance. `end_chat` ends what is left of a chat to nobody."""
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
    """What the last instance has left, by window. It is the taker's from now on."""
    holder = sys.modules.pop(HOLDER, None)
    if holder is None:
        return {}
    holder.timer.cancel()
    return {window: Inheritance(*one) for window, one in holder.windows.items()}


def give_up(left: dict[int, Inheritance], end_chat: EndChat = lambda _: None) -> None:
    """Close what is left to nobody."""
    for one in left.values():
        one.listener.close()
        if one.chat:
            end_chat(one.chat)
