"""One chat on the screen."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import sublime

from ...agents import DAEMON_AGENT
from ...chats.prompt import Draft, Excerpt, Returned
from ...conversation.snapshot import Status
from ...editor import ChatId, ViewId
from ...status.facts import ShownChat
from ..own_views import VIEWS
from ..windows import is_visible
from . import html
from .marks import ChatMarks
from .permissions import AskAttention
from .prompt import Recall, attached, attached_record, waiting, waiting_record
from .text import ChatText, UndoHistory

if TYPE_CHECKING:
    from ...chats.chat import Chat
    from ...chats.transcript.render import Ask, Code, Render
    from ...conversation.forms import Value
    from ..adapter import Adapter


T = TypeVar("T")


class Scroll:
    """Where a chat's view is scrolled to before a render changes its text."""

    def __init__(self, view: sublime.View, top: int) -> None:
        """`top` is where the first turn begins: what comes in there comes in above it."""
        self._view = view
        self._position = view.viewport_position()
        self._point = max(view.visible_region().begin(), top)
        """In the first line that stays."""
        self._below = view.text_to_layout(self._point)[1] - self._position[1]
        """How far that line is below the upper edge."""

    def restore(self, render: Render) -> None:
        """Scroll to the same text, after the render is shown."""
        if render.replaces_all:
            self._view.set_viewport_position(self._position, False)
            return
        point = self._point
        for edit in render.edits:
            if edit.end <= point:
                point += len(edit.text) - (edit.end - edit.start)
        if point != self._point:
            y = self._view.text_to_layout(point)[1] - self._below
            self._view.set_viewport_position((self._position[0], y), False)


LOOKS = 250
"""Milliseconds between two looks: no event tells that a view is scrolled."""
BELOW = "qwen_companion.chat_below"


class ScrollWatch:
    """Asks for earlier turns when the person scrolls up to the first one, and says when there is new text below."""

    def __init__(self, view: sublime.View, act: Callable[[str], None]) -> None:
        """`act` is called with the href of what the person wants."""
        self._view = view
        self._act = act
        self._top: int | None = None
        """Where the first turn begins, if there are earlier ones."""
        self._was_away = True
        """Whether the view was scrolled down since the last page was asked for."""
        self._below: int | None = None
        """Where the new text begins that the person hasn't seen."""
        self._is_ticking = False

    def shown(self, render: Render, *, follows: bool, length: int) -> None:
        """A render is on the screen. `follows`: whether the view shows its end; `length` is that of the text before."""
        self._top = render.top if render.status.has_earlier else None
        if render.replaces_all or any(edit.start <= render.top and edit.text for edit in render.edits):
            self._was_away = True
            self._below = None if render.replaces_all else self._below
        if follows:
            self._below = None
        elif not render.replaces_all and self._below is None and _grows(render, length):
            self._below = render.length
        if not self._is_ticking and (self._top is not None or self._below is not None):
            self._is_ticking = True
            sublime.set_timeout(self._tick, LOOKS)
        self._mark()

    def close(self) -> None:
        """The chat is released."""
        self._top = self._below = None
        self._view.erase_regions(BELOW)

    def _tick(self) -> None:
        self._is_ticking = self._view.is_valid() and (self._top is not None or self._below is not None)
        if not self._is_ticking:
            return
        sublime.set_timeout(self._tick, LOOKS)
        if not is_visible(self._view):
            return
        seen = self._view.visible_region()
        if self._top is not None and seen.begin() > self._top:
            self._was_away = True
        elif self._top is not None and self._was_away:
            self._was_away = False
            self._act("show_earlier")
        self._mark()

    def _mark(self) -> None:
        """Say at the right edge of the last line on the screen that there is new text below."""
        if self._below is None:
            self._view.erase_regions(BELOW)
            return
        seen = self._view.visible_region()
        if seen.end() >= self._below:
            self._below = None
            self._view.erase_regions(BELOW)
            return
        # The line before the last one is on the screen as a whole.
        row = self._view.rowcol(seen.end())[0]
        at = max(seen.begin(), self._view.text_point(max(0, row - 1), 0))
        if [region.begin() for region in self._view.get_regions(BELOW)] != [at]:
            self._view.add_regions(
                BELOW,
                [sublime.Region(at)],
                annotations=[html.BELOW],
                on_navigate=self._act,
                flags=sublime.RegionFlags.HIDDEN,
            )


