"""What the person puts into the prompt of a CLI or a chat: comments, problems, and their own actions.

The commands call `run`, which asks for what is missing and brings the prompt to its target.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import sublime
import sublime_plugin

from ..background import guarded
from ..chats import prompt
from ..clis import screen
from ..clis.families import FAMILIES, CliFamily
from ..clis.shell import below, named
from ..comments import MAX_QUOTED, Comment, message
from ..editor import WindowId
from ..problems import problems_text
from ..settings import Action, read_actions
from ..visible import ShownText, visible_name
from . import package
from .buffers import text_of, write_all
from .chat.opening import have_chat
from .chat.prompt import Recall, excerpt, send_prompt
from .chat.view import ChatView, used_at
from .own_views import VIEWS
from .panels import PanelItem, choose, say, to_clipboard
from .terminal import terminals
from .terminal.terminals import Terminal
from .windows import is_code, select, selected_lines

if TYPE_CHECKING:
    from ..chats.prompt import Excerpt
    from ..problems import Diagnostic, ShownProblems
    from .adapter import Adapter
    from .chat.chats import ChatViews

logger = logging.getLogger(__name__)

MAX_UNSAVED = 2_000
"""Lines of a selection that are quoted if the file on the disk hasn't got them."""


class PromptValues:
    """The variables at one moment."""

    def __init__(self, view: sublime.View, problems: Sequence[Diagnostic] = (), question: str = "") -> None:
        self._view = view
        self._problems = problems
        self._question = question
        selected = [region for region in view.sel() if not region.empty()]
        self._selected = selected[0] if selected else None

    def in_terminal(self, target: Terminal) -> dict[str, str]:
        """The texts for a CLI's prompt: a file after an @, and the selected lines quoted."""
        shown, path = partial(named_in, target), self._view.file_name()
        file = shown(path, []).strip() if path else self._name
        problems = problems_text(self._problems, shown)
        if self._selected is None:
            return self._all(file, file, problems)
        quoted = _lines(self._view, self._selected)
        place = quoted if path else Comment(self._name, quoted.first, quoted.lines, "")
        # The CLI reads the file from the disk, if there is one.
        most = MAX_QUOTED if path and not self._view.is_dirty() else MAX_UNSAVED
        return self._all(file, message([place], shown if path else lambda name, _: name, most).rstrip(), problems)

    def in_chat(self, chat: ChatView) -> tuple[dict[str, str], list[Excerpt]]:
        """The texts for a chat's prompt, and the selection, which is embedded."""
        path = self._view.file_name()
        file = prompt.mention(below(path, chat.folder)) if path else self._name
        problems = problems_text(self._problems, lambda path, _: below(path, chat.folder))
        if self._selected is None:
            return self._all(file, file, problems), []
        embedded = excerpt(self._view, self._selected)
        return self._all(file, f"`{embedded.name}`", problems), [embedded]

    @property
    def _name(self) -> str:
        return visible_name(self._view.name() or "untitled")

    def _all(self, file: str, selection: str, problems: str) -> dict[str, str]:
        return {
            "file": file,
            "selection": selection,
            "symbol": symbol(self._view) or "this",
            "problems": problems,
            "question": self._question,
        }


def symbol(view: sublime.View) -> str:
    """The symbol that the caret is in: the nearest one above it, else the word at it; empty if there is none."""
    point = view.sel()[0].begin() if len(view.sel()) else 0
    line = view.line(point).end()
    above = [each for each in view.symbol_regions() if each.region.begin() <= line]
    name = above[-1].name if above else view.substr(view.word(point))
    return " ".join(name.split()) if any(character.isalnum() for character in name) else ""


def _lines(view: sublime.View, region: sublime.Region) -> Comment:
    """The selected lines as a comment without words has them."""
    end = region.end() - 1 if view.rowcol(region.end())[1] == 0 else region.end()
    whole = view.line(sublime.Region(region.begin(), max(region.begin(), end)))
    return Comment(view.file_name() or "", view.rowcol(whole.begin())[0] + 1, tuple(view.substr(whole).split("\n")), "")


ASKED = "asked"
"""Remembered of a window: the questions that were asked, and the one that was begun, as a dictionary."""
RECALL = "recall"
"""In the record of the input panel while a question is written: the state of `Recall`."""


def ask(window: sublime.Window, caption: str, done: Callable[[str], object]) -> None:
    """Ask for a question. What the person leaves is there the next time."""
    found = VIEWS.remembered(window, ASKED)
    state: dict[str, Any] = found if isinstance(found, dict) else {}
    draft = str(state.get("draft", ""))
    written = draft

    def changed(words: str) -> None:
        nonlocal written
        written = words

    panel: sublime.View | None = None

    def asked(words: str) -> None:
        drop()
        recall = Recall(state)
        recall.add(words.strip())
        VIEWS.remember(window, ASKED, {"sent": recall.sent})
        if words.strip():
            done(words.strip())

    def left() -> None:
        drop()
        VIEWS.remember(window, ASKED, {**state, "draft": written})

    def drop() -> None:
        if panel:
            VIEWS.drop(panel)

    panel = window.show_input_panel(caption, draft, asked, changed, left)
    VIEWS.take(panel, "question input", lasts=False, **{RECALL: Recall({"sent": state.get("sent", [])}).state})


