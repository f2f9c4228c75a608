"""The chats on the screen: which there are, which one a command is for, and what goes to the companion."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sublime

from ...chats.prompt import Draft
from ...editor import WindowId
from ...status.facts import ShownChat
from .. import package
from ..bridge import asked, expect, posted
from ..messenger import notify
from ..own_views import VIEWS
from ..panels import NO_ANSWER, STARTING, say
from ..windows import is_chat, is_folder_of, is_visible
from .clicks import Clicks
from .opening import FOLDER
from .prompt import ContextOffers, give_back, keep, kept_session
from .view import ChatView, agent_of, chat_id_of, folder_of, used_at, waiting_of

if TYPE_CHECKING:
    from ...agents import AgentCommand
    from ...chats.chats import Chats
    from ...chats.transcript.render import Render
    from ...editor import ChatId
    from ..adapter import Adapter

PATIENCE = 5000
"""Milliseconds until a person who has opened a chat is told that the companion doesn't answer."""

NOT_LOOKED_AT = "connects when its tab is shown"
NOT_HERE = "{folder} is no folder of this window. Add it, and the chat goes on."
MOVES_LATER = (
    "{agent} goes on working for the window that the chat came from. The chat moves here once the turn is over."
)
ENDED_WITH_WINDOW = "{agent} was ended before it was done, since the window that the chat came from has closed."
OTHER_TEXT = "The tab of a chat had other text than the prompt that was kept, so that text has a tab of its own."


