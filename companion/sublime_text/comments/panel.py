"""The comments as the adapter has them: loaded and saved, drawn, and written in the input panel."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

import sublime

from ...comments import MAX_NOTES, Comment, Comments, CommentStore, Line, kept_lines, words
from ...editor import WindowId
from ...platforms.paths import path_key
from ...review.changes import Range, carried, changes
from ..buffers import text_of
from ..chat.text import prompt_start
from ..own_views import VIEWS
from ..windows import is_chat, is_visible, views_of_file
from .comment_commands import send_after_answer
from .views import CommentedPlace, CommentTarget, CommentViews, selected_lines

if TYPE_CHECKING:
    from ..adapter import Adapter
    from ..review.diff_view import DiffView

logger = logging.getLogger(__name__)
ELSEWHERE = "commented elsewhere"
"""Remembered of a window: the folders of its commented files outside of its own folders."""
MOST_ELSEWHERE = 50
MAX_WORDS = 200
"""Characters of comments that name a checkpoint."""
LAST_LIMIT = 1.0
"""Seconds that the end of the package waits until the last comments are written."""


class KeptComments:
    """All comments with their files. Lives on the UI thread, and touches the disk on another one.

    A root is known by its key (`path_key`), so that one folder with two spellings has one list and one file.
    """

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._store = CommentStore(os.path.join(sublime.cache_path(), "QwenCompanion", "comments"))
        self._due: set[str] = set()
        """The keys of the roots to write."""
        self._writing: dict[str, Sequence[Comment]] = {}
        """What is being written."""
        self._asked: set[str] = set()
        self._loaded: set[str] = set()
        self.comments = Comments(self._changed)

    def root(self, window: sublime.Window | None, path: str) -> str:
        """The root folder of a path: the window's folder that has it, else its own folder."""
        folders = window.folders() if window else []
        above = [folder for folder in folders if PurePath(path_key(path)).is_relative_to(path_key(folder))]
        return max(above, key=len, default=os.path.dirname(path))

    def roots(self, window: sublime.Window) -> list[str]:
        """The roots of a window: its folders, those of its files elsewhere, and those that it had comments in."""
        paths = {path_key(path) for view in window.views() if (path := view.file_name())}
        known = {self.root(window, comment.path) for comment in self.comments if path_key(comment.path) in paths}
        by_key: dict[str, str] = {}
        for root in (*window.folders(), *sorted(known | set(_elsewhere(window)))):
            by_key.setdefault(path_key(root), root)
        return list(by_key.values())

    def of_window(self, window: sublime.Window) -> list[Comment]:
        """The comments of a window by its roots, and those on files in its folders that another window has written."""
        found = {each.id: each for root in self.roots(window) for each in self.comments.of_root(root)}
        folders = [path_key(folder) for folder in window.folders()]
        for each in self.comments:
            if any(PurePath(path_key(each.path)).is_relative_to(folder) for folder in folders):
                found.setdefault(each.id, each)
        return list(found.values())

    def add(self, window: sublime.Window, comment: Comment) -> None:
        """Keep a comment that was written in a window."""
        root = self.root(window, comment.path)
        if path_key(root) not in map(path_key, [*window.folders(), *_elsewhere(window)]):
            VIEWS.remember(window, ELSEWHERE, [*_elsewhere(window), root][-MOST_ELSEWHERE:])
        self.comments.add(root, comment)

    def load(self, window: sublime.Window, loaded: Callable[[str], object]) -> None:
        """Load the comments of a window's folders that aren't known yet. `loaded` is called with each root."""
        for root in [*window.folders(), *_elsewhere(window)]:
            self.load_root(root, loaded)

    def load_root(self, root: str, loaded: Callable[[str], object]) -> None:
        """Load the comments of one root, once. `loaded` is called with its key."""
        root = path_key(root)
        if root in self._asked:
            return
        self._asked.add(root)

        def done(found: Sequence[Comment] | str) -> None:
            if isinstance(found, str):
                self._adapter.messenger.say(found)
                return
            self._loaded.add(root)
            self.comments.loaded(root, found)
            loaded(root)
            self._save(root)

        self._adapter.on_another_thread(lambda: self._read(root), done)

    def close(self) -> None:
        """The package ends: what is to be saved still is, before the next instance reads."""
        pending, self._due = self._due | set(self._writing), set()
        if pending:
            writing = threading.Thread(target=self._write_all, args=(sorted(pending),), name="comments")
            writing.start()
            writing.join(LAST_LIMIT)

    def _write_all(self, roots: Sequence[str]) -> None:
        for root in roots:
            comments = list(self.comments.of_root(root))
            if root not in self._loaded:
                found = self._read(root)
                if isinstance(found, str):
                    logger.warning("%s", found)
                    continue
                comments[:0] = found
            if why := self._write(root, comments):
                logger.warning("%s", why)

    def _changed(self, root: str) -> None:
        if root not in self._due:
            self._due.add(root)
            # Several changes at once are one write.
            sublime.set_timeout(lambda: self._save(root))

    def _save(self, root: str) -> None:
        if root not in self._due:
            return
        if root not in self._loaded:
            # What was kept must not be written over.
            self.load_root(root, lambda _: None)
            return
        if root in self._writing:
            return
        self._due.discard(root)
        comments = self._writing[root] = self.comments.of_root(root)

        def saved(why: Sequence[Comment] | str) -> None:
            self._writing.pop(root, None)
            if isinstance(why, str) and why:
                self._adapter.messenger.say(why)
            self._save(root)

        self._adapter.on_another_thread(lambda: self._write(root, comments), saved)

    def _read(self, root: str) -> list[Comment] | str:
        """The comments of a root, or why they can't be read."""
        try:
            return self._store.load(root)
        except OSError as error:
            return f"The comments of {root} could not be read: {error.strerror or error}."

    def _write(self, root: str, comments: Sequence[Comment]) -> str:
        """Write the comments of a root. Returns why they can't be written; nothing if they are."""
        try:
            self._store.save(root, comments)
        except OSError as error:
            return f"The comments of {root} could not be kept: {error.strerror or error}."
        return ""