def _grows(render: Render, length: int) -> bool:
    """Whether a render has text behind what was there."""
    return render.length > length and any(edit.text for edit in render.edits if edit.start > render.top)


TITLE_LENGTH = 60
"""Characters of a session's title that the tab shows."""
ASKS_MARK = "? "
"""Before the title while something is asked."""
NEWS_MARK = "• "
"""Before the title while a long turn has ended that the person hasn't seen."""
LONG_TURN = 20.0
"""Seconds of a turn whose end is told to a person who looks elsewhere."""
STATES = {
    "connecting": "connecting",
    "waiting": "tries to connect again",
    "lost": "not connected",
    "ended": "has ended",
}
"""The states of a connection that is not there, in the words of the status report."""
WAITING = "waiting"
"""In a chat's record: the prompts that are lost with the editor unless they come back from here."""
SYNTAX = "Packages/QwenCompanion/QwenCompanion Chat.sublime-syntax"
FALLBACK_SYNTAX = "scope:text.html.markdown"
_SETTINGS = {
    "word_wrap": True,
    "wrap_width": 0,
    "gutter": False,
    "line_numbers": False,
    "fold_buttons": False,
    "rulers": [],
    "draw_indent_guides": False,
    "highlight_line": False,
    "scroll_past_end": False,
    "spell_check": False,
    "mini_diff": False,
    "trim_automatic_white_space": False,
    "translate_tabs_to_spaces": False,
    "detect_indentation": False,
    "auto_indent": False,
    "smart_indent": False,
    "drag_text": False,
    "draw_unicode_white_space": "none",
    "auto_complete": True,
    "auto_complete_triggers": [{"selector": "text, source", "characters": "@/"}],
}


def chat_id_of(view: sublime.View) -> ChatId:
    """The id of the chat in a view."""
    return ChatId(ViewId(view.id()))


def agent_of(view: sublime.View) -> str:
    """The name of the agent of a chat's view in the settings; empty for Qwen Code's daemon."""
    own = VIEWS.of(view)
    return own.text("agent") if own else ""


def folder_of(view: sublime.View) -> str:
    """The folder that the chat in a view was opened for."""
    own = VIEWS.of(view)
    return own.text("folder") if own else ""


def used_at(view: sublime.View) -> int:
    """When a chat's view last had the focus, in Unix milliseconds; 0 for never."""
    own = VIEWS.of(view)
    at = own.get("used") if own else 0
    return at if isinstance(at, int) else 0


def waiting_of(view: sublime.View) -> list[Returned]:
    """The prompts of a chat's view that were sent and not begun, as far as is known."""
    own = VIEWS.of(view)
    return waiting(own.get(WAITING)) if own else []


