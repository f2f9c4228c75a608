"""The command that lists the conversations: page by page, searched, and what can be done with one of them."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

import sublime

from ...chats.transcript.plain import flat
from ..buffers import write_all
from ..panels import PanelItem, choose, say
from .chat_commands import _ChatCommand, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

    from ...backends.agent import FoundSession, SessionInfo, SessionPage
    from ...chats.chats import Chats
    from ..adapter import Adapter
    from .view import ChatView

Form = Literal["md", "html", "json", "jsonl"]
FORMS: dict[Form, str] = {
    "md": "Markdown",
    "html": "A page for the browser",
    "json": "JSON",
    "jsonl": "JSON lines",
}


class QwenCompanionChatSessionsCommand(_ChatCommand):
    """Open, search, rename, pin, archive, export or delete one of the conversations in the chat's folder."""

    opens_chat = begins = True
    needs = "sessions"

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """List them and ask which."""
        _ask_page(adapter, chat)


def _ask_page(adapter: Adapter, chat: ChatView, cursor: str = "", *, is_archived: bool = False) -> None:
    """List a page of them: the first one, or the one at a cursor; or those in the archive."""
    ask(
        adapter,
        chat,
        lambda chats: chats.sessions.page(chat.id, cursor, is_archived=is_archived),
        lambda page: _list(adapter, chat, page, is_first=not cursor, is_archived=is_archived),
    )


def _list(adapter: Adapter, chat: ChatView, page: SessionPage, *, is_first: bool, is_archived: bool) -> None:
    choices: list[PanelItem] = []
    if is_first and not is_archived:
        choices += [
            ("New Chat", "", lambda: adapter.chats.begin(chat)),
            ("Search…", "In what was said in all of them", lambda: _ask_words(adapter, chat)),
        ]
    head = len(choices)
    choices += [
        (_title(one), _details(adapter, chat, one), partial(_ask_what, adapter, chat, one)) for one in page.sessions
    ]
    annotations = [*[""] * head, *map(_when, page.sessions)]
    if page.cursor:
        choices.append(("Older…", "", lambda: _ask_page(adapter, chat, page.cursor, is_archived=is_archived)))
    if not is_archived:
        choices.append(("Archive…", "", lambda: _ask_page(adapter, chat, is_archived=True)))
    elif not choices:
        say(chat.window, "The archive is empty.")
        return
    current = next((at for at, one in enumerate(page.sessions, head) if one.id == chat.session), -1)
    placeholder = "The archived conversations of this folder" if is_archived else "The conversations in this folder"
    choose(chat.window, choices, placeholder, selected=current, annotations=annotations)


def _ask_words(adapter: Adapter, chat: ChatView) -> None:
    """Ask what to search for."""

    def search(words: str) -> None:
        if words := words.strip():
            ask(adapter, chat, lambda chats: chats.sessions.search(chat.id, words), partial(_list_found, adapter, chat))

    chat.window.show_input_panel("Search the conversations:", "", search, None, None)


def _list_found(adapter: Adapter, chat: ChatView, found: Sequence[FoundSession]) -> None:
    if not found:
        say(chat.window, "No conversation has these words.")
        return
    choices: list[PanelItem] = [
        (_title(one.session), one.snippet, partial(_ask_what, adapter, chat, one.session)) for one in found
    ]
    marks = [_when(one.session) for one in found]
    choose(chat.window, choices, "The conversations with these words", annotations=marks)


def _ask_what(adapter: Adapter, chat: ChatView, session: SessionInfo) -> None:
    choose(chat.window, _Actions(adapter, chat, session).choices(), _title(session))


