"""What a person writes into a chat, what goes with it by itself, and what is kept when the tab closes."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import sublime

from ...chats.prompt import Draft, Excerpt, Instead, Returned, mentions, path_of, translated
from ...exclusion import Sharing
from ...json_text import as_list, as_object
from ...platforms import programs
from ...platforms.files import make_private_folders, why_unopened
from .. import package
from ..own_views import VIEWS
from ..panels import NO_ANSWER, say
from ..review.answers import open_kept
from ..windows import is_excluded
from .text import prompt_start

if TYPE_CHECKING:
    from ...chats.chats import Chats
    from ..adapter import Adapter
    from .view import ChatView


_OPEN_COMMAND = re.compile(r"/(\S*)$")
KEPT = 50
"""How many of the latest prompts can be recalled."""
REMEMBERED_LENGTH = 10_000
"""Characters of a prompt that can be recalled after a reload: settings are read and written as a whole."""
_KEPT = "chats"
"""Remembered of a window: what the chats had whose tabs were closed, the latest last, as dictionaries."""
_FIELDS = {"text", "attached", "recall", "session", "agent", "folder", "chosen", "name"}
_WORDS = ("text", "session", "agent", "folder", "name")
"""Those of them that are texts."""
MOST_KEPT = 50
"""How many of them."""


def open_command(before: str) -> str | None:
    """The incomplete name of the slash command at the beginning of a prompt; None if there is none."""
    found = _OPEN_COMMAND.match(before)
    return found[1] if found else None


class Recall:
    """The prompts that were sent, the latest last, and which of them is in the input.

    Edits of an earlier prompt, and the draft behind the last one, are kept until they are sent.
    """

    def __init__(self, state: object = None) -> None:
        """`state` is that of an earlier instance, from a file: what it isn't counts as nothing."""
        found, current = as_object(state), as_object(state).get("current")
        edits = as_object(found.get("edits"))
        self.sent = _texts(found.get("sent"))
        self._edits = {one: edited for one, edited in edits.items() if isinstance(edited, str)}
        """By the prompt as it was sent; the draft's is that of none."""
        self._current: str = current if isinstance(current, str) and current in self.sent else ""

    @property
    def state(self) -> dict[str, Any]:
        """All of it as plain data, without long prompts that are neither edited nor recalled."""
        needed = {self._current, *self._edits}
        sent = [prompt for prompt in self.sent if len(prompt) <= REMEMBERED_LENGTH or prompt in needed]
        return {"sent": sent, "edits": dict(self._edits), "current": self._current}

    @property
    def is_recalling(self) -> bool:
        """Whether an earlier prompt is in the input."""
        return bool(self._current)

    def add(self, prompt: str) -> str:
        """The input was sent. Returns the draft to put there next."""
        self._edits.pop(self._current, None)
        if prompt.strip():
            self.sent = [*(one for one in self.sent if one != prompt), prompt][-KEPT:]
        self._current = ""
        self._edits = {one: edited for one, edited in self._edits.items() if one in self.sent or not one}
        return self._edits.pop("", "")

    def step(self, by: int, current: str) -> str | None:
        """The prompt `by` steps further, or the draft behind the last one; None at either end.

        `current` is what is in the input.
        """
        rows = [*self.sent, ""]
        at = rows.index(self._current) + by
        if not 0 <= at < len(rows):
            return None
        if current.strip() and current != self._current:
            self._edits[self._current] = current
        self._current = rows[at]
        return self._edits.pop(self._current, self._current)


def keep(view: sublime.View) -> None:
    """Keep what a chat has whose view is about to close, even one that was not taken over since a restart.

    That is its prompt, and the id of its session.
    """
    window, own = view.window(), VIEWS.of(view)
    if window is None or own is None:
        return
    prompt = {
        "text": view.substr(sublime.Region(prompt_start(view), view.size())),
        "attached": own.get("attached"),
        "recall": own.get("recall"),
    }
    session = own.text("session")
    if session or any(prompt.values()):
        chat = {"session": session, "agent": own.text("agent"), "folder": own.text("folder")}
        kept = {**prompt, **chat, "chosen": own.get("chosen") or {}, "name": own.name}
        VIEWS.remember(window, _KEPT, [*_kept(window), kept][-MOST_KEPT:])


