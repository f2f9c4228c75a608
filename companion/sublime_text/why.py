"""The commands that say why lines are there."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from ..chats.transcript.render import TurnStart
from ..comments import markdown, message
from ..editor import WindowId
from ..exclusion import shortened
from ..visible import ShownText, visible
from . import package
from .buffers import text_of
from .comments.comment_commands import told
from .minihtml import COLOURS, safe
from .panels import PanelItem, choose, say, to_clipboard
from .places import open_place
from .review.header import show_reason
from .windows import is_chat, is_code, selected_lines

if TYPE_CHECKING:
    from ..provenance.log import LoggedTurn, Reason
    from ..review.review import Review
    from .adapter import Adapter
    from .chat.view import ChatView


NOTHING = "Nothing is known of why this is here."
NOTED = "By git-ai's note on commit {commit}, which has no prompt"
SHORT_ID = 10
"""Digits of a commit's id that are shown."""
NOT_OPEN = "The chat in which this was said is not open."
NOT_SHOWN = "The chat does not show that place any more."
TRANSCRIPTS: Mapping[bool, tuple[str, str]] = {
    True: ("Read Them", "While a CLI is connected, to say why a line is here. Nothing of them is sent anywhere"),
    False: ("Don't Read Them", "Then nothing is known of what a CLI in a terminal writes without a diff"),
}
MOST = 4
"""Reasons in a popup."""
LONGEST = 600
"""Characters of a prompt or a reason in a popup."""
LONGEST_WORDS = 100
"""Characters of a name, and of a prompt in a list."""
WIDTH = 640
HEIGHT = 480
_STYLE = f"""{COLOURS}
body {{ margin: 0.4rem 0.6rem; }}
div {{ font-family: system; }}
.reason {{ padding: 0.3rem 0; }}
"""


class QwenCompanionWhyCommand(sublime_plugin.TextCommand):
    """Say why the lines at the carets are there: who wrote them, for which prompt, and what was said before."""

    def __init__(self, view: sublime.View) -> None:
        super().__init__(view)
        self._shown: tuple[tuple[str, list[int]] | None, int, Sequence[Reason]] = None, 0, ()
        """The file and the lines that were asked about last, the version of the view, and the answer."""

    def is_enabled(self) -> bool:
        """Whether there are lines of a file, or a proposal that has a reason."""
        return self._lines() is not None or self._proposal() is not None

    is_visible = is_enabled

    def _lines(self) -> tuple[str, list[int]] | None:
        """The file and its lines, from 0: those at the carets, or in the Review those of the change at the caret."""
        view, adapter = self.view, package.adapter()
        if adapter and (tab := adapter.review.of(view)):
            return tab.lines_in_file()
        name = view.file_name()
        rows = sorted({row - 1 for first, last in selected_lines(view) for row in range(first, last + 1)})
        return (name, rows) if name and is_code(view) and not package.is_in_diff(view) else None

    def _proposal(self) -> Review | None:
        """What is proposed in this diff, or at the caret of the Review, if it has a reason."""
        if not (adapter := package.adapter()):
            return None
        tab = adapter.review.of(self.view)
        diff = tab.proposal if tab else adapter.diffs.find(self.view)
        return diff.review if diff and diff.review.reason else None

    def run(self, edit: sublime.Edit) -> None:
        """In a popup, if it is known for sure. Once more at the same lines, go to where it was asked for."""
        if review := self._proposal():
            show_reason(self.view, review)
            return
        adapter, window, lines = package.adapter(), self.view.window(), self._lines()
        if adapter is None or window is None or lines is None:
            return
        view, version, (path, rows) = self.view, self.view.change_count(), lines
        known, self._shown = self._shown, (None, 0, ())
        told = [each for each in known[2] if not each.commit]
        if known[:2] == (lines, version) and told:
            view.hide_popup()
            _choose(adapter, window, told)
            return
        is_file = view.file_name() is not None
        number, text, is_saved = WindowId(window.id()), text_of(view) if is_file else None, not view.is_dirty()

        def answer(found: Sequence[Reason]) -> None:
            if not view.is_valid() or view.change_count() != version:
                return
            if found:
                self._shown = lines, version, found
                self._show(adapter, window, found)
            else:
                say(window, NOTHING)

        adapter.ask_later(
            window,
            lambda companion: companion.provenance.why(number, path, text, rows, is_saved=is_saved),
            answer,
        )

    def _show(self, adapter: Adapter, window: sublime.Window, found: Sequence[Reason]) -> None:
        def follow(href: str) -> None:
            what, _, number = href.partition(":")
            match what:
                case "said":
                    self.view.hide_popup()
                    go_to(adapter, window, found[int(number)].turn)

        content = page(found)
        self.view.show_popup(content, sublime.PopupFlags.NONE, -1, WIDTH, HEIGHT, on_navigate=follow)


