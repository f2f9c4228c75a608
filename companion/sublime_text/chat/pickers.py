"""The commands of the chat that open a panel or a dialog: models, modes, attachments, the list of conversations."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

import sublime
import sublime_plugin

from ...agents import DAEMON_AGENT
from ...chats.prompt import Excerpt, mention
from ...chats.transcript.plain import flat
from .. import package
from ..buffers import write_all
from ..panels import Page, PanelItem, choose, say
from ..places import Menu, if_there
from ..windows import is_code
from .chat_commands import _ChatCommand, is_chat_on
from .opening import have_chat
from .prompt import excerpt, find_picture, named, named_picture

if TYPE_CHECKING:
    from ...backends.agent import FoundSession, SessionInfo, SessionPage
    from ...chats.history import ChatSessions
    from ...conversation.snapshot import Choice, ChoiceKind, SessionOption
    from ..adapter import Adapter
    from .view import ChatView


NO_PICTURE = "There is no picture in the clipboard that can be read. Copy the path of its file, or attach the file."
PICTURES = ["png", "jpg", "jpeg", "gif", "webp"]
BECOMES_DEFAULT = f"The model becomes your default in {DAEMON_AGENT}, for other chats and terminals too"


class _SwitchCommand(_ChatCommand):
    """Switch to another model or mode."""

    kind: ChoiceKind
    question: str
    """What is asked, of an `agent`."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there are any to choose from."""
        return bool(self._choices(chat))

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which."""
        current: str = getattr(chat.status, self.kind)
        # The daemon's agent keeps the model for all that comes; another agent does so for the session.
        is_kept = self.kind == "model" and not chat.agent_key
        question = BECOMES_DEFAULT if is_kept else self.question.format(agent=chat.agent)
        _choose(chat, self._choices(chat), current, question, partial(self._switch, chat))

    def _choices(self, chat: ChatView) -> Sequence[Choice]:
        return getattr(chat.status, f"{self.kind}s")

    def _switch(self, chat: ChatView, identifier: str) -> None:
        chat.tell(lambda own: own.switch(self.kind, identifier))


def _choose(
    chat: ChatView, choices: Sequence[Choice], current: object, placeholder: str, picked: Callable[[str], object]
) -> None:
    """Ask for one of several; `current` is the id of the one that is marked."""
    items: list[PanelItem] = [(one.name or one.id, one.description, partial(picked, one.id)) for one in choices]
    marks = ["current" if one.id == current else "" for one in choices]
    selected = marks.index("current") if "current" in marks else -1
    choose(chat.window, items, placeholder, selected=selected, annotations=marks)


class QwenCompanionChatModelCommand(_SwitchCommand):
    """Switch the model."""

    kind = "model"
    question = "The model of {agent}"


class QwenCompanionChatModeCommand(_SwitchCommand):
    """Switch the approval mode; the agent says what each mode allows."""

    kind = "mode"
    question = "What {agent} may do without asking"


class QwenCompanionChatEffortCommand(_SwitchCommand):
    """Switch how long the model thinks, for the session."""

    kind = "effort"
    question = "How long the model thinks in this conversation"


class QwenCompanionChatOptionsCommand(_ChatCommand):
    """Set one of the agent's own options of the session."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether the agent has any."""
        return bool(chat.status.options)

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which one."""
        options = chat.status.options
        choices: list[PanelItem] = [(one.name, one.description, partial(_change, chat, one)) for one in options]
        choose(chat.window, choices, f"Options of {chat.agent}", annotations=[one.shown for one in options])


def _change(chat: ChatView, option: SessionOption) -> None:
    """Turn a switch over; ask for the value of anything else."""

    def set_to(value: str | bool) -> None:
        chat.tell(lambda own: own.set_option(option.id, value))

    if isinstance(option.value, bool):
        set_to(not option.value)
    else:
        _choose(chat, option.values, option.value, option.name, set_to)


class QwenCompanionDaemonCommand(_ChatCommand):
    """Show where the chat's daemon runs, and its configuration."""

    opens_chat = True

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """The page opens at once and is filled when the daemon answers."""
        page = Page(chat.window, "daemon", "Qwen: Where the Chat Runs")
        page.show("Asking the daemon…\n")
        chat.ask(lambda own: own.locality(), page.show, lambda why: page.show(f"{why}\n"))