def kept_session(window: sublime.Window, folder: str, agent: str) -> tuple[str, dict[str, Any]]:
    """The session of the tab that was closed last, with this agent and in this folder, and what was chosen for it.

    Both are empty for none.
    """
    all_kept = reversed(_kept(window))
    found = next((kept for kept in all_kept if (kept["agent"], kept["folder"]) == (agent, folder)), None)
    return (found["session"], as_object(found["chosen"])) if found else ("", {})


def give_back(window: sublime.Window, view: sublime.View) -> list[Draft]:
    """Take the prompts that were kept, for the chat in this view: those that were written to its agent.

    What was kept of this very tab is in it: the editor has brought it back, with its project.
    """
    own = VIEWS.of(view)
    if own is None:
        return []
    agent, all_kept = own.text("agent"), _kept(window)
    VIEWS.remember(window, _KEPT, [kept for kept in all_kept if kept["agent"] != agent])
    drafts: list[Draft] = []
    for kept in all_kept:
        if kept["agent"] != agent or kept["name"] == own.name:
            continue
        texts = [kept["text"]]
        if own.get("recall") is not None:
            texts[:0] = Recall(kept["recall"]).state["edits"].values()
        elif kept["recall"]:
            own.keep(recall=kept["recall"])
        draft = Draft("\n".join(texts), *attached(kept["attached"]))
        if draft.text or draft.excerpts or draft.pictures:
            drafts.append(draft)
    return drafts


def _kept(window: sublime.Window) -> list[dict[str, Any]]:
    found = map(as_object, as_list(VIEWS.remembered(window, _KEPT)))
    return [each for each in found if each.keys() >= _FIELDS and all(isinstance(each[name], str) for name in _WORDS)]


def attached_record(excerpts: Sequence[Excerpt], pictures: Sequence[str]) -> dict[str, Any]:
    """Selections and pictures for a chat's record. What goes by itself is offered again by itself."""
    added = [[each.uri, each.name, each.text] for each in excerpts if not each.is_automatic]
    return {"excerpts": added, "pictures": list(pictures)}


def attached(kept: object) -> tuple[tuple[Excerpt, ...], tuple[str, ...]]:
    """The selections and pictures in a chat's record; without those that are damaged."""
    found = as_object(kept)
    excerpts = [each for each in map(as_list, as_list(found.get("excerpts"))) if len(each) in (3, 4)]
    whole = [each for each in excerpts if _texts(each[:3]) == each[:3]]
    return tuple(Excerpt(*each) for each in whole), tuple(_texts(found.get("pictures")))


def waiting_record(each: Returned) -> dict[str, Any]:
    """What waits to be sent, or for its turn, for a chat's record."""
    draft = each.draft
    more = attached_record(draft.excerpts, draft.pictures)
    return {"text": draft.text, "may_have_arrived": each.may_have_arrived, **more}


def waiting(kept: object) -> list[Returned]:
    """What waited by a chat's record; without what is damaged."""
    found = [each for each in map(as_object, as_list(kept)) if isinstance(each.get("text"), str)]
    return [Returned(Draft(each["text"], *attached(each)), each.get("may_have_arrived") is True) for each in found]


def _texts(value: object) -> list[str]:
    return [each for each in as_list(value) if isinstance(each, str)]


PICTURE_LIMIT = 10.0
"""Seconds for the program."""
PICTURE_KEPT = 7 * 24 * 3600.0
"""Seconds until a picture from the clipboard is deleted."""
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MAC = (
    "on run argv",
    "set picture to the clipboard as «class PNGf»",
    "set target to open for access (POSIX file (item 1 of argv)) with write permission",
    "write picture to target",
    "close access target",
    "end run",
)
_WINDOWS = """
Add-Type -AssemblyName System.Windows.Forms
$picture = [Windows.Forms.Clipboard]::GetImage()
if ($picture -eq $null) { exit 1 }
$picture.Save($env:QWEN_COMPANION_PICTURE, [Drawing.Imaging.ImageFormat]::Png)
"""


