"""The commands of comments, and their way to an agent: into the prompt of a CLI or a chat, or into the clipboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from ...chats.prompt import undone_text
from ...clis.shell import below
from ...comments import Comment, markdown, message, named
from ...editor import WindowId
from ...review.changes import counted
from ...visible import ShownText
from .. import package
from ..actions import Recipient, add_to_prompt, meant, named_in, paste, recipients
from ..chat.prompt import excerpt_of_lines, send_prompt
from ..panels import PanelItem, choose, say, to_clipboard
from ..places import open_place
from ..terminal.terminals import Terminal
from ..windows import put_caret

if TYPE_CHECKING:
    from ...chats.prompt import Excerpt
    from ..adapter import Adapter
    from ..chat.view import ChatView
    from .panel import CommentPanel

IN_CLIPBOARD = "The comments are in the clipboard, and not marked as sent."
NOBODY = f"There is no CLI or chat to take the comments. {IN_CLIPBOARD}"
LOOKS_AFTER_ANSWER = 100
"""Looks at a terminal or a chat, ten in a second, until it has left its question after an answer."""
_AFTER = 100
"""Milliseconds between two looks at a chat that may still ask."""


def send(adapter: Adapter, window: sublime.Window, comments: Sequence[Comment]) -> None:
    """Send comments to the agents of their changes; the others to the CLI or the chat used last, or ask which one.

    Nothing is submitted: the person does that.
    """
    _Sending(adapter, window, 1, submits=False).begin(comments)


def send_after_answer(adapter: Adapter, window: sublime.Window, comments: Sequence[Comment]) -> None:
    """The same once an agent has got the answer to its question. To a chat they go as a prompt, or into its turn."""
    _Sending(adapter, window, LOOKS_AFTER_ANSWER, submits=True).begin(comments)


def copy(comments: Sequence[Comment]) -> None:
    """Put comments into the clipboard, as Markdown."""
    to_clipboard(ShownText(message(comments, markdown)))


def told(adapter: Adapter, window: sublime.Window, comments: Sequence[Comment]) -> list[Comment]:
    """The comments on files that an agent may be told of. The person hears of the others, which stay unsent."""
    refusals = {path: adapter.refusal(window, [path]) for path in {comment.path for comment in comments}}
    for why in filter(None, refusals.values()):
        say(window, why)
    return [comment for comment in comments if not refusals[comment.path]]


class _Sending:
    """Comments that are given out, first where it is clear who gets them. Lives on the UI thread."""

    def __init__(self, adapter: Adapter, window: sublime.Window, looks: int, *, submits: bool) -> None:
        self._adapter = adapter
        self._window = window
        self._looks = looks
        self._submits = submits
        self._found = recipients(adapter.chats, window, waits=looks > 1)

    def begin(self, comments: Sequence[Comment]) -> None:
        """Give comments to the agent of each one's change."""
        going = told(self._adapter, self._window, comments)
        if not going:
            return
        if not self._found:
            copy(going)
            say(self._window, NOBODY)
            return
        clear: dict[int, list[Comment]] = {}
        asked: list[tuple[list[Recipient], list[Comment]]] = []
        for agent in dict.fromkeys(comment.agent for comment in going):
            group = [comment for comment in going if comment.agent == agent]
            choices = meant(self._found, agent)
            if len(choices) == 1 and (not agent or choices[0].agent in {agent, ""}):
                clear.setdefault(self._found.index(choices[0]), []).extend(group)
            else:
                asked.append((choices, group))
        for at, group in clear.items():
            self._give(self._found[at], [comment for comment in going if comment in group])
        self._ask(asked)

    def _ask(self, asked: Sequence[tuple[list[Recipient], list[Comment]]]) -> None:
        if not asked:
            return
        (choices, comments), *rest = asked

        def give(recipient: Recipient) -> None:
            self._give(recipient, comments)
            self._ask(rest)

        def copied() -> None:
            copy(comments)
            say(self._window, IN_CLIPBOARD)
            self._ask(rest)

        items: list[PanelItem] = [(f"Send to {one.title}", one.target.folder, partial(give, one)) for one in choices]
        items.append(("Copy the comments", "", copied))
        agent = comments[0].agent
        choose(self._window, items, f"Send the comments on {agent}'s changes to" if agent else "Send the comments to")

    def _give(self, recipient: Recipient, comments: Sequence[Comment]) -> None:
        target = recipient.target
        if isinstance(target, Terminal):
            self._paste(target, recipient.agent or recipient.title, comments)
        elif self._submits:
            _submit(self._adapter, target, comments, self._looks)
        else:
            add_to_prompt(target, _text(target, comments), _excerpts(comments))
            self._adapter.chats.go_to(target)
            self._adapter.comments.held(comments, target.agent)

    def _paste(self, target: Terminal, name: str, comments: Sequence[Comment]) -> None:
        adapter, window, number = self._adapter, self._window, WindowId(self._window.id())

        def done(undone: list[str], why: str) -> None:
            if why:
                copy(comments)
                say(window, f"{why} {IN_CLIPBOARD}")
                return
            adapter.comments.pasted(comments, name)
            if undone:
                adapter.ask_later(
                    window, lambda companion: companion.changes.notes_sent(number, undone), lambda _: None
                )

        def put(undone: list[str]) -> None:
            text = message(comments, partial(named_in, target)) + undone_text(undone)
            paste(target, window, ShownText(text), partial(done, undone), self._looks)

        if adapter.settings.of(window, "tell_undone") == "always":
            adapter.ask_later(window, lambda companion: companion.changes.undone_since(number), put)
        else:
            put([])


