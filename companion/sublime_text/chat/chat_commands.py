"""The commands of the chat: in its view, and about its conversation, its changes and its tasks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import sublime
import sublime_plugin

from ...chats.prompt import open_mention
from .. import buffers, package
from ..panels import Page, PanelItem, changed_file, choose, say, show_turn
from .clicks import waiting
from .html import CONTINUED, shortened
from .opening import choose_folder, have_chat, open_with
from .prompt import send_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...chats.history import ChangedFile, RewindTarget, TurnChanges
    from ...chats.prompt import Draft
    from ...conversation.snapshot import Task
    from ..adapter import Adapter
    from .view import ChatView


def is_chat_on(window: sublime.Window) -> bool:
    """Whether the person has turned on the chat, has picked an agent, or has a chat open in the window."""
    adapter = package.adapter()
    if adapter is None:
        return False
    return bool(adapter.settings.value("chat_enabled") or adapter.consent.last or adapter.chats.within(window))


class _ChatCommand(sublime_plugin.WindowCommand):
    """A command for the chat of the window that has the focus, or had it last."""

    opens_chat = False
    """Whether the command opens the chat first if the window has none."""
    begins = False
    """Whether the palette and the menus have it without a chat, too, once the chat is on."""
    needs = ""
    """What the agent must be able to do, if it is a `Feature` (`Status.lacks`)."""

    def is_enabled(self) -> bool:
        """Whether there is a chat for which it makes sense, or one may be opened."""
        chat = self.chat()
        return self.opens_chat if chat is None else self.makes_sense(chat)

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether the command can do something now."""
        return True

    def is_visible(self) -> bool:
        """Whether it can do something now, and the chat's agent can do it at all, as far as is known."""
        chat = self.chat()
        if chat is None:
            return self.begins and is_chat_on(self.window)
        return self.is_enabled() and self.needs not in chat.status.lacks

    def chat(self) -> ChatView | None:
        """The chat that the command is for."""
        adapter = package.adapter()
        return adapter.chats.of(self.window) if adapter else None

    def run(self) -> None:
        """Do it."""
        if self.opens_chat:
            have_chat(self.window, self.on_chat)
        elif (adapter := package.adapter()) and (chat := adapter.chats.of(self.window)):
            self.on_chat(adapter, chat)

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """What the command does."""
        raise NotImplementedError


class QwenCompanionChatCommand(sublime_plugin.WindowCommand):
    """Go to the chat that had the focus last, or open one."""

    def run(self) -> None:
        """The focus goes to its prompt."""
        have_chat(self.window, lambda adapter, chat: adapter.chats.go_to(chat))


class QwenCompanionChatWithCommand(sublime_plugin.WindowCommand):
    """Open a further chat, with an agent that you pick."""

    def run(self) -> None:
        """Ask which."""
        open_with(self.window)

    def is_visible(self) -> bool:
        """Whether the chat is on: “Chat” turns it on, and asks for the agent too."""
        return is_chat_on(self.window)


class QwenCompanionChatSendCommand(sublime_plugin.WindowCommand):
    """Send a prompt."""

    def run(self, text: str | None = None, mid_turn: bool = False) -> None:
        """`text`, or the content of the prompt; with `mid_turn` into the running turn, if there is one."""
        have_chat(self.window, lambda adapter, chat: send_prompt(adapter, chat, text, mid_turn=mid_turn))

    def is_visible(self, text: str | None = None, mid_turn: bool = False) -> bool:
        """Whether there is something to send."""
        adapter = package.adapter()
        chat = adapter.chats.of(self.window) if adapter else None
        return chat is not None and bool(text or chat.text.prompt.strip())


