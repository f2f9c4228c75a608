"""What a click, a key or a command does to what a chat shows: its links, questions, code blocks and files."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

import sublime

from ...chats.transcript.plain import flat
from ...clis.elsewhere import PathMaps
from ...platforms.files import is_elsewhere
from ...platforms.programs import browse
from ...visible import ShownText, host_of
from ..buffers import edit
from ..panels import Page, say, to_clipboard
from ..places import open_place
from . import html
from .permissions import QuestionForm, ask_form, pick_option

if TYPE_CHECKING:
    from ...chats.chat import Chat
    from ...chats.transcript.render import Link
    from ...conversation.forms import Values
    from ...conversation.snapshot import Permission
    from ..adapter import Adapter
    from .html import LinkItem
    from .view import ChatView

HIDDEN = "{:,} more characters of this question are not shown in the chat. “Show All” has them. Allow it all the same?"
PIECE = 50_000
"""Characters of a long text that a tab gets at once."""
MOVED = "The button that you clicked has only just appeared there. Read the question, and click again."
PAGE = "Open this page of {host} in your browser?\n\n{address}"
UNKNOWN = "It is not known whether {path} is on this computer. If it is, click “It is this computer” above the prompt."
UNSEEN = "Not all of the question was on the screen. Read on from here to its end, and answer again."

_CALLS: dict[str, Callable[[Chat, str], Coroutine[Any, Any, None] | None]] = {
    "cancel": lambda chat, turn: chat.cancel(turn),
    "go_on": lambda chat, _: chat.history.continue_turn(),
    "confirm_here": lambda chat, _: chat.connection.confirm_here(),
    "show_earlier": lambda chat, _: chat.renderer.show_earlier(),
    "dequeue": lambda chat, prompt: chat.dequeue(prompt),
    "unsend": lambda chat, unsent: chat.unsend(unsent),
    "stop_terminals": lambda chat, terminals: chat.tasks.stop_terminals(terminals.split()),
}
"""What a link asks of the companion, by its name and what stands behind the colon."""


class Clicks:
    """Does what the links of a chat say, for that chat alone."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._shown = 0
        """How many long questions were shown: the last one goes on."""

    def answer(self, chat: ChatView, kind: str) -> None:
        """Answer the oldest permission with an option of a kind, asking which if there are several."""
        if (permission := waiting(chat)) is None:
            return
        is_form = permission.form is not None and permission.form.is_asked
        if (permission.questions or is_form) and kind.startswith("allow"):
            self.do(chat, f"answer:{permission.id}")
        elif not _is_unseen(chat, permission, kind):
            pick_option(chat.window, permission, kind, lambda option: self._vote(chat, permission, option))

    def choose(self, chat: ChatView, number: int) -> None:
        """Answer the oldest permission with one of the answers that it offers; `number` counts from 1."""
        permission = waiting(chat)
        if permission and permission.is_choice and 0 < number <= len(permission.options):
            self.do(chat, f"vote:{number - 1}:{permission.id}")
        else:
            say(chat.window, "That is not among the answers that are offered.")

    def follow(self, chat: ChatView, point: int, *, links_only: bool = False) -> None:
        """Open the file that is named at a point of the transcript, or unfold or fold what begins there."""
        if link := chat.marks.link_at(point):
            self.open_link(chat, link)
        elif not links_only:
            chat.marks.folds.toggle(point)

    def open_link(self, chat: ChatView, link: Link) -> None:
        """Open a file that the chat names, at its line; say where it is if it isn't here."""
        if chat.render is None:
            return
        if link.is_web:
            _open_page(chat, link.path)
            return
        where = chat.render.locality
        folder = where.folder or chat.folder
        path = os.path.join(folder, os.path.expanduser(link.path) if where.is_local else link.path)
        # Looking for a file on another computer would send it the person's credentials.
        if is_elsewhere(path, [folder]):
            say(chat.window, f"{path} is on another computer.")
        elif not where.is_known:
            say(chat.window, UNKNOWN.format(path=link.path))
        elif not where.is_local and not (path := self._mapped(chat, path)):
            say(chat.window, f"{link.path} is on {where.host or 'another computer'}, in {where.folder}.")
        else:
            open_place(self._adapter, chat.window, path, link.line)

    def show_link(self, chat: ChatView, point: int) -> None:
        """Offer to open the file that is named at a point, in a popup."""
        if (link := chat.marks.link_at(point)) is None or chat.render is None:
            return
        where = chat.render.locality
        place = f"{link.path}:{link.line}" if link.line else link.path
        if where.is_local or link.is_web or self._mapped(chat, posixpath.join(where.folder, link.path)):
            content = html.popup(f"Open {place}", "open")
        else:
            content = html.popup(f"{place} is on {where.host or 'another computer'}, in {where.folder}")

        def clicked(_: str) -> None:
            chat.view.hide_popup()
            self.open_link(chat, link)

        chat.view.show_popup(content, sublime.PopupFlags.HIDE_ON_MOUSE_MOVE_AWAY, point, 640, on_navigate=clicked)

    def _mapped(self, chat: ChatView, path: str) -> str:
        """The file here that another computer calls by a path, by the person's setting; empty if there is none."""
        here = PathMaps(tuple(self._adapter.settings.of(chat.window, "path_maps").items())).here(path)
        return here if here != path else ""

    @staticmethod
    def links(chat: ChatView) -> Iterator[LinkItem]:
        """What can be clicked in a chat now, the bar's first, then the questions' and the code blocks'."""
        render = chat.render
        if render is None:
            return
        pages = [chat.marks.bar(render, chat.attached), *([html.EARLIER] if render.status.has_earlier else [])]
        pages += [html.ask(ask, is_first=at == 0) for at, ask in enumerate(render.asks)]
        for page in (*pages, *map(html.running, render.running)):
            yield from html.link_items(page)
        for block in render.codes:
            first = chat.text_of(block).strip().partition("\n")[0]
            yield from (item._replace(line=first) for item in html.link_items(html.code(block)))

    def clicked(self, chat: ChatView, href: str) -> None:
        """A click does what its link says, unless it is an answer and the button has moved under the mouse."""
        what, _, of = href.partition(":")
        if what == "vote" and not chat.attention.is_steady(of.partition(":")[2]):
            say(chat.window, MOVED)
        else:
            self.do(chat, href)

    def do(self, chat: ChatView, href: str) -> None:
        """Do what a link says, wherever its button is."""
        what, _, of = href.partition(":")
        match what:
            case "reconnect":
                self._adapter.chats.reconnect(chat)
            case _ if call := _CALLS.get(what):
                chat.tell(lambda own: call(own, of))
            case "tasks" | "changes" | "leave_out" | "sign_in" | "suggestion":
                # The command is for the chat with the focus.
                chat.window.focus_view(chat.view)
                chat.window.run_command(f"qwen_companion_chat_{what}")
            case "review" | "keep_all_changes" | "undo_all_changes":
                chat.window.run_command(f"qwen_companion_{what}")
            case "detach":
                chat.detach(int(of))
            case "to_end":
                chat.view.show(chat.view.size(), False)
            case "vote" | "answer" | "whole":
                self._clicked_on_permission(chat, what, of)
            case "copy" if (text := chat.code_text(of)) is not None:
                to_clipboard(ShownText(text))
                say(chat.window, "Copied.")
            case "insert" if (text := chat.code_text(of)) is not None:
                self._insert(chat, text)
            case _:
                pass

    def _clicked_on_permission(self, chat: ChatView, what: str, of: str) -> None:
        index, _, asked = of.partition(":") if what == "vote" else ("", "", of)
        permission = next((ask.permission for ask in chat.asks if ask.permission.id == asked), None)
        if permission is None:
            return
        if what == "whole":
            self._show_whole(chat, permission)
            return
        option = permission.options[int(index)] if what == "vote" else None
        if _is_unseen(chat, permission, option.kind if option else what):
            return
        if option:
            self._vote(chat, permission, option.id)
        else:
            self._ask(chat, permission)

    def _ask(self, chat: ChatView, permission: Permission) -> None:
        """Have the person answer the questions of a permission."""

        def answered(option: str | None, values: Values) -> None:
            self._vote(chat, permission, option, values)

        if permission.form is None:
            QuestionForm(chat.window, permission, answered)
            return
        asked = {ask.permission.id for ask in chat.asks}
        chat.entered = {key: values for key, values in chat.entered.items() if key in asked}
        entered = chat.entered.setdefault(permission.id, permission.form.defaults)
        ask_form(chat.window, chat.agent, permission.title, permission.form, entered, answered)

    def _show_whole(self, chat: ChatView, permission: Permission) -> None:
        """Show all of a long question in a tab, which gets it in pieces."""
        self._shown += 1
        number, page = self._shown, Page(chat.window, "question", "Qwen: Question")
        page.show("")
        folder = chat.folder

        def whole() -> str:
            # Comparing texts is nothing for the editor's thread, and so not imported there.
            from ...chats.transcript.wording import Context, whole_question  # noqa: PLC0415

            return whole_question(permission, Context(folder, (), shows_diffs=False))

        def append(text: str, at: int) -> None:
            if number == self._shown and page.is_open and at < len(text):
                end = page.view.size()
                edit(page.view, [(end, end, text[at : at + PIECE])])
                sublime.set_timeout(lambda: append(text, at + PIECE), 10)

        self._adapter.on_another_thread(whole, lambda text: append(text, 0))

    def _insert(self, chat: ChatView, text: str) -> None:
        view = self._adapter.focus.last_code(chat.window)
        if view is None:
            say(chat.window, "There is no file to insert it into: go to one first.")
            return
        regions = sorted(view.sel(), key=lambda region: region.begin(), reverse=True)
        edit(view, [(region.begin(), region.end(), text) for region in regions])
        chat.window.focus_view(view)

    def _vote(self, chat: ChatView, permission: Permission, option: str | None, answers: Values | None = None) -> None:
        chat.tell(lambda own: own.approvals.give(permission.id, option, answers))


def waiting(chat: ChatView) -> Permission | None:
    """The oldest permission that waits for an answer."""
    return chat.asks[0].permission if chat.asks else None


def _is_unseen(chat: ChatView, permission: Permission, kind: str) -> bool:
    """Whether an answer of a kind needs more of the question to have been on the screen, which is shown then.

    Nobody needs to read to the end to reject.
    """
    if kind.startswith("reject"):
        return False
    if (unseen := chat.attention.unseen(permission.id)) is None:
        hidden = next((ask.hidden for ask in chat.asks if ask.permission.id == permission.id), 0)
        return bool(hidden) and not sublime.ok_cancel_dialog(HIDDEN.format(hidden), "Allow", "QwenCompanion")
    chat.window.focus_view(chat.view)
    chat.view.show(unseen, show_surrounds=False, keep_to_left=True, animate=False)
    say(chat.window, UNSEEN)
    return True


def _open_page(chat: ChatView, address: str) -> None:
    if not (host := host_of(address)):
        say(chat.window, "A browser would not read this address as it is written here.")
    elif sublime.ok_cancel_dialog(PAGE.format(host=host, address=flat(address, 1_000)), "Open", "QwenCompanion"):
        browse(address)