class QwenCompanionChatAddCommand(sublime_plugin.WindowCommand):
    """Attach the selection to the next prompt, or else the file."""

    def run(self, **menu: Any) -> None:
        """What the agent can't read from a file goes as text: a selection, unsaved edits, another folder's file.

        `menu` is what the menu of the side bar or of a tab gives.
        """
        on = Menu.of(menu)
        adapter = package.adapter()
        if adapter and (paths := on.paths):

            def add(_: object) -> None:
                have_chat(self.window, lambda adapter, chat: _add_paths(adapter, chat, paths))

            if_there(adapter, self.window, paths, add)
        elif view := self._view(on):
            have_chat(self.window, lambda adapter, chat: _add(adapter, chat, view))

    def is_enabled(self, **menu: Any) -> bool:
        """Whether there is a text to add."""
        on = Menu.of(menu)
        return self._view(on) is not None if on.paths is None else bool(on.paths)

    def is_visible(self, **menu: Any) -> bool:
        """Whether there is something to add, and the person has turned on the chat or has picked an agent."""
        return is_chat_on(self.window) and self.is_enabled(**menu)

    def _view(self, on: Menu) -> sublime.View | None:
        if on.index is not None:
            return on.tab(self.window)
        view, adapter = self.window.active_view(), package.adapter()
        if view and is_code(view):
            return view
        return adapter.focus.last_code(self.window) if adapter else None


def _add(adapter: Adapter, chat: ChatView, view: sublime.View) -> None:
    path = view.file_name()
    uri, name = named(view)
    if why := adapter.refusal(chat.window, [path or name]):
        say(chat.window, why)
        return
    selected = [region for region in view.sel() if not region.empty()]
    if selected:
        chat.excerpts += [excerpt(view, region) for region in selected]
    elif path and not view.is_dirty() and (relative := _relative(chat, path)):
        _mention(chat, relative)
    else:
        chat.excerpts.append(Excerpt(uri, name, view.substr(sublime.Region(0, view.size()))))
    chat.attached_changed()
    adapter.chats.go_to(chat)


def _add_paths(adapter: Adapter, chat: ChatView, paths: Sequence[str]) -> None:
    """Mention files and folders. Those outside of the chat's folder and those that are excluded can't be mentioned."""
    refused = {path: why for path in paths if (why := adapter.refusal(chat.window, [path]))}
    found = [(path, _relative(chat, path)) for path in paths if path not in refused]
    for _, relative in found:
        if relative:
            _mention(chat, relative)
    adapter.chats.go_to(chat)
    outside = [PurePath(path).name for path, relative in found if not relative]
    if refused:
        say(chat.window, next(iter(refused.values())))
    elif outside:
        say(chat.window, f"{outside[0]} is not in the folder of the chat, so {chat.agent} could not read it.")


def _relative(chat: ChatView, path: str) -> str | None:
    """A file's path in the chat's folder, None if the daemon doesn't have it there."""
    is_local = chat.render is None or chat.render.locality.is_local
    if not is_local or not chat.folder or not PurePath(path).is_relative_to(chat.folder):
        return None
    return PurePath(path).relative_to(chat.folder).as_posix()


def _mention(chat: ChatView, path: str) -> None:
    prompt = chat.text.prompt
    blank = "" if not prompt or prompt[-1].isspace() else " "
    chat.text.write(f"{prompt}{blank}{mention(path)} ")


class QwenCompanionChatPictureCommand(_ChatCommand):
    """Attach a picture to the next prompt: a file, or what is in the clipboard."""

    opens_chat = True

    def run(self, path: str | None = None, clipboard: bool = False) -> None:
        """`path` is that of its file. With `clipboard` the picture there, or the one whose path is there.

        Without either, the person picks a file; or one of the two if there may be a picture in the clipboard.
        """
        have_chat(self.window, lambda adapter, chat: self._attach(adapter, chat, path, clipboard=clipboard))

    def _attach(self, adapter: Adapter, chat: ChatView, path: str | None, *, clipboard: bool) -> None:
        attach = partial(_attach_pictures, adapter, chat)

        def ask() -> None:
            sublime.open_dialog(attach, [("Pictures", PICTURES)], chat.folder or None, multi_select=True)

        text = sublime.get_clipboard()
        if path:
            attach(os.path.expanduser(path))
        elif clipboard:
            _paste_picture(adapter, chat)
        elif text and not named_picture(text):
            ask()
        else:
            choices: list[PanelItem] = [
                ("From a File…", "", ask),
                ("From the Clipboard", named_picture(text) or "", lambda: _paste_picture(adapter, chat)),
            ]
            choose(chat.window, choices, "The picture to attach to the next prompt")