class QwenCompanionChatCancelCommand(_ChatCommand):
    """End the turn that runs, or the start of an agent."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether one runs."""
        return chat.status.running is not None or chat.status.connection.can_be_cancelled

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask the daemon."""
        adapter.chats.cancel(chat)


class QwenCompanionChatContinueCommand(_ChatCommand):
    """Continue the last turn, which was interrupted or has failed."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there is one."""
        return chat.status.last in CONTINUED

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask the daemon."""
        adapter.chats.clicks.do(chat, "go_on")


class QwenCompanionChatEarlierCommand(_ChatCommand):
    """Show earlier turns of a long conversation."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there are any."""
        return chat.status.has_earlier

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask for a page of them."""
        adapter.chats.clicks.do(chat, "show_earlier")


class QwenCompanionChatLeaveOutCommand(_ChatCommand):
    """Leave out the active file and its selection, which would go with the prompt by themselves."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether they would."""
        return chat.context is not None

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Until another file is active."""
        chat.leave_out()


class QwenCompanionChatReconnectCommand(_ChatCommand):
    """Connect again now."""

    def is_visible(self) -> bool:
        """Whether the connection is lost; a key connects anew at any time."""
        chat = self.chat()
        return chat is not None and chat.status.connection.state != "live"

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """The conversation stays."""
        adapter.chats.reconnect(chat)


class QwenCompanionChatNewCommand(_ChatCommand):
    """Begin a new conversation with the same agent, in the same tab."""

    opens_chat = True

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """The one before stays in the list."""
        chat.tell(lambda own: own.show())


class QwenCompanionChatFolderCommand(_ChatCommand):
    """Have the chat work in another folder of the window."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there is another folder."""
        return any(folder != chat.folder for folder in chat.window.folders())

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which. The conversation of the other folder, or a new one, is shown then."""
        choose_folder(chat.window, chat.folder, partial(adapter.chats.move, chat), "current")


class QwenCompanionChatLinksCommand(_ChatCommand):
    """Use one of the links of the chat without the mouse."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there is one."""
        adapter = package.adapter()
        return adapter is not None and any(adapter.chats.clicks.links(chat))

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which."""
        choices: list[PanelItem] = [
            (item.caption, item.line, partial(adapter.chats.clicks.do, chat, item.href))
            for item in adapter.chats.clicks.links(chat)
        ]
        choose(chat.window, choices, "The links of the chat")


class QwenCompanionChatAnswerCommand(sublime_plugin.WindowCommand):
    """Answer the oldest permission of the chat that has the focus, or had it last; or of one that the person picks."""

    def run(self, kind: str = "", number: int = 0) -> None:
        """`kind` is that of an option: allow_once, allow_always, reject_once or reject_always.

        `number` takes one of the answers that are offered, from 1.
        """
        adapter = package.adapter()
        chat = adapter.chats.of(self.window) if adapter else None
        if adapter is None or chat is None:
            return
        if waiting(chat):
            if number:
                adapter.chats.clicks.choose(chat, number)
            else:
                adapter.chats.clicks.answer(chat, kind)
            return
        # Another chat is never answered without its question being seen.
        choices: list[PanelItem] = [
            (permission.title, each.agent, partial(adapter.chats.clicks.answer, each, kind))
            for each in adapter.chats.within(self.window)
            if (permission := waiting(each))
        ]
        choose(self.window, choices, "What other chats of this window ask")

    def is_enabled(self, kind: str = "", number: int = 0) -> bool:
        """Whether one waits."""
        adapter = package.adapter()
        return adapter is not None and any(map(waiting, adapter.chats.within(self.window)))


class _ChatTextCommand(sublime_plugin.TextCommand):
    """A command on the chat in the view."""

    def is_enabled(self, **_args: Any) -> bool:
        """Whether there is one."""
        return self.chat() is not None

    def is_visible(self) -> bool:
        """Not in a menu."""
        return False

    def chat(self) -> ChatView | None:
        """The chat in the view."""
        adapter = package.adapter()
        return adapter.chats.find(self.view) if adapter else None


class QwenCompanionChatHomeCommand(_ChatTextCommand):
    """Go to the beginning of the line, or of the prompt in it."""

    def run(self, edit: sublime.Edit, extend: bool = False) -> None:
        """With `extend`, select up to there."""
        if (chat := self.chat()) is None:
            return
        moved: list[sublime.Region] = []
        for region in self.view.sel():
            start = self.view.line(region.b).begin()
            start = max(start, chat.text.length) if region.b >= chat.text.length else start
            moved.append(sublime.Region(region.a if extend else start, start))
        self.view.sel().clear()
        self.view.sel().add_all(moved)


class QwenCompanionChatRecallCommand(_ChatTextCommand):
    """Put an earlier prompt into the input."""

    def run(self, edit: sublime.Edit, by: int) -> None:
        """`by` is -1 for the one before, 1 for the one after."""
        if (chat := self.chat()) and (text := chat.step(by)) is not None:
            chat.text.write(text)


class QwenCompanionChatSuggestionCommand(_ChatTextCommand):
    """Take the suggested prompt, which is shown in grey, into the input."""

    def run(self, edit: sublime.Edit) -> None:
        """The person may edit it before it is sent."""
        if (chat := self.chat()) and (suggestion := chat.suggestion):
            chat.text.write(suggestion)


class QwenCompanionChatUndoCommand(_ChatTextCommand):
    """Undo or redo in the prompt."""

    def run(self, edit: sublime.Edit, by: int) -> None:
        """`by` is -1 to undo, 1 to redo."""
        if chat := self.chat():
            chat.text.take_step(by)


class QwenCompanionChatFollowCommand(_ChatTextCommand):
    """Open the file that is named at the caret, or unfold or fold what begins in its line."""

    def run(self, edit: sublime.Edit) -> None:
        """Do the first of these that applies."""
        carets = [region.b for region in self.view.sel()]
        if carets and (adapter := package.adapter()) and (chat := self.chat()):
            adapter.chats.clicks.follow(chat, carets[0])


class QwenCompanionChatTypeCommand(_ChatTextCommand):
    """Type into the prompt while the caret is elsewhere."""

    def run(self, edit: sublime.Edit, character: str) -> None:
        """`character` is the key."""
        if chat := self.chat():
            chat.text.to_prompt()
            self.view.run_command("insert", {"characters": character})


class QwenCompanionChatCompleteCommand(_ChatTextCommand):
    """Complete the mention or the slash command before the caret."""

    def run(self, edit: sublime.Edit, text: str) -> None:
        """`text` replaces its beginning."""
        if (chat := self.chat()) is None or not chat.text.is_in_prompt:
            return
        caret = self.view.sel()[0].b
        before = self.view.substr(sublime.Region(chat.text.length, caret))
        found = open_mention(before) if text.startswith("@") else (0, "")
        start = chat.text.length + (found[0] if found else len(before))
        buffers.edit(self.view, [(start, caret, text)])
        self.view.sel().clear()
        self.view.sel().add(start + len(text))


SHOWN = "task"
"""In the record of a task's page: which chat's task it shows."""
STEP = 1000
"""Milliseconds between two looks at a task that is followed."""
NONE = "Nothing has run in the background in this conversation."


class QwenCompanionChatTasksCommand(_ChatCommand):
    """List what the agent does in the background; follow or stop it."""

    needs = "tasks"

    def is_visible(self) -> bool:
        """Whether anything was begun in the background, as far as the chat shows."""
        chat = self.chat()
        return super().is_visible() and chat is not None and bool(chat.status.tasks)

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which."""
        chat.ask(lambda own: own.tasks.all(), partial(_list_tasks, chat))


