"""What is in the prompt of a chat whose tab closes: kept on the window, and in the prompt of its next chat again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sublime

from ...chat.prompt import Draft, Excerpt
from .text import prompt_start

if TYPE_CHECKING:
    from collections.abc import Mapping

RECALL_SETTING = "qwen_companion.chat_recall"
"""On a chat's view: the prompts that can be recalled, and what the person has made of them."""
ATTACHED_SETTING = "qwen_companion.chat_attached"
"""On a chat's view: what goes with the prompt."""
_KEPT_SETTING = "qwen_companion.chat_kept"
"""On a window: what was in the prompts of the chats whose tabs were closed, the latest last."""


def keep(view: sublime.View) -> None:
    """A chat's view is about to close, perhaps one that no chat has gone on with since a restart."""
    window = view.window()
    if window is None:
        return
    settings = view.settings()
    kept = {
        "text": view.substr(sublime.Region(prompt_start(view), view.size())),
        "attached": settings.get(ATTACHED_SETTING),
        "recall": settings.get(RECALL_SETTING),
    }
    if any(kept.values()):
        window.settings().set(_KEPT_SETTING, [*_kept(window), kept])


def give_back(window: sublime.Window, view: sublime.View) -> list[Draft]:
    """What was kept, for the chat that is to be in this view. It is the taker's from now on."""
    all_kept = _kept(window)
    window.settings().erase(_KEPT_SETTING)
    drafts: list[Draft] = []
    for kept in reversed(all_kept):
        texts = [kept["text"]]
        if view.settings().has(RECALL_SETTING):
            texts[:0] = (kept["recall"] or {}).get("edits", {}).values()
        elif kept["recall"]:
            view.settings().set(RECALL_SETTING, kept["recall"])
        drafts.append(Draft("\n".join(texts), *attached(kept["attached"])))
    return drafts


def _kept(window: sublime.Window) -> list[dict[str, Any]]:
    kept: Any = window.settings().get(_KEPT_SETTING, [])
    return kept


def attached(setting: Mapping[str, Any] | None) -> tuple[tuple[Excerpt, ...], tuple[str, ...]]:
    """What the setting says that goes with a prompt: selections and pictures."""
    excerpts, pictures = (setting["excerpts"], setting["pictures"]) if setting else ((), ())
    return tuple(Excerpt(*excerpt) for excerpt in excerpts), tuple(pictures)