def _submit(
    adapter: Adapter, chat: ChatView, comments: Sequence[Comment], looks: int, asked: frozenset[str] | None = None
) -> None:
    """Send comments to a chat once one of its questions is answered: into the turn that runs, or as a prompt."""
    if not chat.view.is_valid():
        copy(comments)
        say(sublime.active_window(), f"The chat was closed. {IN_CLIPBOARD}")
        return
    asks = frozenset(ask.permission.id for ask in chat.asks)
    waits = chat.render is None or bool(asks and (asked is None or asked <= asks))
    if waits and looks > 1:
        sublime.set_timeout(lambda: _submit(adapter, chat, comments, looks - 1, asked or asks), _AFTER)
        return
    adapter.comments.held(comments, chat.agent)
    if waits:
        add_to_prompt(chat, _text(chat, comments), _excerpts(comments))
        say(chat.window, f"The chat with {chat.agent} still asks. The comments are in its prompt.")
    elif chat.status.running is not None:
        # A message into a running turn is one text.
        text = message(comments, lambda path, lines: markdown(below(path, chat.folder), lines))
        send_prompt(adapter, chat, text, mid_turn=True)
    else:
        send_prompt(adapter, chat, _text(chat, comments), excerpts=_excerpts(comments))


def _text(chat: ChatView, comments: Sequence[Comment]) -> str:
    return "\n\n".join(named(comment, below(comment.path, chat.folder)) for comment in comments)


def _excerpts(comments: Sequence[Comment]) -> list[Excerpt]:
    """The lines of comments, to be embedded; once for all comments on the same lines."""
    found: dict[tuple[str, str], Excerpt] = {}
    for comment in comments:
        text = "\n".join(comment.lines) + ("\n(The rest of the lines is left out.)" if comment.left_out else "")
        if text.strip():
            name = PurePath(comment.path).name
            excerpt = excerpt_of_lines(_uri(comment.path), name, comment.first, comment.last, text)
            found[excerpt.uri, text] = excerpt
    return list(found.values())


def _uri(path: str) -> str:
    try:
        return Path(path).as_uri()
    except ValueError:  # a path of another system
        return f"file://{path}"


def go_to(adapter: Adapter, window: sublime.Window, comment: Comment) -> None:
    """Show a comment and put the caret at its lines, in the view that shows it, else in its file."""
    for view in window.views():
        if (region := adapter.comments.views.region(view, comment)) is not None:
            window.focus_view(view)
            put_caret(view, region.begin())
            return
    open_place(adapter, window, comment.path, comment.first)


NOTHING = "There are no comments to send."


def _panel() -> CommentPanel | None:
    adapter = package.adapter()
    return adapter.comments if adapter else None


class QwenCompanionCommentCommand(sublime_plugin.TextCommand):
    """Comment on the line of the caret or on the selected lines."""

    def run(self, edit: sublime.Edit, text: str | None = None) -> None:
        """With a text, for keys and macros, nothing is asked."""
        if panel := _panel():
            panel.write(self.view, text)

    def is_enabled(self, text: str | None = None) -> bool:
        """Whether the view has lines that can be commented."""
        panel = _panel()
        return panel is not None and panel.views.place(self.view) is not None

    def is_visible(self, text: str | None = None) -> bool:
        """Whether it can do something: a menu has no entry otherwise."""
        return self.is_enabled()


class _CommentsCommand(sublime_plugin.WindowCommand):
    """A command on the comments that were not sent."""

    def is_enabled(self) -> bool:
        """Whether there are any."""
        panel = _panel()
        return panel is not None and bool(panel.unsent(self.window))

    def run(self) -> None:
        """Do it, or say that there are none."""
        panel = _panel()
        comments = panel.settled(self.window) if panel else ()
        if comments:
            self.on_comments(list(comments))
        else:
            say(self.window, NOTHING)

    def on_comments(self, comments: list[Comment]) -> None:
        """Do it with the comments of the window."""
        raise NotImplementedError