def _list_tasks(chat: ChatView, found: Sequence[Task]) -> None:
    if not found:
        say(chat.window, NONE)
        return
    choices: list[PanelItem] = [
        (task.title, f"{task.status}, {task.duration}", partial(_ask_about_task, chat, task)) for task in found
    ]
    choose(chat.window, choices, "Background tasks")


def _ask_about_task(chat: ChatView, task: Task) -> None:
    if not task.is_running:
        _follow(chat, task)
        return

    def stop() -> None:
        chat.ask(lambda own: own.tasks.stop(task), partial(say, chat.window))

    follow = partial(_follow, chat, task)
    choices: list[PanelItem] = [("Follow", "Show what it does in a tab", follow), ("Stop", "", stop)]
    choose(chat.window, choices, task.title)


def _follow(chat: ChatView, task: Task) -> None:
    """Show a task in a tab, and keep that up to date as long as the task runs and the tab shows it."""
    page = Page(chat.window, "task", f"Qwen: {task.title}")
    # The ids of tasks are those of the chat.
    shown = f"{chat.id}:{task.id}"
    page.record.keep(**{SHOWN: shown})
    page.show("Asking the daemon…\n")

    def look() -> None:
        if page.is_open and page.record.get(SHOWN) == shown:
            chat.ask(lambda own: own.tasks.page(task.id), show, fail)

    def fail(why: str) -> None:
        page.show(f"{why}\n")

    def show(told: tuple[str, bool]) -> None:
        text, is_running = told
        if page.is_open and page.record.get(SHOWN) == shown:
            page.show(text)
        if is_running:
            sublime.set_timeout(look, STEP)

    look()


MORE = "The daemon knows of changes of more files since this prompt."
BY_TOOLS = "As the agent's tools have told it: the files were not looked at here."


class QwenCompanionChatChangesCommand(_ChatCommand):
    """List all files that a turn has changed, and show their diffs."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether something was said."""
        return chat.status.last is not None

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """List those of the latest turn that has changed any."""
        chat.ask(lambda own: own.changes.by_turn(), lambda found: _list_changes(chat, found, 0))


