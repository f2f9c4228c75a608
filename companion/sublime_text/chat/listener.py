"""What Sublime tells of the chats' views: keys, clicks, carets, completions, commands that would edit a transcript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sublime
import sublime_plugin

from ...chats.prompt import mention, offered, open_mention
from .. import buffers, package
from ..minihtml import safe
from ..panels import lines_to_clipboard, say
from ..windows import is_chat, is_code
from .clicks import waiting
from .prompt import open_command
from .vim import is_enter, is_insert, is_needless_escape, is_normal

if TYPE_CHECKING:
    from .view import ChatView

Args = dict[str, Any] | None
CONTEXT = "qwen_companion.chat"
"""The context that holds in a chat. The others begin with it."""
_STEPS = {"undo": -1, "soft_undo": -1, "redo": 1, "soft_redo": 1, "redo_or_repeat": 1}
_PASTES = {"paste", "paste_and_indent"}
_DELETIONS = {"left_delete", "delete_word", "run_macro_file"}
_INPUT = {"insert", "insert_snippet", *_PASTES}
_OF_LINES = {
    "indent",
    "unindent",
    "reindent",
    "join_lines",
    "swap_line_up",
    "swap_line_down",
    "toggle_comment",
    "sort_lines",
    "permute_lines",
    "transpose",
    "wrap_lines",
    "delete_to_mark",
}
"""Commands that change whole lines. The first line of a prompt begins with the transcript's end."""
_OF_ALL_LINES = {"sort_lines", "permute_lines", "reindent", "wrap_lines"}
"""Commands that change more than the lines of the carets where nothing is selected, up to the whole text."""
_OF_CARETS_LINES = {"copy", "cut", "duplicate_line"}
"""Commands that do so where nothing is selected."""

_FLAGS = (
    sublime.AutoCompleteFlags.INHIBIT_WORD_COMPLETIONS
    | sublime.AutoCompleteFlags.INHIBIT_EXPLICIT_COMPLETIONS
    | sublime.AutoCompleteFlags.DYNAMIC_COMPLETIONS
)
_FILE = (sublime.KindId.NAVIGATION, "f", "File")
_COMMAND = (sublime.KindId.FUNCTION, "/", "Command")


class QwenCompanionChatListener(sublime_plugin.EventListener):
    """Listens to the chats' views, and ignores all others."""

    def on_pre_close(self, view: sublime.View) -> None:
        """A tab is about to close."""
        if is_chat(view) and (adapter := package.adapter()):
            adapter.chats.closing(view)

    def on_selection_modified(self, view: sublime.View) -> None:
        """The carets have moved: into the transcript, perhaps, or back."""
        if chat := _chat(view):
            chat.text.protect()
        elif (adapter := package.adapter()) and adapter.chats.within(view.window()) and is_code(view):
            adapter.chats.context.look_soon(view.window())

    def on_activated(self, view: sublime.View) -> None:
        """A view got the focus, so the person is in the editor."""
        if adapter := package.adapter():
            adapter.chats.is_away = False
            adapter.chats.context.look_soon(view.window())

    def on_deactivated(self, view: sublime.View) -> None:
        """A view has lost the focus: to another one, which is told right after this, or to another program."""
        if adapter := package.adapter():
            adapter.chats.is_away = True

    def on_modified(self, view: sublime.View) -> None:
        """Text may have been typed, which is no answer to a question."""
        if (chat := _chat(view)) and not chat.text.is_editing:
            chat.attention.look()
            chat.show_suggestion()

    def on_text_command(self, view: sublime.View, command_name: str, args: Args) -> tuple[str, Args] | None:
        """Keep commands from editing the transcript; what is typed there goes to the prompt."""
        if (chat := _chat(view)) is None:
            return None
        if instead := _of_vim(chat, command_name, args):
            return instead
        if command_name == "drag_select":
            chat.folds_before_click = len(view.folded_regions())
        if command_name in _INPUT and not chat.text.is_in_prompt:
            chat.text.to_prompt()
        if command_name in _PASTES and not sublime.get_clipboard():
            return "qwen_companion_chat_picture", {"clipboard": True}
        if command_name in _DELETIONS:
            return _deletion(chat, command_name, args or {})
        if command_name in _STEPS:
            return (
                ("qwen_companion_chat_undo", {"by": _STEPS[command_name]}) if chat.text.is_in_prompt else ("noop", {})
            )
        return _of_line(chat, command_name, args or {})

    def on_window_command(self, window: sublime.Window, command_name: str, args: Args) -> tuple[str, Args] | None:
        """Keep a chat from being cloned: it has one view."""
        if command_name != "clone_file" or (view := _tab(window, args or {})) is None or not is_chat(view):
            return None
        say(window, "A chat has one view.")
        return "noop", {}

    def on_post_text_command(self, view: sublime.View, command_name: str, args: Args) -> None:
        """A click opens or folds what begins in a line, a double click opens a file."""
        if command_name != "drag_select" or (chat := _chat(view)) is None or len(view.sel()) != 1:
            return
        args, region = args or {}, view.sel()[0]
        if args.get("extend") or args.get("additive"):
            return
        if args.get("by") == "words":
            adapter = package.adapter()
            if adapter and (link := chat.marks.link_at(region.begin())):
                adapter.chats.clicks.follow(chat, link.start, links_only=True)
        elif not args.get("by") and region.empty():
            if len(view.folded_regions()) == chat.folds_before_click:
                chat.marks.folds.toggle(region.b)
            else:
                chat.marks.folds.fold_within(region.b)  # the click itself has done it

    def on_hover(self, view: sublime.View, point: int, hover_zone: sublime.HoverZone) -> None:
        """The mouse rests, perhaps on a file's name."""
        if hover_zone == sublime.HoverZone.TEXT and (adapter := package.adapter()) and (chat := _chat(view)):
            adapter.chats.clicks.show_link(chat, point)

    def on_query_completions(
        self, view: sublime.View, prefix: str, locations: list[int]
    ) -> sublime.CompletionList | None:
        """The person writes a mention or a slash command."""
        if (chat := _chat(view)) is None:
            return None
        is_in_prompt = len(locations) == 1 and locations[0] >= chat.text.length
        before = view.substr(sublime.Region(chat.text.length, locations[0])) if is_in_prompt else " "
        return _completions(chat, before)

    def on_query_context(
        self, view: sublime.View, key: str, operator: sublime.QueryOperator, operand: object, match_all: bool
    ) -> bool | None:
        """The contexts of the chats' key bindings."""
        if not key.startswith(CONTEXT):
            return None
        chat = _chat(view)
        value = chat is not None and _CONTEXTS[key](chat) if key in _CONTEXTS else None
        if value is None:
            return None
        return value == operand if operator == sublime.QueryOperator.EQUAL else value != operand


