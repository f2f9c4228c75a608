"""What a person writes into a chat: slash commands, earlier prompts, and what is kept when the tab closes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sublime

from ...chats.prompt import Draft, Excerpt
from ..windows import CHAT_AGENT_SETTING, CHAT_FOLDER_SETTING
from .text import prompt_start

_OPEN_COMMAND = re.compile(r"/(\S*)$")
KEPT = 50
"""How many of the latest prompts can be recalled."""
REMEMBERED_LENGTH = 10_000
"""Characters of a prompt that can be recalled after a reload: settings are read and written as a whole."""
RECALL_SETTING = "qwen_companion.chat_recall"
"""On a chat's view: the prompts that can be recalled, and their edits."""
ATTACHED_SETTING = "qwen_companion.chat_attached"
"""On a chat's view: what goes with the prompt."""
SESSION_SETTING = "qwen_companion.chat_session"
"""On a chat's view: the id of its session, to be resumed. Sublime keeps it over restarts."""
CHOSEN_SETTING = "qwen_companion.chat_chosen"
"""On a chat's view: what the person has chosen for its session, as a dict (`companion.chats.chosen`)."""
_KEPT_SETTING = "qwen_companion.chat_kept"
"""On a window: what the chats had whose tabs were closed, the latest last."""


def open_command(before: str) -> str | None:
    """The incomplete name of the slash command at the beginning of a prompt; None if there is none."""
    found = _OPEN_COMMAND.match(before)
    return found[1] if found else None


class Recall:
    """The prompts that were sent, the latest last, and which of them is in the input.

    Edits of an earlier prompt, and the draft behind the last one, are kept until they are sent.
    """

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        """`state` is that of an earlier instance."""
        state = state or {}
        self.sent: list[str] = list(state.get("sent", ()))
        self._edits: dict[str, str] = dict(state.get("edits", {}))
        """By the prompt as it was sent; the draft's is that of none."""
        self._current: str = state.get("current", "")

    @property
    def state(self) -> dict[str, Any]:
        """All of it as plain data, without long prompts that are neither edited nor recalled."""
        needed = {self._current, *self._edits}
        sent = [prompt for prompt in self.sent if len(prompt) <= REMEMBERED_LENGTH or prompt in needed]
        return {"sent": sent, "edits": dict(self._edits), "current": self._current}

    @property
    def is_recalling(self) -> bool:
        """Whether an earlier prompt is in the input."""
        return bool(self._current)

    def add(self, prompt: str) -> str:
        """The input was sent. Returns the draft to put there next."""
        self._edits.pop(self._current, None)
        if prompt.strip():
            self.sent = [*(one for one in self.sent if one != prompt), prompt][-KEPT:]
        self._current = ""
        self._edits = {one: edited for one, edited in self._edits.items() if one in self.sent or not one}
        return self._edits.pop("", "")

    def step(self, by: int, current: str) -> str | None:
        """The prompt `by` steps further, or the draft behind the last one; None at either end.

        `current` is what is in the input.
        """
        rows = [*self.sent, ""]
        at = rows.index(self._current) + by
        if not 0 <= at < len(rows):
            return None
        if current.strip() and current != self._current:
            self._edits[self._current] = current
        self._current = rows[at]
        return self._edits.pop(self._current, self._current)


def keep(view: sublime.View) -> None:
    """Keep what a chat has whose view is about to close, even one that was not taken over since a restart.

    That is its prompt, and the id of its session.
    """
    window = view.window()
    if window is None:
        return
    settings = view.settings()
    prompt = {
        "text": view.substr(sublime.Region(prompt_start(view), view.size())),
        "attached": settings.get(ATTACHED_SETTING),
        "recall": settings.get(RECALL_SETTING),
    }
    session = settings.get(SESSION_SETTING)
    if session or any(prompt.values()):
        agent, folder = settings.get(CHAT_AGENT_SETTING) or "", settings.get(CHAT_FOLDER_SETTING) or ""
        chosen = settings.get(CHOSEN_SETTING) or {}
        kept = {**prompt, "session": session or "", "agent": agent, "folder": folder, "chosen": chosen}
        window.settings().set(_KEPT_SETTING, [*_kept(window), kept])


def kept_session(window: sublime.Window, folder: str, agent: str) -> tuple[str, dict[str, Any]]:
    """The session of the tab that was closed last, with this agent and in this folder, and what was chosen for it.

    Both are empty for none.
    """
    all_kept = reversed(_kept(window))
    found = next((kept for kept in all_kept if (kept["agent"], kept["folder"]) == (agent, folder)), None)
    return (found["session"], found.get("chosen") or {}) if found else ("", {})


def give_back(window: sublime.Window, view: sublime.View) -> list[Draft]:
    """Take the prompts that were kept, for the chat in this view: those that were written to its agent."""
    agent = view.settings().get(CHAT_AGENT_SETTING) or ""
    all_kept = _kept(window)
    window.settings().set(_KEPT_SETTING, [kept for kept in all_kept if kept["agent"] != agent])
    drafts: list[Draft] = []
    for kept in all_kept:
        if kept["agent"] != agent:
            continue
        texts = [kept["text"]]
        if view.settings().has(RECALL_SETTING):
            texts[:0] = (kept["recall"] or {}).get("edits", {}).values()
        elif kept["recall"]:
            view.settings().set(RECALL_SETTING, kept["recall"])
        draft = Draft("\n".join(texts), *attached(kept["attached"]))
        if draft.text or draft.excerpts or draft.pictures:
            drafts.append(draft)
    return drafts


def _kept(window: sublime.Window) -> list[dict[str, Any]]:
    kept: Any = window.settings().get(_KEPT_SETTING, [])
    # A version of the package with one chat in a window has kept the prompt alone.
    return [{"session": "", "agent": "", "folder": "", **each} for each in kept]


def attached(setting: Mapping[str, Any] | None) -> tuple[tuple[Excerpt, ...], tuple[str, ...]]:
    """The selections and pictures in the setting."""
    excerpts, pictures = (setting["excerpts"], setting["pictures"]) if setting else ((), ())
    return tuple(Excerpt(*excerpt) for excerpt in excerpts), tuple(pictures)
