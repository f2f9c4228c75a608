"""What a person writes into a chat: slash commands, earlier prompts, and what is kept when the tab closes."""

from __future__ import annotations

import re
from typing import Any, cast

import sublime

from ...chats.prompt import Draft, Excerpt
from ..own_views import VIEWS
from .text import prompt_start

_OPEN_COMMAND = re.compile(r"/(\S*)$")
KEPT = 50
"""How many of the latest prompts can be recalled."""
REMEMBERED_LENGTH = 10_000
"""Characters of a prompt that can be recalled after a reload: settings are read and written as a whole."""
_KEPT = "chats"
"""Remembered of a window: what the chats had whose tabs were closed, the latest last, as dictionaries."""
_FIELDS = {"text", "attached", "recall", "session", "agent", "folder", "chosen", "name"}
_WORDS = ("text", "session", "agent", "folder", "name")
"""Those of them that are texts."""
MOST_KEPT = 50
"""How many of them."""


def open_command(before: str) -> str | None:
    """The incomplete name of the slash command at the beginning of a prompt; None if there is none."""
    found = _OPEN_COMMAND.match(before)
    return found[1] if found else None


class Recall:
    """The prompts that were sent, the latest last, and which of them is in the input.

    Edits of an earlier prompt, and the draft behind the last one, are kept until they are sent.
    """

    def __init__(self, state: object = None) -> None:
        """`state` is that of an earlier instance, from a file: what it isn't counts as nothing."""
        found, current = _record(state), _record(state).get("current")
        edits = _record(found.get("edits"))
        self.sent = _texts(found.get("sent"))
        self._edits = {one: edited for one, edited in edits.items() if isinstance(edited, str)}
        """By the prompt as it was sent; the draft's is that of none."""
        self._current: str = current if isinstance(current, str) and current in self.sent else ""

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
    window, own = view.window(), VIEWS.of(view)
    if window is None or own is None:
        return
    prompt = {
        "text": view.substr(sublime.Region(prompt_start(view), view.size())),
        "attached": own.get("attached"),
        "recall": own.get("recall"),
    }
    session = own.text("session")
    if session or any(prompt.values()):
        chat = {"session": session, "agent": own.text("agent"), "folder": own.text("folder")}
        kept = {**prompt, **chat, "chosen": own.get("chosen") or {}, "name": own.name}
        VIEWS.remember(window, _KEPT, [*_kept(window), kept][-MOST_KEPT:])


def kept_session(window: sublime.Window, folder: str, agent: str) -> tuple[str, dict[str, Any]]:
    """The session of the tab that was closed last, with this agent and in this folder, and what was chosen for it.

    Both are empty for none.
    """
    all_kept = reversed(_kept(window))
    found = next((kept for kept in all_kept if (kept["agent"], kept["folder"]) == (agent, folder)), None)
    return (found["session"], _record(found["chosen"])) if found else ("", {})


def give_back(window: sublime.Window, view: sublime.View) -> list[Draft]:
    """Take the prompts that were kept, for the chat in this view: those that were written to its agent.

    What was kept of this very tab is in it: the editor has brought it back, with its project.
    """
    own = VIEWS.of(view)
    if own is None:
        return []
    agent, all_kept = own.text("agent"), _kept(window)
    VIEWS.remember(window, _KEPT, [kept for kept in all_kept if kept["agent"] != agent])
    drafts: list[Draft] = []
    for kept in all_kept:
        if kept["agent"] != agent or kept["name"] == own.name:
            continue
        texts = [kept["text"]]
        if own.get("recall") is not None:
            texts[:0] = Recall(kept["recall"]).state["edits"].values()
        elif kept["recall"]:
            own.keep(recall=kept["recall"])
        draft = Draft("\n".join(texts), *attached(kept["attached"]))
        if draft.text or draft.excerpts or draft.pictures:
            drafts.append(draft)
    return drafts


def _kept(window: sublime.Window) -> list[dict[str, Any]]:
    found = map(_record, _list(VIEWS.remembered(window, _KEPT)))
    return [each for each in found if each.keys() >= _FIELDS and all(isinstance(each[name], str) for name in _WORDS)]


def attached(kept: object) -> tuple[tuple[Excerpt, ...], tuple[str, ...]]:
    """The selections and pictures in a chat's record; without those that are damaged."""
    found = _record(kept)
    excerpts = [each for each in map(_list, _list(found.get("excerpts"))) if len(each) in (3, 4)]
    whole = [each for each in excerpts if _texts(each[:3]) == each[:3]]
    return tuple(Excerpt(*each) for each in whole), tuple(_texts(found.get("pictures")))


def _record(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else []


def _texts(value: object) -> list[str]:
    return [each for each in _list(value) if isinstance(each, str)]
