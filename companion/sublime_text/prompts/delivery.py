"""Puts a text into the prompt of a CLI in a terminal, as one paste that doesn't submit, or into a chat."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sublime

from ..terminal import terminals
from .screen import has_empty_prompt

if TYPE_CHECKING:
    from ...chats.prompt import Excerpt
    from ..chat.view import ChatView
    from ..terminal.terminals import Terminal

LOOK = 100
"""Milliseconds between two looks at a terminal."""
LOOKS = 30
"""Looks at a terminal until a paste counts as not taken."""
NO_PROMPT = "{title} shows no empty prompt, so nothing was typed."
NOT_TAKEN = "{title} has not taken the text."


def paste(
    target: Terminal,
    window: sublime.Window,
    text: str,
    done: Callable[[str], object],
    looks: int = 1,
    *,
    focuses: bool = True,
) -> None:
    """Paste a text into a CLI's prompt once that is empty; there are as many looks at it.

    `done` gets a sentence if that fails, and nothing if the prompt has the text. The terminal gets the focus if its
    prompt is empty at once: later the person may be typing elsewhere.
    """
    if target.view.is_valid() and has_empty_prompt(target.view):
        terminals.send(target, window, text, focuses=focuses)
        _when_taken(target, done)
    elif target.view.is_valid() and looks > 1:
        sublime.set_timeout(lambda: paste(target, window, text, done, looks - 1, focuses=False), LOOK)
    else:
        done(NO_PROMPT.format(title=target.title))


def _when_taken(target: Terminal, done: Callable[[str], object], looks: int = LOOKS) -> None:
    """Look until the prompt isn't empty any more."""

    def look() -> None:
        if target.view.is_valid() and not has_empty_prompt(target.view):
            done("")
        elif looks <= 1 or not target.view.is_valid():
            done(NOT_TAKEN.format(title=target.title))
        else:
            _when_taken(target, done, looks - 1)

    sublime.set_timeout(look, LOOK)


def add_to_prompt(chat: ChatView, text: str, excerpts: list[Excerpt]) -> None:
    """Add a text and what goes with it to a chat's prompt, where the person sees and sends them."""
    prompt = chat.text.prompt
    blank = "" if not prompt or prompt.endswith("\n") else "\n"
    chat.text.write(f"{prompt}{blank}{text}\n")
    known = {(each.uri, each.text) for each in chat.excerpts}
    chat.excerpts += [each for each in excerpts if (each.uri, each.text) not in known]
    chat.attached_changed()
