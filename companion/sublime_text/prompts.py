"""What the person puts into the prompt of an agent: comments, actions.

`recipients` are those that could be meant. Nothing is submitted in a terminal: the person presses Enter there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import sublime

from ..clis import screen
from ..clis.families import FAMILIES, CliFamily
from ..clis.shell import named
from ..visible import ShownText
from . import package
from .chat.view import ChatView, used_at
from .panels import PanelItem, choose
from .terminal import terminals
from .terminal.terminals import Terminal

if TYPE_CHECKING:
    from ..chats.prompt import Excerpt
    from .chat.chats import ChatViews


def prompt_text(view: sublime.View, families: Sequence[CliFamily] = FAMILIES) -> str | None:
    """The text in the prompt that a terminal ends with; None if there is no prompt, as while a question is asked."""
    first = max(0, view.rowcol(view.size())[0] - screen.HEIGHT)
    lines = view.substr(sublime.Region(view.text_point(first, 0), view.size())).split("\n")
    return screen.prompt_text(lines, [layout for family in families for layout in family.layouts])


LOOK = 100
"""Milliseconds between two looks at a terminal."""
LOOKS = 30
"""Looks at a terminal until a paste counts as not taken."""
NO_PROMPT = "{title} shows no prompt, so nothing was typed."
NO_EMPTY_PROMPT = "{title} shows no empty prompt, so nothing was typed."
NOT_TAKEN = "{title} has not taken the text."


def paste(
    target: Terminal,
    window: sublime.Window,
    text: ShownText,
    done: Callable[[str], object],
    looks: int = 1,
    *,
    focuses: bool = True,
    adds: bool = False,
) -> None:
    """Paste a text into a CLI's prompt once that is empty; there are as many looks at it.

    With `adds`, for a text of one line that can stand in a sentence, the prompt may have a text already. `done` gets a
    sentence if that fails, and nothing if the prompt has the text. The terminal gets the focus if its prompt can take
    the text at once: later the person may be typing elsewhere.
    """
    adapter, pty = package.adapter(), terminals.pty_of(target.view)
    families = (target.family,) if target.family else FAMILIES

    def looked(family: CliFamily | None) -> None:
        if family and _can_take(target, (family,), adds):
            if focuses or not target.tag:
                terminals.show(target, window)
            # Terminus knows only after this which terminal has the focus.
            sublime.set_timeout(lambda: _type(target, window, text, family, done, adds))
        else:
            again()

    def again() -> None:
        if target.view.is_valid() and looks > 1:
            retry = partial(paste, target, window, text, done, looks - 1, focuses=False, adds=adds)
            sublime.set_timeout(retry, LOOK)
        else:
            done(_refusal(target, adds))

    if adapter and pty and _can_take(target, families, adds):
        adapter.on_another_thread(lambda: _in_front(pty, families), looked)
    else:
        again()


def _in_front(pty: terminals.Pty, families: tuple[CliFamily, ...]) -> CliFamily | None:
    """The CLI in front of a terminal; None if it is another program, or if nobody knows. Asks the system."""
    try:
        from ..clis import processes  # noqa: PLC0415 - psutil may be missing, and takes its time

        found = processes.cli_in_front(pty.pid, pty.descriptor, families)
    except (ImportError, OSError, RuntimeError):
        return None
    return found[0] if found else None


def _can_take(target: Terminal, families: tuple[CliFamily, ...], adds: bool) -> bool:
    text = _text_in(target, families)
    return text == "" or (adds and text is not None)


def _text_in(target: Terminal, families: tuple[CliFamily, ...]) -> str | None:
    return prompt_text(target.view, families) if target.view.is_valid() else None


def _refusal(target: Terminal, adds: bool) -> str:
    return (NO_PROMPT if adds else NO_EMPTY_PROMPT).format(title=target.title)


def _type(
    target: Terminal,
    window: sublime.Window,
    text: ShownText,
    family: CliFamily,
    done: Callable[[str], object],
    adds: bool,
) -> None:
    before = _text_in(target, (family,))
    if window.is_valid() and _can_take(target, (family,), adds) and terminals.send(target, window, text):
        _when_taken(target, family, before, done)
    else:
        done(_refusal(target, adds))


def _when_taken(
    target: Terminal, family: CliFamily, before: str | None, done: Callable[[str], object], looks: int = LOOKS
) -> None:
    """Look until the prompt has another text than before the paste. A long one shows only a part of what is in it."""

    def look() -> None:
        if target.view.is_valid() and prompt_text(target.view, (family,)) != before:
            done("")
        elif looks <= 1 or not target.view.is_valid():
            done(NOT_TAKEN.format(title=target.title))
        else:
            _when_taken(target, family, before, done, looks - 1)

    sublime.set_timeout(look, LOOK)


def add_to_prompt(chat: ChatView, text: str, excerpts: list[Excerpt]) -> None:
    """Add a text and what goes with it to a chat's prompt, where the person sees and sends them."""
    prompt = chat.text.prompt
    blank = "" if not prompt or prompt.endswith("\n") else "\n"
    chat.text.write(f"{prompt}{blank}{text}\n")
    known = {(each.uri, each.text) for each in chat.excerpts}
    chat.excerpts += [each for each in excerpts if (each.uri, each.text) not in known]
    chat.attached_changed()