def picture_commands(system: str, path: str) -> list[list[str]]:
    """The commands that can write the clipboard's picture, each to try in turn: to a file, or to the output."""
    match system:
        case "osx":
            return [["osascript", *(part for line in _MAC for part in ("-e", line)), path]]
        case "windows":
            return [["powershell", "-NoProfile", "-NonInteractive", "-STA", "-Command", _WINDOWS]]
        case _:
            return [
                ["wl-paste", "--type", "image/png"],
                ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
            ]


def named_picture(text: str) -> str | None:
    """The path of a picture that a text in the clipboard is; None if it is none. Nobody has looked for the file."""
    text = text.strip().strip("\"'")
    path = path_of(text) if text.startswith("file://") else os.path.expanduser(text)
    return path if path.lower().endswith(SUFFIXES) and "\n" not in path and os.path.isabs(path) else None


def find_picture(folder: Path, system: str, text: str) -> str | None:
    """The path of the clipboard's picture: a file that its text names, or one that is written into a folder. Blocks."""
    if (named := named_picture(text)) and not why_unopened(named):
        return named
    with suppress(OSError):
        return write_picture(folder, system)
    return None


def write_picture(folder: Path, system: str) -> str | None:
    """Write the clipboard's picture into a folder. Returns its path, None if there is none. It blocks."""
    make_private_folders(str(folder))
    for old in folder.iterdir():
        if time.time() - old.stat().st_mtime > PICTURE_KEPT:
            old.unlink()
    descriptor, path = tempfile.mkstemp(".png", time.strftime("clipboard-%H%M%S-"), folder)
    os.close(descriptor)
    for words in picture_commands(system, path):
        program = programs.find(words[0], os.environ)
        if program is None:
            continue
        with suppress(OSError, subprocess.SubprocessError):
            done = programs.run([program, *words[1:]], {**os.environ, "QWEN_COMPANION_PICTURE": path}, PICTURE_LIMIT)
            if done.returncode == 0 and done.stdout and system == "linux":
                Path(path).write_bytes(done.stdout)
        if os.path.getsize(path):
            return path
    os.unlink(path)
    return None


STARTING_CHAT = "QwenCompanion is starting. Send the prompt again when the chat is connected."


def send_prompt(
    adapter: Adapter,
    chat: ChatView,
    text: str | None = None,
    *,
    mid_turn: bool = False,
    excerpts: Sequence[Excerpt] = (),
) -> None:
    """Send a text with what goes with it, or what the person has written in the prompt."""
    draft = Draft(text, tuple(excerpts)) if text is not None else chat.draft()
    draft = replace(draft, unsaved=_unsaved(chat, draft.text))
    if not (draft.text.strip() or draft.excerpts or draft.pictures):
        return
    if package.adapter() is not adapter:
        # The package was loaded anew while a panel was open or a timer ran: nobody here sends anything any more.
        open_kept(chat.window, "Prompt", draft.as_text)
        return
    is_up = not adapter.is_starting and adapter.thread.stop_reason is None
    if chat.render is None and not (is_up and text is not None):
        # What is sent would be lost with a reload, so it is in the prompt.
        if text is not None:
            chat.take_back(draft)
        say(chat.window, STARTING_CHAT if adapter.is_starting else NO_ANSWER)
        return
    adapter.chats.context.look(chat.window)
    context = chat.context
    if text is None:
        chat.sent()
    if instead := translated(draft.text):
        what, rest = instead
        _do_instead(chat, what)
        if text is None and (rest or draft.excerpts or draft.pictures):
            chat.take_back(replace(draft, text=rest))
        return
    in_turn = mid_turn and chat.status.running is not None
    # A message into a running turn is a text alone, and so is a command.
    if context and not in_turn and not draft.text.startswith("/"):
        draft = replace(draft, excerpts=(*draft.excerpts, context))
    adapter.comments.prompt_sent(chat.agent, draft.text)
    chat.sending(draft)

    def send(chats: Chats) -> None:
        chats.send(chat.id, draft, mid_turn=in_turn)
        sublime.set_timeout(chat.taken)

    adapter.chats.tell(send)