def _list_changes(chat: ChatView, found: Sequence[TurnChanges], at: int) -> None:
    turn = found[at]
    items = [changed_file(file.name.rpartition("/")[2], file.path, file.inserted, file.deleted) for file in turn.files]
    total = f"{'1 file' if len(turn.files) == 1 else f'{len(turn.files)} files'}, +{turn.inserted} −{turn.deleted}"
    told = MORE if turn.is_untold else BY_TOOLS if turn.by_tools else ""
    items.append(sublime.QuickPanelItem("All of them", told, total))
    if len(found) > 1:
        items.append(sublime.QuickPanelItem("Another turn…"))

    def picked(index: int) -> None:
        if index > len(turn.files):
            sublime.set_timeout(lambda: _list_turns(chat, found))
        elif index >= 0:
            _show_changes(chat, turn, turn.files[index] if index < len(turn.files) else None)

    placeholder = f"Changed after “{shortened(turn.text)}”"
    chat.window.show_quick_panel(items, picked, placeholder=placeholder)


def _list_turns(chat: ChatView, found: Sequence[TurnChanges]) -> None:
    choices: list[PanelItem] = [
        (
            shortened(turn.text) or "Without a prompt",
            ", ".join(file.name for file in turn.files),
            lambda at=at: _list_changes(chat, found, at),
        )
        for at, turn in enumerate(found)
    ]
    marks = [f"+{turn.inserted} −{turn.deleted}" for turn in found]
    choose(chat.window, choices, "The turns that have changed files", annotations=marks)


def _show_changes(chat: ChatView, turn: TurnChanges, file: ChangedFile | None) -> None:
    """Show the diffs of a turn in a tab, at one of the files."""
    first = turn.files.index(file) if file else -1
    show_turn(chat.window, turn.turn, [each.diff for each in turn.files], BY_TOOLS if turn.by_tools else "", first)


NAMED = 5
"""Files that are named; more are counted."""
_LENGTH = 100
"""Characters of a prompt in the list."""


class _PastCommand(_ChatCommand):
    """A command on what was said before."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether something was said, and no turn runs."""
        return chat.status.last is not None and chat.status.running is None


class QwenCompanionChatRewindCommand(_PastCommand):
    """Go back to an earlier prompt: forget it and what came of it, or write it anew. The files can go back too."""

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """List the prompts with what going back would undo, and ask which."""
        chat.ask(lambda own: own.history.targets(), partial(_list_prompts, chat))


def _list_prompts(chat: ChatView, found: Sequence[RewindTarget]) -> None:
    choices: list[PanelItem] = [
        (
            shortened(one.text, _LENGTH),
            undone(one) or "No file has changed since then",
            partial(_ask_to_rewind, chat, one),
        )
        for one in found
    ]
    choose(chat.window, choices, "Go back to before this prompt")


def _ask_to_rewind(chat: ChatView, to: RewindTarget) -> None:
    """Ask what to do with the prompt and with the files."""

    def rewind(*, edits: bool, undo_files: bool) -> None:
        def done(told: tuple[str, Draft]) -> None:
            sentence, draft = told
            if edits:
                chat.take_back(draft)
                chat.text.to_prompt()
            say(chat.window, sentence)

        chat.ask(lambda own: own.history.rewind(to, undo_files=undo_files), done)

    files = "1 file" if to.count == 1 else f"{to.count} files"
    edit = "Edit this prompt"
    choices: list[PanelItem] = []
    if not to.rewinds and to.count:
        choices.append((f"Undo {files}", undone(to), partial(rewind, edits=False, undo_files=True)))
        choices.append((f"{edit}, and undo {files}", undone(to), partial(rewind, edits=True, undo_files=True)))
    elif not to.rewinds:
        choices.append((edit, "", partial(rewind, edits=True, undo_files=False)))
    for caption, edits in (("Rewind", False), (edit, True)) if to.rewinds else ():
        if to.count:
            choices.append((f"{caption}, and undo {files}", undone(to), partial(rewind, edits=edits, undo_files=True)))
        leaving = f"{caption}, and leave the files as they are" if to.count else caption
        choices.append((leaving, "", partial(rewind, edits=edits, undo_files=False)))
    choose(chat.window, choices, f"Back to before “{shortened(to.text, _LENGTH)}”")


def undone(to: RewindTarget) -> str:
    """What going back can undo: the files, as far as they are known, and how many lines; empty if nothing."""
    if not to.count:
        return ""
    named = list(to.files[:NAMED])
    if others := max(0, to.count - len(named)):
        named.append(f"{others} {'more' if named else 'file' if others == 1 else 'files'}")
    lines = f" (+{to.inserted} −{to.deleted})" if to.inserted or to.deleted else ""
    return f"Changed since then: {', '.join(named)}{lines}"


class QwenCompanionChatForkCommand(_PastCommand):
    """Go on in a copy of the conversation. The original stays as it is."""

    needs = "fork"

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask the daemon, and show the copy."""
        chat.ask(lambda own: own.history.fork(), lambda _: None)
