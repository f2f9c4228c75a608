"""The chats on the screen, at most one for each window: what the person does, and what the companion shows."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import sublime

from ...chat.mentions import mentions
from ...chat.prompt import Draft, Excerpt
from ...chat.slash import Instead, translated
from ..panels import NO_ANSWER, STARTING, say
from ..patience import expect
from ..windows import CHAT_AGENT_SETTING, CHAT_FOLDER_SETTING, Focus, is_chat, is_visible
from . import html
from .asks import QuestionForm, pick_option
from .prompt import give_back
from .view import SESSION_SETTING, ChatView

if TYPE_CHECKING:
    from ...chat.chats import Chats
    from ...chat.transcript.render import Link, Render
    from ...conversation.snapshot import Permission
    from .html import LinkItem

PATIENCE = 5000
"""Milliseconds until a person who has opened a chat is told that the companion doesn't answer."""

SETTLED = 300
"""Milliseconds after a change of a selection until the bar names it."""

STARTING_CHAT = "QwenCompanion is starting. Send the prompt again when the chat is connected."
MOVED = "The button that you clicked has only just come there. Read the question, and click again."

Tell = Callable[[Callable[["Chats"], object]], object]
"""Calls something with the companion's chats, on the companion thread."""


class ChatViews:
    """Opens chats, and knows which one a view belongs to. Lives on the UI thread."""

    def __init__(
        self,
        focus: Focus,
        tell: Tell,
        may_begin: Callable[[str], bool],
        context: Callable[[sublime.Window], Excerpt | None],
    ) -> None:
        """`may_begin`: whether the person has allowed the chat with an agent, or with the daemon if none is named.

        `context` gives what goes with a prompt of a window by itself.
        """
        self._focus = focus
        self._context = context
        self._tell = tell
        self._may_begin = may_begin
        self._chats: dict[int, ChatView] = {}
        self._looking: set[int] = set()
        """The windows in which the active file is looked at soon."""
        self.is_away = False
        """Whether another program has the focus, as far as the editor knows."""
        self.notify: Callable[[str], object] = lambda _: None
        """Shows a notification of the system."""
        self.is_starting: Callable[[], bool] = lambda: False
        """Whether the companion doesn't answer yet, but will."""

    def show(self, window: int, render: Render) -> bool:
        """Update a window's chat. Returns False if it is gone."""
        chat = self._chats.get(window)
        if chat is None or not chat.view.is_valid():
            return False
        known = {ask.permission.id for ask in chat.render.asks} if chat.render else set[str]()
        chat.show(render, is_seen=self.is_seen(chat))
        if ended := chat.take_ended():
            say(chat.window, ended)
            self.notify(ended)
        fresh = next((ask.permission for ask in render.asks if ask.permission.id not in known), None)
        if fresh and not self.is_seen(chat):
            # What is asked may be private: a notification doesn't tell.
            self.notify(f"{chat.agent} asks in the chat.")
            say(chat.window, f"{chat.agent} asks in the chat: {' '.join(fresh.title.split())}")
        return True

    def take_back(self, window: int, draft: Draft) -> bool:
        """Put a draft back into the prompt. Returns False if there is no chat."""
        chat = self._chats.get(window)
        if chat is None or not chat.view.is_valid():
            return False
        chat.take_back(draft)
        return True

    def of(self, window: sublime.Window | None) -> ChatView | None:
        """The chat of a window."""
        return self._chats.get(window.id()) if window else None

    def find(self, view: sublime.View) -> ChatView | None:
        """The chat that is in a view."""
        return next((chat for chat in self._chats.values() if chat.view == view), None)

    def open(self, window: sublime.Window, folder: str, agent: str = "") -> ChatView:
        """Open a window's chat, or go to it; `folder` and `agent` are for a new one."""
        chat = self.of(window) or self._adopt_any(window)
        if chat is None:
            window.settings().set(CHAT_FOLDER_SETTING, folder)
            view = window.new_file()
            view.settings().set(CHAT_FOLDER_SETTING, folder)
            view.settings().set(CHAT_AGENT_SETTING, agent)
            chat = self._begin(view, window)
        window.focus_view(chat.view)
        chat.text.to_prompt()
        return chat

    def switch(self, chat: ChatView, agent: str) -> None:
        """Have a chat begin a new conversation with another agent, or with the same."""
        window, folder, is_same = chat.window.id(), chat.folder, chat.agent_key == agent
        chat.view.settings().set(CHAT_AGENT_SETTING, agent)
        chat.view.settings().erase(SESSION_SETTING)
        if is_same:
            self._tell(lambda chats: chats.begin(window))
        else:
            self._tell(lambda chats: chats.open(window, folder, agent=agent))
        self.open(chat.window, folder)

    def move(self, chat: ChatView, folder: str) -> None:
        """Have a chat work in another folder of its window."""
        if folder != chat.folder:
            chat.window.settings().set(CHAT_FOLDER_SETTING, folder)
            chat.view.settings().set(CHAT_FOLDER_SETTING, folder)
            window, named = chat.window.id(), _named(chat)
            self._tell(lambda chats: chats.open(window, folder, **named))
        self.open(chat.window, folder)

    def adopt_visible(self) -> None:
        """The package is loaded: take over the chats that are on the screen. The others follow when they are shown."""
        for window in sublime.windows():
            for view in window.views():
                if is_chat(view) and is_visible(view):
                    self.activated(window, view)

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus. It may be a chat from before a restart or a reload, or one that was moved here."""
        if not is_chat(view):
            return
        chat = self.find(view)
        if chat and chat.window != window:
            self._end(chat)
            chat = None
        if chat:
            chat.activated()
            self.look_at_context(window)
        if chat is None and self.of(window) is None and self._may_begin(_agent_of(view)) and view.is_primary():
            self._begin(view, window)

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        if chat := self.find(view):
            self._end(chat)

    def window_closed(self, window: sublime.Window) -> None:
        """A window is about to close. The companion notices that by itself."""
        if chat := self._chats.pop(window.id(), None):
            chat.close()

    def close_all(self) -> None:
        """The package is unloaded. The views stay for the next instance."""
        for chat in self._chats.values():
            chat.close()
        self._chats.clear()

    def redraw(self, chat: ChatView) -> None:
        """Have the whole text rendered again."""
        window, folder, session, named = chat.window.id(), chat.folder, chat.session, _named(chat)
        self._tell(lambda chats: chats.open(window, folder, session, **named))

    def send(self, chat: ChatView, text: str | None = None, *, mid_turn: bool = False) -> None:
        """Send a text, or what the person has written in the prompt."""
        draft = Draft(text) if text is not None else chat.draft({})
        draft = Draft(draft.text, draft.excerpts, draft.pictures, _unsaved(chat, draft.text))
        if not (draft.text.strip() or draft.excerpts or draft.pictures):
            return
        if text is None and chat.render is None:
            # What is sent would be lost, so it stays in the prompt.
            say(chat.window, STARTING_CHAT if self.is_starting() else NO_ANSWER)
            return
        self.look_at_context(chat.window)
        context = chat.context
        if text is None:
            chat.sent()
        if instead := translated(draft.text):
            self._do_instead(chat, instead)
            return
        window, status = chat.window.id(), chat.render.status if chat.render else None
        in_turn = mid_turn and status is not None and status.running is not None
        # A message into a running turn is a text alone, and so is a command.
        if context and not in_turn and not draft.text.startswith("/"):
            draft = replace(draft, excerpts=(*draft.excerpts, context))
        self._tell(lambda chats: chats.send(window, draft, mid_turn=in_turn))

    def look_at_context_soon(self, window: sublime.Window | None) -> None:
        """The same after a while, since a selection changes often."""
        if window and window.id() in self._chats and window.id() not in self._looking:
            self._looking.add(window.id())

            def look() -> None:
                self._looking.discard(window.id())
                self.look_at_context(window)

            sublime.set_timeout(look, SETTLED)

    def is_seen(self, chat: ChatView) -> bool:
        """Whether the person can see a chat, as far as the editor knows."""
        return is_visible(chat.view) and chat.view.window() == sublime.active_window() and not self.is_away

    def look_at_context(self, window: sublime.Window | None) -> None:
        """Another file may be active in a window, or something else selected in it."""
        if window and (chat := self.of(window)):
            chat.offer(self._context(window))

    def _do_instead(self, chat: ChatView, what: Instead) -> None:
        """Do what a slash command is for."""
        if what == "new":
            window = chat.window.id()
            self._tell(lambda chats: chats.begin(window))
        else:
            chat.window.run_command(f"qwen_companion_chat_{what}")

    def cancel(self, chat: ChatView) -> None:
        """End the turn that runs."""
        window = chat.window.id()
        self._tell(lambda chats: chats.cancel(window))

    def go_on(self, chat: ChatView) -> None:
        """Continue the last turn, which was interrupted or has failed."""
        window = chat.window.id()
        self._tell(lambda chats: chats.go_on(window))

    def show_earlier(self, chat: ChatView) -> None:
        """Show a page of the turns before the first one that is shown."""
        window = chat.window.id()
        self._tell(lambda chats: chats.show_earlier(window))

    def reconnect(self, chat: ChatView) -> None:
        """Try again now."""
        window = chat.window.id()
        self._tell(lambda chats: chats.reconnect(window))

    def answer(self, chat: ChatView, kind: str) -> None:
        """Answer the oldest permission with an option of a kind, asking which if there are several."""
        if (permission := waiting(chat)) is None:
            return
        if permission.questions and kind.startswith("allow"):
            QuestionForm(chat.window, permission, lambda option, answers: self._vote(chat, permission, option, answers))
        else:
            pick_option(chat.window, permission, kind, lambda option: self._vote(chat, permission, option))

    def follow(self, chat: ChatView, point: int, *, links_only: bool = False) -> bool:
        """Open the file that is named at a point of the transcript, or unfold or fold what begins there."""
        if link := chat.marks.link_at(point):
            open_link(chat, link)
            return True
        return not links_only and chat.marks.toggle_fold(point)

    def _begin(self, view: sublime.View, window: sublime.Window) -> ChatView:
        drafts = give_back(window, view)
        chat = ChatView(view, window, lambda href: self._clicked_with_mouse(chat, href), lambda: self.redraw(chat))
        self._chats[window.id()] = chat
        for draft in drafts:
            chat.take_back(draft)
        self.redraw(chat)
        self.look_at_context(window)
        expect(
            lambda: self._chats.get(chat.window.id()) is not chat or chat.render is not None,
            self.is_starting,
            patience=lambda: PATIENCE,
            starting=lambda: say(window, STARTING),
            silent=lambda: say(window, NO_ANSWER),
        )
        return chat

    def _adopt_any(self, window: sublime.Window) -> ChatView | None:
        for view in window.views():
            if is_chat(view) and self._may_begin(_agent_of(view)):
                return self._begin(view, window)
        return None

    def _end(self, chat: ChatView) -> None:
        chat.close()
        window = chat.window.id()
        if self._chats.get(window) is chat:
            del self._chats[window]
            self._tell(lambda chats: chats.close(window))

    def _vote(
        self, chat: ChatView, permission: Permission, option: str | None, answers: dict[str, str] | None = None
    ) -> None:
        window, number = chat.window.id(), permission.id
        self._tell(lambda chats: chats.vote(window, number, option, answers))

    @staticmethod
    def links(chat: ChatView) -> list[LinkItem]:
        """What can be clicked in a chat now, the bar's first, then the questions' and the code blocks'."""
        render = chat.render
        if render is None:
            return []
        context = chat.context.name if chat.context else ""
        pages = [
            html.bar(render, chat.attached, context=context),
            *([html.EARLIER] if render.status.has_earlier else []),
        ]
        pages += [html.ask(ask, is_first=at == 0) for at, ask in enumerate(render.asks)]
        found = [item for page in pages for item in html.link_items(page)]
        found += [item for one in render.running for item in html.link_items(html.running(one))]
        for block in render.codes:
            first = (chat.code_text(block.key) or "").strip().partition("\n")[0]
            found += [item._replace(line=first) for item in html.link_items(html.code(block))]
        return found

    def use_link(self, chat: ChatView, item: LinkItem) -> None:
        """Do what a click on a link does."""
        self._clicked(chat, item.href)

    def _clicked_with_mouse(self, chat: ChatView, href: str) -> None:
        """A click does what its link says, unless it is an answer and the button has moved under the mouse."""
        what, _, of = href.partition(":")
        if what == "vote" and not chat.attention.is_steady(of.partition(":")[2]):
            say(chat.window, MOVED)
        else:
            self._clicked(chat, href)

    def _clicked(self, chat: ChatView, href: str) -> None:
        what, _, of = href.partition(":")
        window = chat.window.id()
        match what:
            case "cancel" | "reconnect" | "go_on" | "confirm_here" | "show_earlier":
                self._tell(lambda chats: getattr(chats, what)(window))
            case "dequeue" | "unsend" | "stop_terminals":
                self._tell(lambda chats: getattr(chats, what)(window, of))
            case "suggestion":
                chat.view.run_command("qwen_companion_chat_suggestion")
            case "tasks" | "changes" | "leave_out" | "sign_in":
                chat.window.run_command(f"qwen_companion_chat_{what}")
            case "detach":
                chat.detach(int(of))
            case "to_end":
                chat.view.show(chat.view.size(), False)
            case "vote" | "answer":
                self._clicked_on_permission(chat, what, of)
            case "copy" if (text := chat.code_text(of)) is not None:
                sublime.set_clipboard(text)
                say(chat.window, "Copied.")
            case "insert" if (text := chat.code_text(of)) is not None:
                self._insert(chat, text)
            case _:
                pass

    def _clicked_on_permission(self, chat: ChatView, what: str, of: str) -> None:
        index, _, number = of.partition(":") if what == "vote" else ("", "", of)
        asks = chat.render.asks if chat.render else ()
        permission = next((ask.permission for ask in asks if ask.permission.id == number), None)
        if permission is None:
            return
        if what == "vote":
            self._vote(chat, permission, permission.options[int(index)].id)
        else:
            QuestionForm(chat.window, permission, lambda option, answers: self._vote(chat, permission, option, answers))

    def _insert(self, chat: ChatView, text: str) -> None:
        view = self._focus.last_code(chat.window)
        if view is None:
            say(chat.window, "There is no file to insert it into: go to one first.")
            return
        regions = sorted(view.sel(), key=lambda region: region.begin(), reverse=True)
        edits = [[region.begin(), region.end(), text] for region in regions]
        view.run_command("qwen_companion_chat_edit", {"edits": edits})
        chat.window.focus_view(view)