def _elsewhere(window: sublime.Window) -> list[str]:
    found = VIEWS.remembered(window, ELSEWHERE)
    return [each for each in cast("list[Any]", found) if isinstance(each, str)] if isinstance(found, list) else []


SENT_KEPT = 50
"""Prompts that are remembered, with the comments in them: one that can't be sent comes back."""


class PromptedComments:
    """Knows those in a prompt by their words, and those sent with one by their ids. Lives on the UI thread."""

    def __init__(self, comments: Comments) -> None:
        self._comments = comments
        self._began = time.time()
        self._sent: deque[tuple[str, str, list[str]]] = deque(maxlen=SENT_KEPT)
        """The agent, the prompt's text, and the ids of the comments in it: the latest last."""

    def look(self) -> None:
        """Comments that stand in no prompt any more are to be sent again."""
        if held := self._find(lambda comment: comment.is_in_prompt and not comment.is_sent):
            prompts = [_prompt(view) for window in sublime.windows() for view in window.views() if is_chat(view)]
            gone = [comment.id for comment in held if not any(words(comment) in prompt for prompt in prompts)]
            self._comments.release(gone)

    def sent(self, agent: str, text: str) -> list[Comment]:
        """A prompt was sent: so were the comments in it. Returns them."""
        held = self._find(lambda comment: comment.is_in_prompt and not comment.is_sent and comment.to == agent)
        found = [comment for comment in held if words(comment) in text]
        ids = [comment.id for comment in found]
        self._comments.sent(ids, agent)
        self._sent.append((agent, text, ids))
        return found

    def returned(self, agent: str | None, text: str) -> set[str]:
        """A prompt is back in the chat: so are the comments that were sent with it. Returns their files.

        Without an agent the chat has closed: the comments are to be sent again.
        """
        prompt = next((each for each in reversed(self._sent) if agent in (None, each[0]) and each[1] == text), None)
        if prompt:
            self._sent.remove(prompt)
            ids = set(prompt[2])
        else:
            ids = self._sent_before(agent, text)
        found = self._find(lambda comment: comment.id in ids and comment.is_sent and not comment.is_in_prompt)
        if agent is None:
            self._comments.release([comment.id for comment in found])
        else:
            self._comments.hold([comment.id for comment in found], agent)
        return {comment.path for comment in found}

    def _sent_before(self, agent: str | None, text: str) -> set[str]:
        """The comments of a prompt that was sent before a reload of the package: those sent last that it quotes."""
        found = self._find(
            lambda comment: agent in (None, comment.to) and 0 < comment.sent < self._began and words(comment) in text
        )
        latest = max((comment.sent for comment in found), default=0.0)
        return {comment.id for comment in found if comment.sent == latest}

    def _find(self, wanted: Callable[[Comment], bool]) -> list[Comment]:
        return [comment for comment in self._comments if wanted(comment)]