class _Actions:
    """What can be done with one of the conversations."""

    def __init__(self, adapter: Adapter, chat: ChatView, session: SessionInfo) -> None:
        self._adapter = adapter
        self._chat = chat
        self._session = session

    def choices(self) -> list[PanelItem]:
        """The rows to choose from. One in the archive can't be renamed or pinned there."""
        session = self._session
        if session.is_archived:
            return [
                ("Open", "It comes out of the archive", self._reopen),
                ("Take Out of the Archive", "", self._archive),
                ("Export…", "", self._ask_form),
                ("Delete…", "", self._delete),
            ]
        return [
            ("Open", "", self._open),
            ("Rename…", "", self._ask_title),
            ("Unpin", "", self._pin) if session.is_pinned else ("Pin", "Keep it at the top of the list", self._pin),
            ("Archive", "", self._archive),
            ("Export…", "", self._ask_form),
            ("Delete…", "", self._delete),
        ]

    def _ask(self, question: Callable[[Chats], Coroutine[Any, Any, None]], done: str) -> None:
        """Ask the companion to do something, and say that it is done."""
        ask(self._adapter, self._chat, question, lambda _: say(self._chat.window, done) if done else None)

    def _open(self) -> None:
        other = _chat_with(self._adapter, self._chat, self._session)
        if other:
            self._adapter.chats.go_to(other)
            return
        self._adapter.thread.post(lambda companion: companion.chats.sessions.resume(self._chat.id, self._session.id))

    def _reopen(self) -> None:
        self._ask(lambda chats: chats.sessions.reopen(self._chat.id, self._session.id), "")

    def _ask_title(self) -> None:
        self._chat.window.show_input_panel("Title:", self._session.title, self._rename, None, None)

    def _rename(self, title: str) -> None:
        if title.strip():
            self._ask(lambda chats: chats.sessions.rename(self._chat.id, self._session.id, title.strip()), "Renamed.")

    def _pin(self) -> None:
        pins = not self._session.is_pinned
        done = "Pinned." if pins else "No longer pinned."
        self._ask(lambda chats: chats.sessions.pin(self._chat.id, self._session.id, is_pinned=pins), done)

    def _archive(self) -> None:
        archives = not self._session.is_archived
        done = "Archived." if archives else "Taken out of the archive."
        self._ask(lambda chats: chats.sessions.archive(self._chat.id, self._session.id, is_archived=archives), done)

    def _delete(self) -> None:
        question = (
            f"Delete the conversation “{flat(_title(self._session), 80)}” and its history? It can't be brought back."
        )
        if sublime.ok_cancel_dialog(question, "Delete", "QwenCompanion"):
            self._ask(lambda chats: chats.sessions.delete(self._chat.id, self._session.id), "Deleted.")

    def _ask_form(self) -> None:
        forms: list[PanelItem] = [(name, f".{form}", partial(self._export, form)) for form, name in FORMS.items()]
        choose(self._chat.window, forms, "Export as")

    def _export(self, form: Form) -> None:
        session = self._session
        ask(
            self._adapter,
            self._chat,
            lambda chats: chats.sessions.export(self._chat.id, session.id, form, is_archived=session.is_archived),
            lambda text: self._show(text, form),
        )

    def _show(self, text: str, form: Form) -> None:
        view = self._chat.window.new_file()
        view.set_name(f"{_title(self._session)}.{form}")
        view.set_scratch(True)
        if syntax := sublime.find_syntax_for_file(f"x.{form}"):
            view.assign_syntax(syntax)
        write_all(view, text)
        view.sel().clear()
        view.sel().add(0)


def _chat_with(adapter: Adapter, chat: ChatView, session: SessionInfo) -> ChatView | None:
    """Another chat of the window that shows a session already: two tabs with one would get in each other's way."""
    others = (each for each in adapter.chats.within(chat.window) if each is not chat)
    return next((each for each in others if (each.agent_key, each.session) == (chat.agent_key, session.id)), None)


def _title(session: SessionInfo) -> str:
    return session.title or "Untitled"


def _when(session: SessionInfo) -> str:
    pinned = "pinned" if session.is_pinned else ""
    try:
        latest = datetime.fromisoformat(session.updated_at or session.created_at).astimezone()
    except ValueError:
        return pinned
    return " · ".join(filter(None, (pinned, latest.strftime("%Y-%m-%d %H:%M"))))


def _details(adapter: Adapter, chat: ChatView, session: SessionInfo) -> str:
    facts = {
        "shown here": session.id == chat.session,
        "in another tab": _chat_with(adapter, chat, session) is not None,
        "waits for your permission": session.is_waiting_for_permission,
        "waits for your answer": session.is_waiting_for_user_question,
        "works": session.has_active_prompt,
        f"{session.client_count} clients": session.client_count > 1,
    }
    return " · ".join(fact for fact, holds in facts.items() if holds)