@dataclass(frozen=True)
class Recipient:
    """A CLI in a terminal, or a chat."""

    target: Terminal | ChatView
    agent: str
    """Its name; empty if nobody knows what runs in a terminal."""
    used_at: int
    """When it had the focus last, in Unix milliseconds; 0 for never."""

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return self.agent or (self.target.title if isinstance(self.target, Terminal) else "")

    @property
    def title(self) -> str:
        """What to call it in a list."""
        return self.target.title if isinstance(self.target, Terminal) else f"the chat with {self.agent}"

    @property
    def folder(self) -> str:
        """The folder that it works in."""
        return self.target.folder


def recipients(chats: ChatViews, window: sublime.Window, *, waits: bool = False) -> list[Recipient]:
    """All of a window, the one used last first.

    Terminals that the person opened by hand count if they show a CLI's empty prompt, or if it `waits` for that.
    """
    found = [
        Recipient(one, one.family.name if one.family else "", one.focused_at // 1_000_000)
        for one in terminals.running(window)
    ]
    found += [Recipient(one, "", 0) for one in terminals.others(window) if waits or prompt_text(one.view) == ""]
    chats.last(window)  # takes over one from before a restart
    found += [Recipient(chat, chat.agent, used_at(chat.view)) for chat in chats.within(window)]
    return sorted(found, key=lambda one: -one.used_at)


def meant(found: Sequence[Recipient], agent: str = "") -> list[Recipient]:
    """Which of all is meant: those of an agent, else the one used last; several if that isn't clear."""
    own = [one for one in found if agent and one.agent == agent]
    if own:
        return own
    unknown = [one for one in found if not one.agent]
    if agent and unknown:
        return unknown
    if agent or not found or not found[0].used_at:
        return list(found)
    return [found[0]]


def choose_recipient(
    window: sublime.Window, found: Sequence[Recipient], give: Callable[[Recipient], object], placeholder: str
) -> None:
    """Give something to the one that is meant; ask which, if there are several."""
    if len(found) == 1:
        give(found[0])
    else:
        items: list[PanelItem] = [(f"Send to {one.title}", one.folder, partial(give, one)) for one in found]
        choose(window, items, placeholder)


def named_in(target: Terminal, path: str, lines: Sequence[tuple[int, int]]) -> str:
    """A file, and lines of it from 1, as they are named in the prompt of a CLI in a terminal."""
    return named(path, target.folder, target.family.launch if target.family else None, lines)