def _prompt(view: sublime.View) -> str:
    return view.substr(sublime.Region(prompt_start(view), view.size()))


QUIET = 200
"""Milliseconds after an edit until the comments are looked for."""


class CommentPanel:
    """Writes, draws and keeps the comments of all windows. Lives on the UI thread."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self.kept = KeptComments(adapter)
        self.views = CommentViews(adapter, self.kept.comments)
        self.prompts = PromptedComments(self.kept.comments)
        self._accepted: dict[int, set[str]] = {}
        """The files that were accepted just now, by their windows."""
        self._due: set[int] = set()
        """The buffers whose comments are drawn again soon."""

    @property
    def comments(self) -> Comments:
        """All comments."""
        return self.kept.comments

    def start(self) -> None:
        """The package is loaded: the comments of all windows are shown."""
        for window in sublime.windows():
            self.kept.load(window, self._loaded)
            for view in window.views():
                if is_visible(view):
                    self.activated(view)

    def forget_sent(self, window: sublime.Window) -> None:
        """A round begins: what was sent before belongs to another one."""
        self.delete(comment for comment in self.of_window(window) if comment.is_sent)
        self.forget_notes(window)

    def forget_notes(self, window: sublime.Window) -> None:
        """What agents have pointed out is answered: their notes have had their time."""
        self.delete(self.notes(window))

    def notes(self, window: sublime.Window) -> list[Comment]:
        """The notes of agents in a window, in the order that the agents want."""
        return sorted((each for each in self.of_window(window) if each.by), key=lambda each: (each.rank, each.written))

    def point_out(self, window: sublime.Window, note: Comment) -> int:
        """Show a note of an agent. Returns how many there are then; 0 if there is no room for another one."""
        notes = len(self.notes(window))
        if notes >= MAX_NOTES:
            return 0
        self.kept.add(window, note)
        self._redraw([note.path])
        return notes + 1

    def activated(self, view: sublime.View) -> None:
        """A view got the focus: its comments are shown."""
        window = view.window()
        if window is None:
            return
        self.kept.load(window, self._loaded)
        if (place := self.views.place(view)) is not None:
            self.kept.load_root(self.kept.root(window, place.path), self._loaded)
            self.views.draw(view)

    def edited(self, view: sublime.View) -> None:
        """A view was edited, or its file was loaded: its comments are looked for in a moment."""
        number = view.buffer_id()
        if number in self._due or not self.views.shows(view):
            return
        self._due.add(number)

        def draw() -> None:
            self._due.discard(number)
            if view.is_valid() and (place := self.views.place(view)):
                self.views.draw_file(place.path)

        sublime.set_timeout(draw, QUIET)

    def loaded(self, view: sublime.View, before: str | None) -> None:
        """A file was loaded, or loaded again because it has changed on the disk; `before` is its text until then."""
        if view.window() is None:
            return
        self.views.draw(view, is_loaded=True)
        if before is not None:
            self._carry(self.views.taken_away(view), before, text_of(view))

    def unsent(self, window: sublime.Window) -> tuple[Comment, ...]:
        """The comments of a window that are still to be sent."""
        self.prompts.look()
        return tuple(each for each in self.of_window(window) if each.is_due)

    def settled(self, window: sublime.Window) -> tuple[Comment, ...]:
        """The same, where their lines are now."""
        for path in {comment.path for comment in self.unsent(window)}:
            self.views.draw_file(path)
        return self.unsent(window)

    def on_file(self, path: str) -> list[Comment]:
        """The comments on a file and its proposals that are still to be sent, where their lines are now."""
        self.views.draw_file(path)
        return [comment for comment in self.comments.of_file(path) if comment.is_due]

    def of_window(self, window: sublime.Window) -> list[Comment]:
        """All comments of a window, with those that were sent, by file and line."""
        return sorted(self.kept.of_window(window), key=lambda each: each.order)

    def windows_of(self, comment: Comment) -> list[sublime.Window]:
        """The windows with a folder that has a comment's file."""
        return [
            window
            for window in sublime.windows()
            if any(PurePath(path_key(comment.path)).is_relative_to(path_key(folder)) for folder in window.folders())
        ]

    def accepted(self, diff: DiffView) -> None:
        """The person has accepted a proposal: its comments may go to the agent as well."""
        path, window = diff.review.file_path, diff.window
        found = [each for each in self.comments.of_file(path) if each.side in ("original", "removed")]
        if diff.review.is_here and views_of_file(path):  # its tab is loaded again as soon as that is written
            self.comments.removed({each.id: each.first for each in found})
        else:
            self._carry(found, diff.review.original, diff.text() or "")
        if not any(comment.is_due and comment.side != "file" for comment in self.comments.of_file(path)):
            return
        # Several that are accepted at once are one question.
        if window.id() not in self._accepted:
            sublime.set_timeout(lambda: self._offer_accepted(window))
        self._accepted.setdefault(window.id(), set()).add(path)

    def _carry(self, found: Sequence[Comment], before: str, after: str) -> None:
        """A file has another text: these comments on what was taken away from it are where that would be in it."""
        lines = [(comment.first - 1, comment.first) for comment in found]

        def carry(places: Sequence[Range]) -> None:
            self.comments.removed({each.id: first + 1 for each, (first, _) in zip(found, places, strict=True)})
            self.views.draw_file(found[0].path, is_loaded=True)

        if found and before != after:
            self._adapter.on_another_thread(lambda: carried(lines, changes(before, after)), carry)

    def _offer_accepted(self, window: sublime.Window) -> None:
        paths = self._accepted.pop(window.id(), set())
        found = [comment for path in sorted(paths) for comment in self.on_file(path) if comment.side != "file"]
        if found and window.is_valid():
            many = f"{len(found)} comments" if len(found) > 1 else "comment"
            question = f"Send your {many} on what you have accepted as well?"
            if sublime.ok_cancel_dialog(question, "Send Comments"):
                send_after_answer(self._adapter, window, found)

    def write(self, view: sublime.View, text: str | None = None) -> None:
        """Comment the lines of each selection: with a text, or with what the person writes into the input panel.

        On the line of a comment that wasn't sent, the panel changes that one, and an empty text deletes it.
        """
        window, place = view.window(), self.views.place(view)
        if window is None or place is None:
            return
        places = selected_lines(view)
        first, last, _ = places[0]
        at_caret = self.views.at_caret(view)
        # It answers that one's note.
        place = place._replace(agent=next((comment.by for comment in at_caret if comment.by), place.agent))
        here = [comment for comment in at_caret if not comment.is_sent and not comment.by]
        if text is not None:
            if text.strip():
                self._add(window, place, places, text)
            else:
                self.delete(here[-1:])
        elif here and first == last and len(places) == 1:
            self.edit(window, here[-1])
        else:
            where = f"line {first}" if first == last else f"lines {first}-{last}"
            self._ask_at(window, place, places, where if len(places) == 1 else f"{len(places)} places")

    def write_at(self, window: sublime.Window, place: CommentTarget, first: int, lines: Sequence[str]) -> None:
        """Comment lines of a file that another view shows, from this one on, which counts from 1."""
        places = [(first, first + max(len(lines), 1) - 1, kept_lines("\n".join(lines)))]
        self._ask_at(window, place, places, f"{PurePath(place.path).name}:{first}")

    def _ask_at(
        self, window: sublime.Window, place: CommentTarget, places: Sequence[CommentedPlace], where: str
    ) -> None:
        line: Line = place.path, place.side, places[0][0]

        def written(words: str) -> None:
            self.comments.keep_draft(line, "")
            if words.strip():
                self._add(window, place, places, words)

        left = lambda words: self.comments.keep_draft(line, words)  # noqa: E731
        self._ask(window, f"Comment on {where}", self.comments.draft(line), written, left)

    def _add(self, window: sublime.Window, place: CommentTarget, places: Sequence[CommentedPlace], words: str) -> None:
        is_excluded = self._adapter.refusal(window, [place.path]) is not None
        for first, last, text in places:
            lines = () if is_excluded else text  # nothing of such a file comes into the cache folder
            left_out = last - first + 1 - max(len(lines), 1)
            made = Comment(place.path, first, lines, words, place.side, place.agent, left_out=left_out)
            self.kept.add(window, made)
        self._redraw([place.path])

    def edit(self, window: sublime.Window, comment: Comment) -> None:
        """Let the person change a comment; an empty text deletes it."""
        draft: Line = (comment.id, comment.side, 0)

        def kept(words: str) -> None:
            self.comments.keep_draft(draft, words if words != comment.words else "")

        def done(words: str) -> None:
            self.comments.keep_draft(draft, "")
            if words.strip():
                self.comments.edit(comment.id, words)
            else:
                self.comments.delete([comment.id])
            self._redraw([comment.path])

        self._ask(window, "Comment", self.comments.draft(draft) or comment.words, done, kept)

    def delete(self, comments: Iterable[Comment]) -> None:
        """Delete comments."""
        gone = list(comments)
        self.comments.delete(comment.id for comment in gone)
        self._redraw({comment.path for comment in gone})

    def pasted(self, comments: Sequence[Comment], to: str) -> None:
        """Comments stand in the prompt of a CLI. What the person does there can't be seen, so they count as sent."""
        self.comments.sent([comment.id for comment in comments], to, is_in_prompt=True)
        self._redraw({comment.path for comment in comments})
        self._went(comments, to)

    def _went(self, comments: Sequence[Comment], agent: str) -> None:
        """What is changed from now on is new to the person."""
        words = " ".join(" ".join(comment.words for comment in comments).split())[:MAX_WORDS]
        for window in {WindowId(window.id()) for comment in comments for window in self.windows_of(comment)}:
            self._adapter.thread.post(
                lambda companion, number=window: companion.changes.checkpoint(number, words, agent)
            )

    def held(self, comments: Sequence[Comment], agent: str) -> None:
        """Comments stand in the prompt of a chat."""
        self.comments.hold([comment.id for comment in comments], agent)
        self._redraw({comment.path for comment in comments})

    def prompt_sent(self, agent: str, text: str) -> None:
        """A chat's prompt was sent, perhaps with comments."""
        if comments := self.prompts.sent(agent, text):
            self._redraw({comment.path for comment in comments})
            self._went(comments, agent)

    def prompt_returned(self, agent: str | None, text: str) -> None:
        """A chat's prompt could not be sent. Without an agent the chat has closed."""
        self._redraw(self.prompts.returned(agent, text))

    def close(self) -> None:
        """The package is unloaded: nothing of it stays on the screen."""
        self.views.close()

    def _ask(
        self,
        window: sublime.Window,
        caption: str,
        before: str,
        done: Callable[[str], None],
        left: Callable[[str], None],
    ) -> None:
        """Ask for a text in the input panel. `left` gets what was written when the person leaves it."""
        written = before

        def changed(words: str) -> None:
            nonlocal written
            written = words

        panel: sublime.View | None = None

        def ended(then: Callable[[str], None], words: str) -> None:
            if panel:
                VIEWS.drop(panel)
            then(words)

        panel = window.show_input_panel(caption, before, partial(ended, done), changed, lambda: ended(left, written))
        VIEWS.take(panel, "comment input", lasts=False)

    def clicked(self, view: sublime.View, href: str) -> None:
        """The person has clicked a link of a comment: edit:ID or delete:ID."""
        action, _, identifier = href.partition(":")
        window, comment = view.window(), self.comments.find(identifier)
        if window is None or comment is None:
            return
        match action:
            case "edit":
                self.edit(window, comment)
            case "delete":
                self.delete([comment])

    def _loaded(self, root: str) -> None:
        self._redraw({comment.path for comment in self.comments.of_root(root)})

    def _redraw(self, paths: Iterable[str]) -> None:
        for path in (found := set(paths)):
            self.views.draw_file(path)
        if found:
            self._adapter.status_bar.draw()
            for window in sublime.windows():
                self._adapter.review_changed(window)