class QwenCompanionReadTranscriptsCommand(sublime_plugin.WindowCommand):
    """Say whether the transcripts of CLIs in terminals may be read."""

    def is_visible(self) -> bool:
        """Whether the answer means anything. In a diff there is something else to be answered."""
        adapter, view = package.adapter(), self.window.active_view()
        is_off = adapter is None or adapter.settings.value("read_transcripts") == "off"
        return not is_off and not (view and package.is_in_diff(view))

    def run(self) -> None:
        """Ask, and remember the answer for all windows. Closing the list is none."""
        choices: list[PanelItem] = [
            (caption, details, partial(self._answer, may=may)) for may, (caption, details) in TRANSCRIPTS.items()
        ]
        choose(
            self.window,
            choices,
            "The transcripts of Qwen Code, Gemini CLI, Claude Code, Codex and Copilot CLI in terminals",
        )

    def _answer(self, *, may: bool) -> None:
        if adapter := package.adapter():
            number = WindowId(self.window.id())
            adapter.thread.post(lambda companion: companion.provenance.answer(number, may=may))


class QwenCompanionCopyReviewCommand(sublime_plugin.WindowCommand):
    """Copy the review as Markdown: prompts, reasons, what was kept and undone, and the comments."""

    def is_visible(self) -> bool:
        """Whether there is a review, and nothing else to be answered."""
        return self.is_enabled() and not package.is_in_diff(self.window.active_view())

    def is_enabled(self) -> bool:
        """The same."""
        adapter = package.adapter()
        listing = adapter.written.listings.of(self.window) if adapter else None
        return bool(listing and (listing.rows or listing.done))

    def run(self) -> None:
        """Nothing is sent."""
        if adapter := package.adapter():
            number = WindowId(self.window.id())
            comments = message(told(adapter, self.window, list(adapter.comments.of_window(self.window))), markdown)
            adapter.ask_later(self.window, lambda companion: companion.review_markdown(number, comments), self._copy)

    def _copy(self, text: str) -> None:
        to_clipboard(ShownText(text))
        say(self.window, "The review is copied.")


def _choose(adapter: Adapter, window: sublime.Window, found: Sequence[Reason]) -> None:
    """Go to where something was asked for; ask which, if there are several prompts."""
    turns = list({id(each.turn): each.turn for each in found}.values())
    if len(turns) == 1:
        go_to(adapter, window, turns[0])
        return
    items = [(_one_line(turn.prompt), _heading(turn), partial(go_to, adapter, window, turn)) for turn in turns]
    choose(window, items, "The prompt to go to")


def page(found: Sequence[Reason]) -> str:
    """The popup's minihtml."""
    parts = [_part(number, reason, is_only=len(found) == 1) for number, reason in enumerate(found[:MOST])]
    if len(found) > MOST:
        parts.append(f'<div class="quiet">{len(found) - MOST} more</div>')
    return f'<body id="qwen-companion-why"><style>{_STYLE}</style>{"".join(parts)}</body>'


def _part(number: int, reason: Reason, *, is_only: bool) -> str:
    turn, call = reason.turn, reason.call
    lines = "" if is_only else f" · {_lines(reason.rows)}"
    asked = call.asked or turn.prompt
    parts = [f'<div class="quiet">{safe(_heading(turn) + lines)}</div>']
    parts += [f"<div>“{safe(_one_line(asked, LONGEST))}”</div>"] if asked else []
    parts += [f'<div class="reason">{safe(_one_line(call.reason, LONGEST))}</div>'] if call.reason else []
    if reason.commit:
        return f"{''.join(parts)}<div>{safe(NOTED.format(commit=reason.commit[:SHORT_ID]))}</div>"
    where = "Show in the chat" if turn.is_chat else "Open the transcript"
    return f'{"".join(parts)}<div><a href="said:{number}">{where}</a></div>'


def _heading(turn: LoggedTurn) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(turn.at)) if turn.at else ""
    return " · ".join(filter(None, (_one_line(turn.agent), _one_line(turn.model), when)))


def _lines(rows: Sequence[int]) -> str:
    first, last = rows[0] + 1, rows[-1] + 1
    return f"line {first}" if first == last else f"lines {first}–{last}"


def _one_line(text: str, most: int = LONGEST_WORDS) -> str:
    return shortened(" ".join(visible(text).split()), most)


def go_to(adapter: Adapter, window: sublime.Window, turn: LoggedTurn) -> None:
    """Go to a turn in its chat, if that is open, or to its transcript."""
    if not turn.is_chat:
        open_place(adapter, window, turn.place, None)
        return
    views = [view for each in (window, *sublime.windows()) for view in each.views() if is_chat(view)]
    chat = next((chat for view in views if (chat := adapter.chats.find(view)) and chat.session == turn.session), None)
    if chat is None:
        say(window, NOT_OPEN)
        return
    chat.window.focus_view(chat.view)
    place = _place(chat, turn)
    if place is None:
        say(window, NOT_SHOWN)
    else:
        chat.view.show_at_center(place)


def _place(chat: ChatView, turn: LoggedTurn) -> int | None:
    """Where a chat has a turn: by its key, or by the first line of its prompt if that is there once."""
    if (render := chat.render) is None:
        return None
    turns = render.marks.of(TurnStart)
    found = [each.start for each in turns if each.key == turn.turn]
    if not found and (words := _first_line(turn.prompt)):
        shown = ((each.start, chat.view.substr(sublime.Region(each.start, each.end))) for each in turns)
        found = [start for start, text in shown if _first_line(text.strip().partition("\n")[2]) == words]
    return found[0] + 1 if len(found) == 1 else None


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip()