class ChatViews:
    """Opens chats, and knows which one a view belongs to. Lives on the UI thread, but for `chat_screen.ChatsOnScreen`.

    A chat is named by the id of its view. In a window, commands are for the chat that has the focus, or had it last.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._adapter = adapter
        self.clicks = Clicks(adapter)
        self.context = ContextOffers(adapter)
        self._chats: dict[ChatId, ChatView] = {}
        self._closed: dict[ChatId, ChatView] = {}
        """The chats of windows that have closed: what waited in them comes back from the companion."""
        self._latest = 0
        """The time of the last use that was noted."""
        self.is_away = False
        """Whether another program has the focus, as far as the editor knows."""

    def tell(self, call: Callable[[Chats], object]) -> None:
        """Call something with the companion's chats, on the companion thread."""
        self._adapter.thread.post(lambda companion: call(companion.chats))

    def _notify(self, text: str) -> None:
        """Show a notification of the system, if the person wants any."""
        if self._adapter.settings.value("chat_notifications"):
            notify(text)

    @asked()
    def show_chat(self, chat: ChatId, render: Render) -> bool:
        if (shown := self._shown(chat)) is None:
            return False
        known = {ask.permission.id for ask in shown.asks}
        shown.marks.waiting = self._waiting(shown, render.locality.agent)
        shown.show(render, is_seen=self.is_seen(shown))
        if shown.home != shown.window and not shown.is_at_work:
            sublime.set_timeout(lambda: self._move_home(shown))
        if ended := shown.take_ended():
            say(shown.window, ended)
            self._notify(ended)
        fresh = next((ask.permission for ask in render.asks if ask.permission.id not in known), None)
        if fresh and not self.is_seen(shown):
            # What is asked may be private: a notification doesn't tell.
            self._notify(f"{shown.agent} asks in the chat.")
            say(shown.window, f"{shown.agent} asks in the chat: {' '.join(fresh.title.split())}")
        return True

    def review_changed(self, window: sublime.Window) -> None:
        """Other written changes wait in a window."""
        for chat in self.within(window):
            chat.show_waiting(self._waiting(chat, chat.agent))

    def _waiting(self, chat: ChatView, agent: str) -> int:
        """How many files wait for a review, if any of them was written while a chat's agent was at work."""
        listing = self._adapter.written.listings.of(chat.window)
        return len(listing.rows) if agent in listing.agents else 0

    @posted
    def return_draft(self, chat: ChatId, draft: Draft, why: str) -> None:
        shown = self._shown(chat)
        if shown:
            shown.take_back(draft)
        self._adapter.comments.prompt_returned(shown.agent if shown else None, draft.text)
        if shown:
            self._adapter.messenger.tell(why, WindowId(shown.window.id()))
        else:
            self._adapter.messenger.keep_text(None, "Prompt", draft.as_text, why)
            if closed := self._closed.get(chat):
                closed.is_back(draft)

    def _shown(self, chat: ChatId) -> ChatView | None:
        """A chat whose tab is there."""
        found = self._chats.get(chat)
        return found if found and found.view.is_valid() and is_chat(found.view) else None

    def within(self, window: sublime.Window | None) -> list[ChatView]:
        """The chats of a window."""
        return [chat for chat in self._chats.values() if chat.window == window]

    def of(self, window: sublime.Window | None) -> ChatView | None:
        """The chat of a window that a command is for: the one that has the focus, or had it last."""
        active = window.active_view() if window else None
        if active and (chat := self.find(active)):
            return chat
        return max(self.within(window), key=lambda chat: used_at(chat.view), default=None)

    def shown(self, window: sublime.Window) -> tuple[ShownChat, ...]:
        """The chats of a window for the status report, with those that nobody has looked at since a restart."""
        return tuple(
            chat.facts if (chat := self.find(view)) else ShownChat(view.name(), NOT_LOOKED_AT, folder_of(view))
            for view in window.views()
            if is_chat(view)
        )

    def find(self, view: sublime.View) -> ChatView | None:
        """The chat that is in a view."""
        return self._chats.get(chat_id_of(view)) if is_chat(view) else None

    def go_to(self, chat: ChatView) -> None:
        """Go to the prompt of a chat."""
        chat.window.focus_view(chat.view)
        self._used(chat)
        chat.text.to_prompt()

    def last(self, window: sublime.Window) -> ChatView | None:
        """The same as `of`, with the chats from before a restart or a reload that nobody has looked at since."""
        views = [
            view for view in window.views() if is_chat(view) and (self.find(view) or self._may_adopt(view, window))
        ]
        latest = max(views, key=used_at, default=None)
        chat = self.of(window)
        if latest is None or (chat and chat.view == window.active_view()):
            return chat
        return self.find(latest) or self._begin(latest, window)

    def open(self, window: sublime.Window, folder: str, agent: str = "", *, is_new: bool = False) -> ChatView:
        """Open another chat in a tab of its own.

        Unless it `is_new`, it takes up the conversation of the agent's tab that was closed last in that folder.
        """
        beside = self.of(window)
        VIEWS.remember(window, FOLDER, folder)
        view = window.new_file()
        if beside:
            group, index = window.get_view_index(beside.view)
            window.set_view_index(view, group, index + 1)
        session, chosen = ("", {}) if is_new else kept_session(window, folder, agent)
        VIEWS.take(view, "chat", folder=folder, agent=agent, session=session, chosen=chosen)
        chat = self._begin(view, window)
        self.go_to(chat)
        return chat

    def move(self, chat: ChatView, folder: str) -> None:
        """Have a chat work in another folder of its window."""

        def move(_: AgentCommand | None = None) -> None:
            VIEWS.remember(chat.window, FOLDER, folder)
            chat.record.keep(folder=folder)
            self._connect(chat, "")

        if folder != chat.folder and chat.agent_key:
            self._adapter.consent.renew(chat.agent_key, folder, move)
        elif folder != chat.folder:
            move()
        self.go_to(chat)

    def adopt_visible(self) -> None:
        """The package is loaded: take over the chats that are on the screen. The others follow when they are shown."""
        for window in sublime.windows():
            for view in window.views():
                if is_chat(view) and is_visible(view) and self.find(view) is None and self._may_adopt(view, window):
                    self._begin(view, window)

    @posted
    def resume_chat(self, chat: ChatId) -> None:
        view = sublime.View(chat)
        window = view.window() if view.is_valid() else None
        if window is None or not is_chat(view) or self.find(view):
            return
        if self._may_adopt(view, window):
            self._begin(view, window)
        else:
            self.tell(lambda chats: chats.close(chat))

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus. It may be a chat from before a restart or a reload, or one that was moved here."""
        if not is_chat(view):
            return
        chat = self.find(view)
        if chat:
            chat.window = window  # where panels open from now on
        if chat and chat.home != window and not chat.is_at_work:
            self._end(chat)
            chat = None
        elif chat and chat.home != window:
            # To begin anew here would end the agent in the middle of its turn.
            say(window, MOVES_LATER.format(agent=chat.agent))
        if chat is None and self._may_adopt(view, window):
            chat = self._begin(view, window)
        elif chat is None and not is_folder_of(window, folder_of(view)):
            say(window, NOT_HERE.format(folder=folder_of(view)))
        if chat:
            self._used(chat)
            chat.activated()
            self.context.look(window)

    def closing(self, view: sublime.View) -> None:
        """The view of a chat is about to close."""
        keep(view)
        if self.find(view) is None and chat_id_of(view) not in self._closed:
            # The companion may have inherited it, or it is from before a restart, and nobody has looked at it since.
            chat_id, waiting = chat_id_of(view), waiting_of(view)
            self.tell(lambda chats: chats.close(chat_id, waiting))

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        if chat := self._chats.get(chat_id_of(view)):
            self._end(chat)

    def became_file(self, view: sublime.View) -> None:
        """The person has saved a chat as a file: it is theirs, and what it shows stays as it is."""
        if chat := self._chats.get(chat_id_of(view)):
            self._end(chat)
            chat.release()

    def window_closed(self, window: sublime.Window) -> None:
        """A window is about to close. The companion notices that by itself."""
        for chat in list(self._chats.values()):
            if chat.window == chat.home == window:
                self._closed[chat.id] = self._chats.pop(chat.id)
                chat.close()
            elif chat.window == window:
                self._end(chat)
            elif chat.home == window:
                if chat.agent_key and chat.is_at_work:
                    say(chat.window, ENDED_WITH_WINDOW.format(agent=chat.agent))
                self._begin_anew(chat)

    def close_all(self) -> None:
        """The package is unloaded. The views stay for the next instance."""
        for chat in self._chats.values():
            chat.close()
        self._chats.clear()

    def redraw(self, chat: ChatView) -> None:
        """Have the whole text rendered again."""
        self._connect(chat, chat.session)

    def is_seen(self, chat: ChatView) -> bool:
        """Whether the person can see a chat, as far as the editor knows."""
        return is_visible(chat.view) and chat.view.window() == sublime.active_window() and not self.is_away

    def cancel(self, chat: ChatView) -> None:
        """End the turn that is shown to run, and not one that has begun meanwhile."""
        turn = chat.status.running
        chat.tell(lambda own: own.cancel(turn))

    def reconnect(self, chat: ChatView) -> None:
        """Try again now, with the command that the agent has in the settings now."""
        if not is_folder_of(chat.window, chat.folder):
            say(chat.window, NOT_HERE.format(folder=chat.folder))
        elif name := chat.agent_key:
            renewed = lambda agent: chat.tell(lambda own: own.reconnect(agent))  # noqa: E731
            self._adapter.consent.renew(name, chat.folder, renewed)
        else:
            chat.tell(lambda own: own.reconnect())

    def _connect(self, chat: ChatView, session: str) -> None:
        """Have the companion show a session in a chat, in the folder and with the agent that the chat has now."""
        if chat.render is None and not is_folder_of(chat.window, chat.folder):
            say(chat.window, NOT_HERE.format(folder=chat.folder))
            return
        window, folder, agent = WindowId(chat.window.id()), chat.folder, chat.agent_key
        kept: dict[str, Any] = {"chosen": chat.chosen, "waiting": chat.waiting}
        more = {name: value for name, value in kept.items() if value}
        self.tell(lambda chats: chats.open(chat.id, window, folder, session, agent, **more))

    def _begin(self, view: sublime.View, window: sublime.Window) -> ChatView:
        drafts = give_back(window, view)
        chat = ChatView(self._adapter, view, window)
        self._chats[chat.id] = chat
        self._closed.pop(chat.id, None)
        if replaced := chat.text.replaced:
            self._adapter.messenger.keep_text(WindowId(window.id()), "Prompt", replaced, OTHER_TEXT)
        for draft in drafts:
            chat.take_back(draft)
        self.redraw(chat)
        self.context.look(window)
        expect(
            lambda: self._chats.get(chat.id) is not chat or chat.render is not None,
            lambda: self._adapter.is_starting,
            patience=lambda: PATIENCE,
            starting=lambda: say(window, STARTING),
            silent=lambda: say(window, NO_ANSWER),
        )
        return chat

    def _move_home(self, chat: ChatView) -> None:
        """Nothing runs any more in a chat whose tab has come into another window: it is that window's from now on."""
        if self._chats.get(chat.id) is chat and chat.home != chat.window and not chat.is_at_work:
            self._begin_anew(chat)

    def _begin_anew(self, chat: ChatView) -> None:
        self._end(chat)
        if chat.view.is_valid() and self._may_adopt(chat.view, chat.window):
            self._begin(chat.view, chat.window)

    def _may_adopt(self, view: sublime.View, window: sublime.Window) -> bool:
        """Whether a view from before may be a chat again: no clone may, nor one in a window without its folder.

        An agent must be allowed in that folder: it is started without a question. An instance of the package that has
        ended takes up none.
        """
        agent, folder = agent_of(view), folder_of(view)
        is_over = package.adapter() is not self._adapter
        if is_over or not view.is_primary() or not is_folder_of(window, folder):
            return False
        return self._adapter.consent.allows(agent, folder) if agent else self._adapter.settings.value("chat_enabled")

    def _used(self, chat: ChatView) -> None:
        """Note that a chat has the focus, so that it is the last one."""
        self._latest = max(self._latest + 1, time.time_ns() // 1_000_000)
        chat.record.keep(used=self._latest)

    def _end(self, chat: ChatView) -> None:
        chat.end()
        if self._chats.pop(chat.id, None):
            self.tell(lambda chats: chats.close(chat.id))