NO_VIEW = "Open a file first: an action is about the file that you look at."
NO_PROBLEMS = "{name} has no problems that the editor knows of."
IN_CLIPBOARD = "The prompt is in the clipboard."


def shown_view(adapter: Adapter, window: sublime.Window) -> sublime.View | None:
    """The tab that an action is about: the active one, else the last one of the person's own."""
    view = window.active_view()
    return view if view and is_code(view) else adapter.focus.last_code(window)


def run(adapter: Adapter, window: sublime.Window, action: Action) -> None:
    """Run an action about what the person looks at."""
    view = shown_view(adapter, window)
    path = view.file_name() if view else None
    if view is None:
        say(window, NO_VIEW)
    elif (name := path or view.name()) and (why := adapter.refusal(window, [name])):
        say(window, why)
    elif not action.uses("problems"):
        _ask(adapter, window, action, view, ())
    else:

        def read(problems: Sequence[Diagnostic]) -> None:
            if problems:
                _ask(adapter, window, action, view, problems)
            else:
                name = PurePath(path).name if path else view.name() or "This tab"
                say(window, NO_PROBLEMS.format(name=name))

        _problems(adapter, window, view, read)


def _problems(
    adapter: Adapter, window: sublime.Window, view: sublime.View, done: Callable[[Sequence[Diagnostic]], object]
) -> None:
    """The problems of a file, of the selected lines if there are any."""
    path = view.file_name()
    lines = None if all(region.empty() for region in view.sel()) else selected_lines(view)
    if path is None:
        done(())
        return

    def shown(found: ShownProblems | None) -> None:
        if found is None:
            done(())
        else:
            adapter.on_another_thread(found.diagnostics, sorted_out)

    def sorted_out(problems: Sequence[Diagnostic]) -> None:
        done([each for each in problems if lines is None or any(each.touches(*some) for some in lines)])

    adapter.problems.read(WindowId(window.id()), [path], shown)


def _ask(
    adapter: Adapter, window: sublime.Window, action: Action, view: sublime.View, problems: Sequence[Diagnostic]
) -> None:
    """Ask for the question, if there is one, and send."""

    def send(question: str = "") -> None:
        _Sending(adapter, window, action, PromptValues(view, problems, question)).begin()

    if action.uses("question"):
        ask(window, action.name.removesuffix("…"), send)
    else:
        send()


class _Sending:
    """A prompt on its way to the target of its action."""

    def __init__(self, adapter: Adapter, window: sublime.Window, action: Action, values: PromptValues) -> None:
        self._adapter = adapter
        self._window = window
        self._action = action
        self._values = values

    def begin(self) -> None:
        """Find the target, ask which one, or offer to start one."""
        found = recipients(self._adapter.chats, self._window)
        match self._action.target:
            case "cli":
                self._choose([one for one in found if isinstance(one.target, Terminal)], self._offer_clis)
            case "chat":
                self._choose([one for one in found if not isinstance(one.target, Terminal)], self._open_chat)
            case "new_chat":
                self._new_chat()
            case _:
                has_chat = self._adapter.settings.value("chat_enabled") or bool(self._adapter.consent.last)
                self._choose(found, self._open_chat if has_chat else self._offer_clis)

    def _choose(self, found: list[Recipient], otherwise: Callable[[], object]) -> None:
        choices = meant(found)
        if choices:
            choose_recipient(self._window, choices, self._give, f"Send “{self._action.name}” to")
        else:
            otherwise()

    def _give(self, recipient: Recipient) -> None:
        if isinstance(recipient.target, Terminal):
            self._paste(recipient.target)
        else:
            self._send(recipient.target)

    def _paste(self, target: Terminal) -> None:
        text = ShownText(self._action.filled(self._values.in_terminal(target)))
        paste(target, self._window, text, done_or_copied(self._window, text, IN_CLIPBOARD))

    def _send(self, chat: ChatView) -> None:
        values, excerpts = self._values.in_chat(chat)
        self._adapter.chats.go_to(chat)
        send_prompt(self._adapter, chat, self._action.filled(values), excerpts=excerpts)

    def _open_chat(self) -> None:
        have_chat(self._window, lambda _, chat: self._send(chat))

    def _new_chat(self) -> None:
        if chat := self._adapter.chats.of(self._window):
            self._send(self._adapter.chats.open(self._window, chat.folder, chat.agent_key, is_new=True))
        else:
            self._open_chat()

    def _offer_clis(self) -> None:
        choose(self._window, terminals.offers_to_run(self._window), "No CLI was started in this window")


