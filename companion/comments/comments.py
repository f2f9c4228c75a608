"""The comments of the folders that are open, and the texts that were begun."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..platforms.paths import path_key
from .comment import Comment, Side

Line = tuple[str, Side, int]
"""A path, a side, and a line from 1."""


class Comments:
    """All comments, by the root folder that they belong to, however its path is spelled.

    `changed` is called with the key (`path_key`) of a root whose comments differ now.
    Lives on the thread of the editor's interface; nothing here touches the disk.
    """

    def __init__(self, changed: Callable[[str], object]) -> None:
        self._changed = changed
        self._by_root: dict[str, list[Comment]] = {}
        self._drafts: dict[Line, str] = {}

    def loaded(self, root: str, comments: Sequence[Comment]) -> None:
        """The comments that were kept of a root, which may have new ones already."""
        known = self._by_root.setdefault(path_key(root), [])
        ids = {comment.id for comment in known}
        known[:0] = [comment for comment in comments if comment.id not in ids]

    def knows(self, root: str) -> bool:
        """Whether the comments of a root were loaded."""
        return path_key(root) in self._by_root

    def add(self, root: str, comment: Comment) -> None:
        """Add a comment."""
        key = path_key(root)
        self._by_root.setdefault(key, []).append(comment)
        self._changed(key)

    def edit(self, identifier: str, words: str) -> None:
        """Give a comment other words; it counts as not sent."""
        self._replace([identifier], lambda comment: replace(comment, words=words, sent=0.0, to="", is_in_prompt=False))

    def move(self, identifier: str, first: int, *, has_changed: bool) -> None:
        """The lines of a comment are at this line now; or they were changed, and this is where they were."""
        self._replace([identifier], lambda comment: comment.moved(first, has_changed=has_changed))

    def removed(self, lines: Mapping[str, int]) -> None:
        """The lines of some comments, by their ids, were taken away from the file, at these lines of it."""
        self._replace(lines, lambda comment: replace(comment.moved(lines[comment.id]), side="removed"))

    def sent(self, identifiers: Iterable[str], to: str = "", *, is_in_prompt: bool = False) -> None:
        """An agent has got comments, or they stand in its prompt, where nobody can see whether they are sent."""
        now = time.time()
        self._replace(identifiers, lambda comment: replace(comment, sent=now, to=to, is_in_prompt=is_in_prompt))

    def hold(self, identifiers: Iterable[str], to: str) -> None:
        """Comments stand in the prompt of a chat, which is still to be sent."""
        self._replace(identifiers, lambda comment: replace(comment, sent=0.0, to=to, is_in_prompt=True))

    def release(self, identifiers: Iterable[str]) -> None:
        """Comments stand in no prompt any more, and nobody has got them."""
        self._replace(identifiers, lambda comment: replace(comment, sent=0.0, to="", is_in_prompt=False))

    def delete(self, identifiers: Iterable[str]) -> None:
        """Delete comments."""
        gone = set(identifiers)
        for root, comments in self._by_root.items():
            if any(comment.id in gone for comment in comments):
                comments[:] = [comment for comment in comments if comment.id not in gone]
                self._changed(root)

    def find(self, identifier: str) -> Comment | None:
        """A comment by its id."""
        return next((comment for comment in self if comment.id == identifier), None)

    def of_root(self, root: str) -> tuple[Comment, ...]:
        """The comments of a root, in the order of their files and lines."""
        return tuple(sorted(self._by_root.get(path_key(root), ()), key=lambda comment: comment.order))

    def of_file(self, path: str) -> tuple[Comment, ...]:
        """The comments on a file and on its proposals, in the order of their lines."""
        key = path_key(path)
        found = (comment for comment in self if path_key(comment.path) == key)
        return tuple(sorted(found, key=lambda comment: comment.order))

    def unsent(self, roots: Iterable[str]) -> tuple[Comment, ...]:
        """The comments of some roots that are still to be sent, in the order of their files and lines."""
        keys = dict.fromkeys(map(path_key, roots))
        return tuple(comment for key in keys for comment in self.of_root(key) if comment.is_due)

    def draft(self, line: Line) -> str:
        """The text that was begun at a line; empty for none. The path may be the id of a comment that is edited."""
        return self._drafts.get(_spelled(line), "")

    def keep_draft(self, line: Line, words: str) -> None:
        """Keep the text that was begun at a line, or forget it if it is empty."""
        if words.strip():
            self._drafts[_spelled(line)] = words
        else:
            self._drafts.pop(_spelled(line), None)

    def __iter__(self) -> Iterator[Comment]:
        """All comments."""
        for comments in list(self._by_root.values()):
            yield from comments

    def _replace(self, identifiers: Iterable[str], change: Callable[[Comment], Comment]) -> None:
        wanted = set(identifiers)
        for root, comments in self._by_root.items():
            changed = [change(comment) if comment.id in wanted else comment for comment in comments]
            if changed != comments:
                comments[:] = changed
                self._changed(root)


def _spelled(line: Line) -> Line:
    path, side, first = line
    return path_key(path), side, first