def _do_instead(chat: ChatView, what: Instead) -> None:
    """Do what a slash command is for."""
    if what == "new":
        chat.tell(lambda own: own.show())
    else:
        chat.window.focus_view(chat.view)
        chat.window.run_command(f"qwen_companion_chat_{what}")


def _unsaved(chat: ChatView, text: str) -> dict[str, str]:
    """The texts of the unsaved buffers that a prompt names, by their paths."""
    named = {_spelled(os.path.join(chat.folder, path)) for mention in mentions(text) for _, path in mention.paths}
    views = {path: view for view in chat.window.views() if named and (path := view.file_name()) and view.is_dirty()}
    return {
        path: view.substr(sublime.Region(0, view.size())) for path, view in views.items() if _spelled(path) in named
    }


def _spelled(path: str) -> str:
    return os.path.normcase(os.path.normpath(path))


SETTLED = 300
"""Milliseconds after a change of a selection until the bar names it."""
MOST_SELECTED = 16 * 1024
"""Characters of a selection that goes along by itself. More has to be added by hand."""
NAME_ONLY = "(This file is active in the editor. Its text does not come with the prompt; read it if it matters.)"


def context_of(view: sublime.View | None, sharing: Sharing) -> Excerpt | None:
    """What a view gives to a prompt by itself; None for nothing. Excluded files give nothing."""
    if view is None or not sharing.has_files:
        return None
    path, window = view.file_name(), view.window()
    if (shown := path or view.name()) and is_excluded(sharing, shown, window.folders() if window else ()):
        return None
    selected = next((region for region in view.sel() if not region.empty()), None)
    if selected and sharing.has_text:
        return excerpt(view, selected, MOST_SELECTED)
    return Excerpt(*named(view), NAME_ONLY, is_automatic=True) if path else None


def named(view: sublime.View) -> tuple[str, str]:
    """The address of what a view shows, and what to call it."""
    if path := view.file_name():
        return Path(path).as_uri(), PurePath(path).name
    return f"untitled:{view.name() or 'untitled'}", view.name() or "untitled"


def excerpt(view: sublime.View, region: sublime.Region, most: int | None = None) -> Excerpt:
    """A selection; with `most`, its first characters, as what goes by itself."""
    uri, name = named(view)
    # A selection that ends at the beginning of a line doesn't include that line.
    first, last = view.rowcol(region.begin())[0] + 1, view.rowcol(region.end() - 1)[0] + 1
    # A whole log may be selected: the editor is held up while it is read.
    end = region.end() if most is None else min(region.end(), region.begin() + most + 1)
    text = view.substr(sublime.Region(region.begin(), end))
    if most is not None and len(text) > most:
        text = f"{text[:most]}\n(The rest of the selection is left out.)"
    return excerpt_of_lines(uri, name, first, last, text, is_automatic=most is not None)


def excerpt_of_lines(uri: str, name: str, first: int, last: int, text: str, *, is_automatic: bool = False) -> Excerpt:
    """The text of some lines, from 1, of what has an address and a name."""
    lines, fragment = (f"{first}-{last}", f"L{first}-L{last}") if last > first else (f"{first}", f"L{first}")
    return Excerpt(f"{uri}#{fragment}", f"{name}:{lines}", text, is_automatic=is_automatic)


class ContextOffers:
    """Offers it to the chats of a window. Lives on the UI thread."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._looking: set[int] = set()
        """The windows in which the active file is looked at soon."""

    def look_soon(self, window: sublime.Window | None) -> None:
        """The same after a while, since a selection changes often."""
        if window and self._adapter.chats.within(window) and window.id() not in self._looking:
            self._looking.add(window.id())

            def look() -> None:
                self._looking.discard(window.id())
                self.look(window)

            sublime.set_timeout(look, SETTLED)

    def look(self, window: sublime.Window | None) -> None:
        """Another file may be active in a window, or something else selected in it."""
        if window and (chats := self._adapter.chats.within(window)):
            settings = self._adapter.settings
            view = self._adapter.focus.last_code(window) if settings.value("chat_context") else None
            context = context_of(view, settings.sharing(window))
            for chat in chats:
                chat.offer(context)
