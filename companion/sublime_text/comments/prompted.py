"""The comments that stand in the prompts of chats: they are sent with the prompt, and not before."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import sublime

from ...comments.message import words
from ..chat.text import prompt_start
from ..windows import is_chat

if TYPE_CHECKING:
    from ...comments.comment import Comment
    from ...comments.comments import Comments


SENT_KEPT = 50
"""Prompts that are remembered, with the comments in them: one that can't be sent comes back."""


class PromptedComments:
    """Knows those in a prompt by their words, and those sent with one by their ids. Lives on the UI thread."""

    def __init__(self, comments: Comments) -> None:
        self._comments = comments
        self._began = time.time()
        self._sent: deque[tuple[str, str, list[str]]] = deque(maxlen=SENT_KEPT)
        """The agent, the prompt's text, and the ids of the comments in it: the latest last."""

    def look(self) -> None:
        """Comments that stand in no prompt any more are to be sent again."""
        if held := self._find(lambda comment: comment.is_in_prompt and not comment.is_sent):
            prompts = [_prompt(view) for window in sublime.windows() for view in window.views() if is_chat(view)]
            gone = [comment.id for comment in held if not any(words(comment) in prompt for prompt in prompts)]
            self._comments.release(gone)

    def sent(self, agent: str, text: str) -> list[Comment]:
        """A prompt was sent: so were the comments in it. Returns them."""
        held = self._find(lambda comment: comment.is_in_prompt and not comment.is_sent and comment.to == agent)
        found = [comment for comment in held if words(comment) in text]
        ids = [comment.id for comment in found]
        self._comments.sent(ids, agent)
        self._sent.append((agent, text, ids))
        return found

    def returned(self, agent: str | None, text: str) -> set[str]:
        """A prompt is back in the chat: so are the comments that were sent with it. Returns their files.

        Without an agent the chat has closed: the comments are to be sent again.
        """
        prompt = next((each for each in reversed(self._sent) if agent in (None, each[0]) and each[1] == text), None)
        if prompt:
            self._sent.remove(prompt)
            ids = set(prompt[2])
        else:
            ids = self._sent_before(agent, text)
        found = self._find(lambda comment: comment.id in ids and comment.is_sent and not comment.is_in_prompt)
        if agent is None:
            self._comments.release([comment.id for comment in found])
        else:
            self._comments.hold([comment.id for comment in found], agent)
        return {comment.path for comment in found}

    def _sent_before(self, agent: str | None, text: str) -> set[str]:
        """The comments of a prompt that was sent before a reload of the package: those sent last that it quotes."""
        found = self._find(
            lambda comment: agent in (None, comment.to) and 0 < comment.sent < self._began and words(comment) in text
        )
        latest = max((comment.sent for comment in found), default=0.0)
        return {comment.id for comment in found if comment.sent == latest}

    def _find(self, wanted: Callable[[Comment], bool]) -> list[Comment]:
        return [comment for comment in self._comments if wanted(comment)]


def _prompt(view: sublime.View) -> str:
    return view.substr(sublime.Region(prompt_start(view), view.size()))