def _agent_of(view: sublime.View) -> str:
    return str(view.settings().get(CHAT_AGENT_SETTING) or "")


def _named(chat: ChatView) -> dict[str, str]:
    return {"agent": chat.agent_key} if chat.agent_key else {}


def waiting(chat: ChatView) -> Permission | None:
    """The oldest permission that waits for an answer."""
    return chat.render.asks[0].permission if chat.render and chat.render.asks else None


def open_link(chat: ChatView, link: Link) -> None:
    """Open a file that the chat names, at its line; say where it is if it isn't here."""
    if chat.render is None:
        return
    if link.is_web:
        if sublime.ok_cancel_dialog(f"Open this page in your browser?\n\n{link.path}", "Open", "Qwen Companion"):
            webbrowser.open(link.path)
        return
    where = chat.render.locality
    folder = where.folder or chat.folder
    path = os.path.join(folder, os.path.expanduser(link.path) if where.is_local else link.path)
    # Looking for a file on another computer would send it the person's credentials.
    is_elsewhere = path.startswith(("//", "\\\\")) and not path.startswith(folder)
    if is_elsewhere:
        say(chat.window, f"{path} is on another computer.")
    elif not where.is_known:
        say(chat.window, f"It is not known whether {link.path} is on this computer. If so, say it above the prompt.")
    elif not where.is_local:
        say(chat.window, f"{link.path} is on {where.host or 'another computer'}, in {where.folder}.")
    elif not os.path.isfile(path):
        say(chat.window, f"There is no file {path}.")
    elif link.line:
        chat.window.open_file(f"{path}:{link.line}", sublime.NewFileFlags.ENCODED_POSITION)
    else:
        chat.window.open_file(path)