UNKNOWN = "There is no action “{name}”."


def _actions(adapter: Adapter) -> tuple[Action, ...]:
    return read_actions(adapter.settings.value("actions"))[0]


class QwenCompanionActionCommand(sublime_plugin.WindowCommand):
    """Run one of your actions about what you look at; without a name, choose one."""

    def run(self, name: str | None = None, index: int | None = None) -> None:
        """`name` is that in the setting `actions`; `index` counts them, for a menu."""
        adapter = package.adapter()
        if adapter is None:
            return
        actions = _actions(adapter)
        if index is not None:
            found = actions[index : index + 1]
        elif name is not None:
            found = tuple(action for action in actions if action.name.removesuffix("…") == name.removesuffix("…"))
        else:
            items: list[PanelItem] = [
                (each.name, _detail(each), partial(run, adapter, self.window, each)) for each in actions
            ]
            choose(self.window, items, "About what you look at")
            return
        if found:
            run(adapter, self.window, found[0])
        else:
            say(self.window, UNKNOWN.format(name=name))

    def is_enabled(self, name: str | None = None, index: int | None = None) -> bool:
        """Whether the person looks at a file. Where nobody is there yet who could get a prompt, they are offered."""
        adapter = package.adapter()
        return adapter is not None and shown_view(adapter, self.window) is not None

    def is_visible(self, name: str | None = None, index: int | None = None) -> bool:
        """In a menu: whether there is an action at that place."""
        adapter = package.adapter()
        if index is None or adapter is None:
            return True
        return index < len(_actions(adapter))

    def description(self, name: str | None = None, index: int | None = None) -> str:
        """The caption in a menu."""
        adapter = package.adapter()
        actions = _actions(adapter) if adapter else ()
        return actions[index].name if index is not None and index < len(actions) else "Action…"


class QwenCompanionAskHistoryCommand(sublime_plugin.TextCommand):
    """Put an earlier question into the panel of *Ask*, or a later one."""

    def run(self, edit: sublime.Edit, by: int) -> None:
        """`by` is -1 for the one before."""
        own = VIEWS.of(self.view)
        if own is None or own.kind != "question input":
            return
        recall = Recall(own.get(RECALL))
        text = recall.step(by, text_of(self.view))
        if text is not None:
            own.keep(**{RECALL: recall.state})
            write_all(self.view, text)
            select(self.view, self.view.size())


def _detail(action: Action) -> str:
    where = {"": "", "cli": "to the CLI", "chat": "to the chat", "new_chat": "to a new chat"}[action.target]
    return " · ".join(filter(None, (where, " ".join(action.prompt.split()))))


# Who gets it: `recipients` are those that could be meant. Nothing is submitted in a terminal: the person presses Enter.


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
    adds: bool = False,
) -> None:
    """Paste a text into a CLI's prompt once that is empty; there are as many looks at it.

    With `adds`, for a text of one line that can stand in a sentence, the prompt may have a text already. `done` gets a
    sentence if that fails, and nothing if the prompt has the text: then comes the next text for this terminal. The
    terminal gets the focus if its prompt can take the text at once: later the person may be typing elsewhere.
    """
    queue = _deliveries.setdefault(target.view.id(), deque())
    queue.append(_Delivery(target, window, text, done, looks, adds, is_late=bool(queue)))
    if len(queue) == 1:
        queue[0].go_on(queue[0].look)


def done_or_copied(window: sublime.Window, text: ShownText, is_copied: str) -> Callable[[str], None]:
    """A `done` that puts into the clipboard what the prompt has not got, and says so."""

    def done(why: str) -> None:
        if why:
            to_clipboard(text)
            say(window, f"{why} {is_copied}")

    return done