class QwenCompanionSendCommentsCommand(_CommentsCommand):
    """Send the comments to the agent that made the changes."""

    def on_comments(self, comments: list[Comment]) -> None:
        """They go into its prompt; the person sends it."""
        if adapter := package.adapter():
            send(adapter, self.window, comments)


class QwenCompanionCopyCommentsCommand(_CommentsCommand):
    """Copy the comments as Markdown."""

    def on_comments(self, comments: list[Comment]) -> None:
        """They stay unsent."""
        adapter = package.adapter()
        if adapter and (going := told(adapter, self.window, comments)):
            copy(going)
            say(self.window, f"{len(going)} comment{'s' * (len(going) != 1)} copied.")


class QwenCompanionDeleteCommentsCommand(sublime_plugin.WindowCommand):
    """Dismiss an agent's notes on the line of the caret, or delete your comments there, or all that were not sent."""

    def run(self, *, asks: bool = True) -> None:
        """Deleting all of them is asked before. Whoever dismisses a note keeps the comment that answers it."""
        panel, view = _panel(), self.window.active_view()
        if panel is None:
            return
        here = panel.views.at_caret(view) if view else []
        here = [comment for comment in here if comment.by] or here
        notes = panel.notes(self.window)
        comments = here or [*panel.unsent(self.window), *notes]
        of_agents = f", {len(notes)} of them from agents," if notes else ""
        question = f"Delete {counted(len(comments), 'comment')}{of_agents} in this window?"
        if not comments:
            say(self.window, "There is no comment on this line, and none that is still to be sent.")
        elif here or not asks or sublime.ok_cancel_dialog(question, "Delete", "QwenCompanion"):
            panel.delete(comments)

    def is_enabled(self, *, asks: bool = True) -> bool:
        """Whether there are any."""
        panel = _panel()
        return panel is not None and any(True for _ in panel.comments)


class QwenCompanionRejectWithCommentsCommand(sublime_plugin.TextCommand):
    """Reject the proposed change, and send the comments on it to the agent."""

    def run(self, edit: sublime.Edit) -> None:
        """The comments of that file go; the others wait."""
        adapter, window = package.adapter(), self.view.window()
        diff = adapter.diffs.find(self.view) if adapter else None
        if adapter is None or window is None or diff is None:
            return
        comments = adapter.comments.on_file(diff.review.file_path)
        diff.attention.entered()
        adapter.diffs.answers.reject(diff)
        if comments:
            # To the agent that has asked, whoever they were for.
            asking = diff.review.owner.cli
            own = [replace(comment, agent=asking) for comment in comments]
            diff.actions.add(partial(send_after_answer, adapter, window, own))

    def is_enabled(self) -> bool:
        """Whether the view belongs to a diff."""
        adapter = package.adapter()
        return adapter is not None and adapter.diffs.find(self.view) is not None


class QwenCompanionGoToCommentCommand(sublime_plugin.TextCommand):
    """Go to the next comment, or to the previous one."""

    def run(self, edit: sublime.Edit, *, forward: bool = True) -> None:
        """After the last one of the view comes the next file with comments, and in the end the first one again."""
        adapter, window = package.adapter(), self.view.window()
        if adapter is None or window is None:
            return
        panel, step = adapter.comments, 1 if forward else -1
        caret = self.view.sel()[0].b if len(self.view.sel()) else 0
        line = self.view.line(caret).begin()
        points = [point for point in panel.views.points(self.view)[::step] if (point - line) * step > 0]
        if points:
            put_caret(self.view, points[0])
        elif comment := self._elsewhere(panel, window, step):
            go_to(adapter, window, comment)

    def is_enabled(self, *, forward: bool = True) -> bool:
        """Whether the window has comments."""
        panel, window = _panel(), self.view.window()
        return panel is not None and window is not None and bool(panel.of_window(window))

    def is_visible(self, *, forward: bool = True) -> bool:
        """In a diff only forwards, which comes around."""
        return forward or not package.is_in_diff(self.view)

    def _elsewhere(self, panel: CommentPanel, window: sublime.Window, step: int) -> Comment | None:
        """The first comment of the next file with comments; it is the same one if no other file has any."""
        comments = panel.of_window(window)[::step]
        place = panel.views.place(self.view)
        here = place.path if place else ""
        paths = list(dict.fromkeys(comment.path for comment in comments))
        after = [path for path in paths if (path > here) == (step > 0) and path != here]
        wanted = (after or paths)[:1]
        return next((comment for comment in comments if [comment.path] == wanted), None)