def show_link(chat: ChatView, point: int) -> None:
    """Offer to open the file that is named at a point, in a popup."""
    if (link := chat.marks.link_at(point)) is None or chat.render is None:
        return
    where = chat.render.locality
    place = f"{link.path}:{link.line}" if link.line else link.path
    if where.is_local or link.is_web:
        content = html.popup(f"Open {place}", "open")
    else:
        content = html.popup(f"{place} is on {where.host or 'another computer'}, in {where.folder}")

    def clicked(_: str) -> None:
        chat.view.hide_popup()
        open_link(chat, link)

    chat.view.show_popup(content, sublime.PopupFlags.HIDE_ON_MOUSE_MOVE_AWAY, point, 640, on_navigate=clicked)


def _unsaved(chat: ChatView, text: str) -> dict[str, str]:
    """The texts of the unsaved buffers that a prompt names, by their paths."""
    named = {_spelled(os.path.join(chat.folder, path)) for mention in mentions(text) for _, path in mention.paths}
    views = {path: view for view in chat.window.views() if named and (path := view.file_name()) and view.is_dirty()}
    return {
        path: view.substr(sublime.Region(0, view.size())) for path, view in views.items() if _spelled(path) in named
    }


def _spelled(path: str) -> str:
    return os.path.normcase(os.path.normpath(path))