@dataclass
class _Delivery:
    """A text on its way into a CLI's prompt: see `paste`."""

    target: Terminal
    window: sublime.Window
    text: ShownText
    done: Callable[[str], object]
    looks: int
    adds: bool
    is_late: bool
    """Whether it had to wait, for its prompt or for a text before it."""

    def go_on(self, step: Callable[..., object], *args: object) -> None:
        """Take a step. One that fails ends the delivery: the texts behind it would wait for ever."""
        try:
            step(*args)
        except Exception:
            logger.exception("A text for a terminal could not be typed")
            self._end(NOT_TAKEN.format(title=self.target.title))

    def look(self) -> None:
        """Look whether the prompt can take the text, and ask the system whose prompt it is."""
        adapter, pty = package.adapter(), terminals.pty_of(self.target.view)
        families = (self.target.family,) if self.target.family else FAMILIES
        if adapter and pty and self._can_take(families):
            answered = partial(self.go_on, self._looked)
            adapter.on_another_thread(lambda: _in_front(pty, families), answered, partial(answered, None))
        else:
            self._looked(None)

    def _looked(self, family: CliFamily | None) -> None:
        if family and self._can_take((family,)):
            if not self.is_late or not self.target.tag:
                terminals.show(self.target, self.window)
            # Terminus knows only after this which terminal has the focus.
            sublime.set_timeout(partial(self.go_on, self._type, family))
        elif self.target.view.is_valid() and self.looks > 1:
            self.looks, self.is_late = self.looks - 1, True
            sublime.set_timeout(partial(self.go_on, self.look), LOOK)
        else:
            self._refuse()

    def _type(self, family: CliFamily) -> None:
        before = self._shown((family,))
        may_type = self.window.is_valid() and self._can_take((family,))
        if may_type and terminals.send(self.target, self.window, self.text):
            self._look_at_prompt(family, before, LOOKS)
        else:
            self._refuse()

    def _look_at_prompt(self, family: CliFamily, before: str | None, looks: int) -> None:
        """Look until the prompt has another text than before. A long one shows only a part of what is in it."""
        is_there = self.target.view.is_valid()
        if is_there and self._shown((family,)) != before:
            self._end("")
        elif is_there and looks:
            sublime.set_timeout(partial(self.go_on, self._look_at_prompt, family, before, looks - 1), LOOK)
        else:
            self._end(NOT_TAKEN.format(title=self.target.title))

    def _shown(self, families: Sequence[CliFamily]) -> str | None:
        return prompt_text(self.target.view, families) if self.target.view.is_valid() else None

    def _can_take(self, families: Sequence[CliFamily]) -> bool:
        shown = self._shown(families)
        return shown == "" or (self.adds and shown is not None)

    def _refuse(self) -> None:
        self._end((NO_PROMPT if self.adds else NO_EMPTY_PROMPT).format(title=self.target.title))

    def _end(self, why: str) -> None:
        queue = _deliveries[self.target.view.id()]
        queue.popleft()
        if queue:
            sublime.set_timeout(partial(queue[0].go_on, queue[0].look))
        guarded(self.done, why)


_deliveries: dict[int, deque[_Delivery]] = {}
"""By the ids of the terminals' views; the first one of each is on its way."""


def _in_front(pty: terminals.Pty, families: Sequence[CliFamily]) -> CliFamily | None:
    """The CLI in front of a terminal; None if it is another program, or if nobody knows. Asks the system."""
    try:
        from ..clis import processes  # noqa: PLC0415 - psutil may be missing, and takes its time

        found = processes.cli_in_front(pty.pid, pty.descriptor, families)
    except (ImportError, OSError, RuntimeError):
        return None
    return found[0] if found else None


def add_to_prompt(chat: ChatView, text: str, excerpts: list[Excerpt]) -> None:
    """Add a text and what goes with it to a chat's prompt, where the person sees and sends them."""
    prompt = chat.text.prompt
    blank = "" if not prompt or prompt.endswith("\n") else "\n"
    chat.text.write(f"{prompt}{blank}{text}\n")
    known = {(each.uri, each.text) for each in chat.excerpts}
    chat.excerpts += [each for each in excerpts if (each.uri, each.text) not in known]
    chat.attached_changed()


class Recipient(NamedTuple):
    """A CLI in a terminal, or a chat."""

    target: Terminal | ChatView
    agent: str
    """Its name; empty if nobody knows what runs in a terminal."""
    title: str
    """What to call it in a list."""
    used_at: int
    """When it had the focus last, in Unix milliseconds; 0 for never."""


def recipients(chats: ChatViews, window: sublime.Window, *, waits: bool = False) -> list[Recipient]:
    """All of a window, the one used last first.

    Terminals that the person opened by hand count if they show a CLI's empty prompt, or if it `waits` for that.
    """
    found = [
        Recipient(one, one.family.name if one.family else "", one.title, one.focused_at // 1_000_000)
        for one in terminals.running(window)
    ]
    others = [one for one in terminals.others(window) if waits or prompt_text(one.view) == ""]
    found += [Recipient(one, "", one.title, 0) for one in others]
    chats.last(window)  # takes over one from before a restart
    found += [
        Recipient(chat, chat.agent, f"the chat with {chat.agent}", used_at(chat.view)) for chat in chats.within(window)
    ]
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
        items: list[PanelItem] = [(f"Send to {one.title}", one.target.folder, partial(give, one)) for one in found]
        choose(window, items, placeholder)


def named_in(target: Terminal, path: str, lines: Sequence[tuple[int, int]]) -> str:
    """A file, and lines of it from 1, as they are named in the prompt of a CLI in a terminal."""
    return named(path, target.folder, target.family.launch if target.family else None, lines)