def _chat(view: sublime.View) -> ChatView | None:
    adapter = package.adapter()
    return adapter.chats.find(view) if adapter and is_chat(view) else None


def _tab(window: sublime.Window, args: dict[str, Any]) -> sublime.View | None:
    """The view that a tab's command is for: the one that the menu names, else the active one."""
    group, index = args.get("group", -1), args.get("index", -1)
    if not (0 <= group < window.num_groups() and index >= 0):
        return window.active_view()
    return next((sheet.view() for sheet in window.sheets_in_group(group)[index : index + 1]), None)


def _of_vim(chat: ChatView, command: str, args: Args) -> tuple[str, Args] | None:
    """What our own key does, where the keymap of Vintage goes before it."""
    if is_enter(command, args) and not chat.text.is_in_prompt:
        return "qwen_companion_chat_follow", {}
    return _escape(chat) if is_needless_escape(chat.view, command) else None


def _escape(chat: ChatView) -> tuple[str, Args]:
    """What Escape does without Vintage, in the order of the editor's keymap, which ours follows."""
    view, window = chat.view, chat.view.window()
    if view.is_popup_visible():
        view.hide_popup()
    elif window and window.active_panel():
        window.run_command("hide_panel", {"cancel": True})
    elif len(view.sel()) > 1:
        return "single_selection", {}
    elif _CONTEXTS[f"{CONTEXT}_running"](chat) and (adapter := package.adapter()):
        adapter.chats.cancel(chat)
    return "noop", {}


def _of_line(chat: ChatView, command: str, args: dict[str, Any]) -> tuple[str, Args] | None:
    """The first line of a prompt begins with the transcript's end, which is not part of the prompt."""
    if command == "move_to" and args.get("to") in ("bol", "hardbol") and _on_first_line(chat):
        return "qwen_companion_chat_home", {"extend": bool(args.get("extend"))}
    if command in _OF_ALL_LINES and not chat.view.has_non_empty_selection_region():
        return "noop", {}
    if command in _OF_CARETS_LINES and chat.text.is_in_prompt and _on_first_line(chat):
        return _of_carets_lines(chat, command)
    return ("noop", {}) if command in _OF_LINES and _on_first_line(chat) else None


def _of_carets_lines(chat: ChatView, command: str) -> tuple[str, Args] | None:
    """A command that takes the whole line of a caret where nothing is selected: of the first, what is the prompt's."""
    view, carets = chat.view, chat.view.sel()
    is_copy = command != "duplicate_line"
    if carets.has_non_empty_region() or (is_copy and not view.settings().get("copy_with_empty_selection", True)):
        return ("noop", {}) if not is_copy and carets.has_empty_region() else None
    lines = {(max(chat.text.length, line.begin()), line.end()) for line in (view.full_line(each) for each in carets)}
    # The last edit comes first, so it moves none of the others.
    spans = [sublime.Region(*line) for line in sorted(lines, reverse=True)]
    if not is_copy:
        return buffers.command([(each.a, each.a, view.substr(each).removesuffix("\n") + "\n") for each in spans])
    lines_to_clipboard(view, spans[::-1])
    return buffers.command([(each.a, each.b, "") for each in spans] if command == "cut" else [])