def _attach_pictures(adapter: Adapter, chat: ChatView, found: str | list[str] | None) -> None:
    chosen = found if isinstance(found, list) else [found] if found else []
    if why := adapter.refusal(chat.window, chosen):
        say(chat.window, why)
    elif chosen:
        chat.pictures += chosen
        chat.attached_changed()
        adapter.chats.go_to(chat)


def _paste_picture(adapter: Adapter, chat: ChatView) -> None:
    """Attach the picture in the clipboard, or the one whose path is there."""

    def taken(path: str | None) -> None:
        if path is None:
            say(chat.window, NO_PICTURE)
        elif chat.view.is_valid():
            chat.pictures.append(path)
            chat.attached_changed()

    folder, system, text = Path(sublime.cache_path(), "QwenCompanion"), sublime.platform(), sublime.get_clipboard()
    adapter.on_another_thread(lambda: find_picture(folder / "pictures", system, text), taken)


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
    chat.ask(
        lambda own: own.sessions.page(cursor, is_archived=is_archived),
        lambda page: _list(adapter, chat, page, is_first=not cursor, is_archived=is_archived),
    )


def _list(adapter: Adapter, chat: ChatView, page: SessionPage, *, is_first: bool, is_archived: bool) -> None:
    choices: list[PanelItem] = []
    if is_first and not is_archived:
        choices += [
            ("New Chat", "", lambda: chat.tell(lambda own: own.show())),
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
            chat.ask(lambda own: own.sessions.search(words), partial(_list_found, adapter, chat))

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

    def _ask(self, question: Callable[[ChatSessions], Coroutine[Any, Any, None]], done: str) -> None:
        """Ask the companion to do something, and say that it is done."""
        self._chat.ask(lambda own: question(own.sessions), lambda _: say(self._chat.window, done) if done else None)

    def _open(self) -> None:
        other = _chat_with(self._adapter, self._chat, self._session)
        if other:
            self._adapter.chats.go_to(other)
            return
        self._chat.tell(lambda own: own.show(self._session.id))

    def _reopen(self) -> None:
        self._ask(lambda sessions: sessions.reopen(self._session.id), "")

    def _ask_title(self) -> None:
        self._chat.window.show_input_panel("Title:", self._session.title, self._rename, None, None)

    def _rename(self, title: str) -> None:
        if title.strip():
            self._ask(lambda sessions: sessions.rename(self._session.id, title.strip()), "Renamed.")

    def _pin(self) -> None:
        pins = not self._session.is_pinned
        done = "Pinned." if pins else "No longer pinned."
        self._ask(lambda sessions: sessions.pin(self._session.id, is_pinned=pins), done)

    def _archive(self) -> None:
        archives = not self._session.is_archived
        done = "Archived." if archives else "Taken out of the archive."
        self._ask(lambda sessions: sessions.archive(self._session.id, is_archived=archives), done)

    def _delete(self) -> None:
        question = (
            f"Delete the conversation “{flat(_title(self._session), 80)}” and its history? It can't be brought back."
        )
        if sublime.ok_cancel_dialog(question, "Delete", "QwenCompanion"):
            self._ask(lambda sessions: sessions.delete(self._session.id), "Deleted.")

    def _ask_form(self) -> None:
        forms: list[PanelItem] = [(name, f".{form}", partial(self._export, form)) for form, name in FORMS.items()]
        choose(self._chat.window, forms, "Export as")

    def _export(self, form: Form) -> None:
        session = self._session
        self._chat.ask(
            lambda own: own.sessions.export(session.id, form, is_archived=session.is_archived),
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
