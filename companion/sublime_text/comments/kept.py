"""The comments of the windows' folders, loaded and saved on another thread."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

import sublime

from ...comments.comments import Comments
from ...comments.store import CommentStore
from ...platforms.paths import path_key
from ..bridge import OffThread
from ..own_views import VIEWS

if TYPE_CHECKING:
    from ...comments.comment import Comment

logger = logging.getLogger(__name__)
ELSEWHERE = "commented elsewhere"
"""Remembered of a window: the folders of its commented files outside of its own folders."""
MOST_ELSEWHERE = 50
LAST_LIMIT = 1.0
"""Seconds that the end of the package waits until the last comments are written."""


class KeptComments:
    """All comments with their files. Lives on the UI thread; `off_thread` is where the disk is touched.

    A root is known by its key (`path_key`), so that one folder with two spellings has one list and one file.
    """

    def __init__(self, off_thread: OffThread, say: Callable[[str], object]) -> None:
        self._off_thread = off_thread
        self._say = say
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
                self._say(found)
                return
            self._loaded.add(root)
            self.comments.loaded(root, found)
            loaded(root)
            self._save(root)

        self._off_thread(lambda: self._read(root), done)

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
                self._say(why)
            self._save(root)

        self._off_thread(lambda: self._write(root, comments), saved)

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