def _deletion(chat: ChatView, command: str, args: dict[str, Any]) -> tuple[str, Args] | None:
    """Deleting backwards stops where the prompt begins."""
    view, start = chat.view, chat.text.length
    if command == "delete_word" and args.get("forward", True):
        return None
    if command == "run_macro_file" and "BOL" not in str(args.get("file")):
        return None
    carets = [region.b for region in view.sel() if region.empty() and region.b >= start]
    if command == "left_delete":
        if is_at_start := start in carets:
            chat.leave_out()
        return ("noop", {}) if is_at_start else None
    for caret in carets:
        line = max(start, view.line(caret).begin())
        if command == "run_macro_file":
            return buffers.command([(line, caret, "")])
        before = view.substr(sublime.Region(start, caret))
        if not before.strip():
            return buffers.command([(start, caret, "")])
    return None


def _on_first_line(chat: ChatView) -> bool:
    """Whether a caret is in the line of the prompt that begins with the transcript's end."""
    line = chat.view.line(chat.text.length)
    return any(line.begin() <= region.b <= line.end() for region in chat.view.sel())


def _caret(chat: ChatView) -> int | None:
    """The only caret, if nothing is selected and it is in the prompt."""
    selection = chat.view.sel()
    if len(selection) != 1 or not selection[0].empty() or not chat.text.is_in_prompt:
        return None
    return selection[0].b


def _is_level(chat: ChatView, point: int) -> bool:
    """Whether the caret is in the same line of the screen as a point; a long line has several."""
    caret = _caret(chat)
    return caret is not None and chat.view.text_to_layout(caret)[1] == chat.view.text_to_layout(point)[1]


def _has_keys(chat: ChatView) -> bool:
    """Whether keys write: in Vim's normal mode they are commands, which never answer a question nor type."""
    return not is_normal(chat.view)


_CONTEXTS = {
    CONTEXT: lambda _: True,
    f"{CONTEXT}_prompt": lambda chat: _has_keys(chat) and chat.text.is_in_prompt,
    f"{CONTEXT}_transcript": lambda chat: not chat.text.is_in_prompt,
    f"{CONTEXT}_types": lambda chat: _has_keys(chat) and not chat.text.is_in_prompt,
    f"{CONTEXT}_ask": lambda chat: _has_keys(chat) and _caret(chat) is not None and chat.attention.is_due,
    f"{CONTEXT}_choice": lambda chat: (
        _has_keys(chat)
        and _caret(chat) is not None
        and chat.attention.is_due
        and (asked := waiting(chat)) is not None
        and asked.is_choice
    ),
    f"{CONTEXT}_suggestion": lambda chat: _has_keys(chat) and bool(chat.suggestion) and _caret(chat) is not None,
    f"{CONTEXT}_running": lambda chat: not is_insert(chat.view) and chat.status.running is not None,
    f"{CONTEXT}_first_line": lambda chat: (
        _has_keys(chat) and bool(chat.recall.sent) and _is_level(chat, chat.text.length)
    ),
    f"{CONTEXT}_last_line": lambda chat: (
        _has_keys(chat) and chat.recall.is_recalling and _is_level(chat, chat.view.size())
    ),
}
"""Whether a binding applies, by its key."""


def _completions(chat: ChatView, before: str) -> sublime.CompletionList:
    """Completions for the beginning of a prompt. Files are filled in when the daemon answers.

    Without completions of ours there are none at all: Enter would insert a word instead of sending the prompt.
    """
    if open_command(before) is not None:
        commands = offered(chat.status.commands)
        items = [
            _completion(f"/{command.name}", f"/{command.name} ", command.hint, _COMMAND, command.description)
            for command in commands
        ]
        return sublime.CompletionList(items, _FLAGS)
    if (found := open_mention(before)) is None:
        return sublime.CompletionList([], _FLAGS)
    listed, (_, words) = sublime.CompletionList(), found

    def show(paths: Sequence[str]) -> None:
        listed.set_completions([_completion(path, f"{mention(path)} ", "", _FILE) for path in paths], _FLAGS)

    chat.ask(lambda own: own.files(words), show, lambda _: show(()))
    return listed


def _completion(
    trigger: str, text: str, annotation: str, kind: tuple[sublime.KindId, str, str], details: str = ""
) -> sublime.CompletionItem:
    # The editor's word before the caret isn't what is replaced: a path has many words.
    item = sublime.CompletionItem.command_completion(
        trigger, "qwen_companion_chat_complete", {"text": text}, annotation, kind
    )
    item.details = safe(details)
    return item