class ChatView:
    """The view of a chat."""

    def __init__(self, adapter: Adapter, view: sublime.View, window: sublime.Window) -> None:
        """`view` is a new one, or one from an earlier run."""
        self._adapter = adapter
        self.view = view
        self.id = chat_id_of(view)
        """Names the chat as long as the editor runs, over reloads, too."""
        self.window = window
        """Where its tab is, as far as is known."""
        self.home = window
        """The window that the companion runs it for."""
        self.render: Render | None = None
        self._unshown: Literal["", "told", "taken"] = ""
        """Whether a prompt was sent that no frame shows yet, and whether the companion has taken it."""
        self.folds_before_click = 0
        self.entered: dict[str, dict[str, Value]] = {}
        """What was entered in forms that wait, by the ids of their questions."""
        self.has_news = False
        """Whether a long turn has ended that the person hasn't seen."""
        self._ended = ""
        self._begun: float | None = None
        """When the turn that runs was first seen."""
        self.context: Excerpt | None = None
        """What goes with the prompt by itself."""
        self._left_out = ""
        """The address of what the person doesn't want to go."""
        self._returned = "", 0, 0
        """What was put back at the beginning of the prompt: its text, and how many excerpts and pictures."""
        self.record = VIEWS.take(view, "chat")
        """What is known about it over restarts: see `companion.sublime_text.chat`."""
        self._icon = f"[{adapter.consent.letter(self.agent_key)}]"
        """Stands for the agent."""
        view.settings().update(_SETTINGS)
        view.set_scratch(True)
        view.assign_syntax(SYNTAX if sublime.syntax_from_path(SYNTAX) else FALLBACK_SYNTAX)
        if not view.name():
            view.set_name(self._title(""))
        self.text = ChatText(view, partial(adapter.chats.redraw, self))
        self.attention = AskAttention(self.text)
        act = partial(adapter.chats.clicks.clicked, self)
        self.marks = ChatMarks(view, self._icon, act)
        self.scroll = ScrollWatch(view, act)
        excerpts, pictures = attached(self.record.get("attached"))
        self.excerpts = list(excerpts)
        self.pictures = list(pictures)
        self.recall = Recall(self.record.get("recall"))

    def tell(self, call: Callable[[Chat], Coroutine[Any, Any, None] | None]) -> None:
        """Have the companion's chat do something."""
        self._adapter.thread.post(lambda companion: companion.chats.tell(self.id, call))

    def ask(
        self,
        question: Callable[[Chat], Coroutine[Any, Any, T]],
        answer: Callable[[T], object],
        failed: Callable[[str], object] | None = None,
    ) -> None:
        """Ask the companion's chat something that takes a while, as `Adapter.ask_later`."""
        self._adapter.ask_later(self.window, lambda companion: question(companion.chats[self.id]), answer, failed)

    @property
    def status(self) -> Status:
        """That of the conversation; an empty one until the first frame."""
        return self.render.status if self.render else Status()

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The questions that wait for an answer, the oldest first."""
        return self.render.asks if self.render else ()

    @property
    def is_at_work(self) -> bool:
        """Whether a turn runs, the agent asks something, or a prompt waits to be sent or for its turn."""
        unsent = self.render.unsent if self.render else ()
        return bool(self._unshown or self.status.running or self.asks or self.status.queue or unsent)

    @property
    def folder(self) -> str:
        """The folder that the chat was opened for."""
        return self.record.text("folder")

    @property
    def agent_key(self) -> str:
        """The name of the agent in the settings; empty for Qwen Code's daemon."""
        return self.record.text("agent")

    @property
    def session(self) -> str:
        """The id of the session that it showed last."""
        return self.record.text("session")

    @property
    def chosen(self) -> dict[str, Any]:
        """What the person has chosen for it."""
        kept = self.record.get("chosen")
        return cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}

    @property
    def waiting(self) -> list[Returned]:
        """The prompts that were sent and not begun, as far as is known."""
        return waiting(self.record.get(WAITING))

    @property
    def attached(self) -> list[str]:
        """The names of what goes with the prompt."""
        return [*(excerpt.name for excerpt in self.excerpts), *self.pictures]

    @property
    def suggestion(self) -> str:
        """The suggested next prompt, while nothing is written and no turn runs."""
        status = self.status
        is_due = status.running is None and not status.permissions and not self.text.prompt
        return status.suggestion if is_due else ""

    def show_suggestion(self) -> None:
        """Show the suggested prompt in the empty input."""
        self.marks.show_suggestion(self.suggestion)

    def show(self, render: Render, *, is_seen: bool = True) -> None:
        """Update the view. `is_seen`: whether the person sees it."""
        if not render.replaces_all and (self.render is None or self.text.is_damaged):
            return  # made for another text; a render that replaces all was asked for
        # The bar above the prompt may grow although the text stays.
        follows = self._shows_end()
        length = self.text.length
        scroll = Scroll(self.view, self.render.top if self.render else 0)
        self.marks.folds.look(render)
        self.text.apply(render)
        self.render = render
        if self._unshown == "taken":
            self._unshown = ""
        self.marks.show(render, self.attached)
        self.show_suggestion()
        if follows:
            self._show_end()
        else:
            scroll.restore(render)
        self.scroll.shown(render, follows=follows, length=length)
        self._look_at_turn(render, is_seen=is_seen)
        self.attention.asked(render.asks)
        self._tell(render)

    def activated(self) -> None:
        """The person looks at the chat."""
        if self.has_news and self.render:
            self.has_news = False
            self._tell(self.render)

    def offer(self, context: Excerpt | None) -> None:
        """This could go with the prompt by itself."""
        if context and context.uri.partition("#")[0] != self._left_out:
            self._left_out = ""
        self._show_context(None if self._left_out else context)

    def leave_out(self) -> bool:
        """Don't let it go, until another file is active. Returns whether there was anything."""
        if self.context is None:
            return False
        self._left_out = self.context.uri.partition("#")[0]
        self._show_context(None)
        return True

    def _show_context(self, context: Excerpt | None) -> None:
        if context != self.context:
            self.context = context
            self.marks.context = context.name if context else ""
            self._show_bar()

    def show_waiting(self, files: int) -> None:
        """So many files wait for a review."""
        if files != self.marks.waiting:
            self.marks.waiting = files
            self._show_bar()

    def draft(self) -> Draft:
        """What the person has written and attached."""
        return Draft(self.text.prompt.strip(), tuple(self.excerpts), tuple(self.pictures))

    def sending(self, draft: Draft) -> None:
        """The companion is told of a prompt."""
        self._unshown = "told"
        self._keep_waiting([*self.waiting, Returned(draft)])

    def taken(self) -> None:
        """The companion has taken it: the next frame shows it."""
        self._unshown = "taken" if self._unshown else ""

    def sent(self) -> None:
        """The prompt was sent: it is empty now, or holds the draft from before a recall."""
        self._returned = "", 0, 0
        draft = self.recall.add(self.text.prompt.strip())
        self.record.keep(recall=self.recall.state)
        self.excerpts.clear()
        self.pictures.clear()
        self.text.write(draft)
        self.text.undo = UndoHistory(draft)
        self.attached_changed()

    def take_back(self, draft: Draft) -> None:
        """Put a draft back: behind those that were put back before, and before what has been written since."""
        prompt = self.text.prompt
        returned, excerpts, pictures = self._returned if prompt.startswith(self._returned[0]) else ("", 0, 0)
        since = prompt[len(returned) :].removeprefix("\n")
        returned = "\n".join(filter(None, (returned, draft.text)))
        self.text.write("\n".join(filter(None, (returned, since))))
        # What goes by itself is offered again by itself.
        added = tuple(excerpt for excerpt in draft.excerpts if not excerpt.is_automatic)
        self.excerpts[excerpts:excerpts] = added
        self.pictures[pictures:pictures] = draft.pictures
        self._returned = returned, excerpts + len(added), pictures + len(draft.pictures)
        self.attached_changed()
        self.is_back(draft)

    def is_back(self, draft: Draft) -> None:
        """The person has a draft again, which waits no more."""
        back = waiting_record(Returned(draft))
        self._keep_waiting(each for each in self.waiting if waiting_record(Returned(each.draft)) != back)

    def step(self, by: int) -> str | None:
        """The prompt to put into the input, `by` steps further in the earlier ones; None if there is none."""
        text = self.recall.step(by, self.text.prompt)
        self.record.keep(recall=self.recall.state)
        return text

    def detach(self, index: int) -> None:
        """Remove an attachment."""
        if index < len(self.excerpts):
            del self.excerpts[index]
        elif index < len(self.attached):
            del self.pictures[index - len(self.excerpts)]
        self.attached_changed()

    def attached_changed(self) -> None:
        """Show and save what goes with the prompt."""
        self.record.keep(attached=attached_record(self.excerpts, self.pictures))
        self._show_bar()

    def code_text(self, key: str) -> str | None:
        """The text of the code block with a key; None if there is none any more."""
        codes: tuple[Code, ...] = self.render.codes if self.render else ()
        found = next((code for code in codes if code.key == key), None)
        return self.text_of(found) if found else None

    def text_of(self, code: Code) -> str:
        """The text of a code block that the render has."""
        return code.text(self.view.substr(sublime.Region(code.start, code.end)))

    def close(self) -> None:
        """The package is unloaded. The text stays for the next instance."""
        self.attention.asked(())
        self.text.close()
        if self.view.is_valid():
            self.scroll.close()
            self.marks.close()
            self.view.set_name(self.view.name().removeprefix(ASKS_MARK).removeprefix(NEWS_MARK))

    def end(self) -> None:
        """The chat has ended. What waits in it comes back from the companion."""
        self.close()
        self._keep_waiting(())

    def release(self) -> None:
        """The person has saved it as a file, in which nothing looks like a chat."""
        for name in _SETTINGS:
            self.view.settings().erase(name)

    @property
    def facts(self) -> ShownChat:
        """What the status report says about it."""
        title = self._title(self._named(self.render) if self.render else "")
        return ShownChat(title, self._state, self.folder, self._trouble)

    @property
    def _trouble(self) -> str:
        """Why it isn't connected; empty if it is, or is about to be."""
        if self.render is None or (connection := self.status.connection).state in {"live", "connecting"}:
            return ""
        return connection.message or "The connection is lost. Reconnect."

    @property
    def _state(self) -> str:
        if self.render is None:
            return "starting"
        connection = self.status.connection
        if connection.state != "live":
            return ": ".join(filter(None, (STATES[connection.state], connection.message)))
        return "asks you" if self.asks else "works" if self.status.running is not None else "waits for a prompt"

    @property
    def agent(self) -> str:
        """What the agent is called."""
        return (self.render.locality.agent if self.render else self.agent_key) or DAEMON_AGENT

    def take_ended(self) -> str:
        """A sentence about the long turn that has just ended while the person looked elsewhere; empty if none has."""
        ended, self._ended = self._ended, ""
        return ended

    def _named(self, render: Render) -> str:
        """The title of the session. Some agents forget it with a restart, so the tab keeps it."""
        named = render.status.title
        kept: object = self.record.get("title")
        if named and render.session:
            self.record.keep(title=[render.session, named])
        elif not named and isinstance(kept, list) and len(kept) == 2 and kept[0] == render.session:
            named = str(kept[1])
        return named

    def _title(self, session: str) -> str:
        """The tab's, with that of the session."""
        named = f"{self._icon} {self.agent}"
        return f"{named} · {words}" if (words := " ".join(session.split())[:TITLE_LENGTH]) else named

    def _look_at_turn(self, render: Render, *, is_seen: bool) -> None:
        """Note that a long turn has ended while the person looks elsewhere."""
        begun, now = self._begun, monotonic()
        if render.status.running is None:
            self._begun = None
            if begun is not None and now - begun >= LONG_TURN and not is_seen:
                self.has_news = True
                how = {"failed": "has failed", "cancelled": "was cancelled"}.get(render.status.last or "", "is done")
                self._ended = f"{self.agent} {how} in the chat."
        elif begun is None:
            self._begun = now

    def _show_bar(self) -> None:
        """Update the bar, which may become higher."""
        if self.render:
            follows = self._shows_end()
            self.marks.show_bar(self.render, self.attached)
            if follows:
                self._show_end()

    def _shows_end(self) -> bool:
        return self.view.visible_region().end() >= self.text.length

    def _show_end(self) -> None:
        self.view.show(self.view.size(), False, False, False)

    def _keep_waiting(self, drafts: Iterable[Returned]) -> None:
        self.record.keep(**{WAITING: [waiting_record(each) for each in drafts]})

    def _tell(self, render: Render) -> None:
        self.record.keep(session=render.session, chosen=dict(render.chosen))
        if self._unshown != "told":
            self._keep_waiting(render.waiting)
        mark = ASKS_MARK if render.asks else NEWS_MARK if self.has_news else ""
        title = f"{mark}{self._title(self._named(render))}"
        if self.view.name() != title:
            self.view.set_name(title)
