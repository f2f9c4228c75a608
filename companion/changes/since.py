"""Review Since: what differs between a commit and the disk, whoever has changed it, as a review of its own.

Its baseline is the tree of the commit, copied into the store, and nothing moves it: neither a commit nor a branch that
goes on. *Undo* writes the work tree alone, as the person would: what no agent is known to have written counts as
theirs, and they are asked. `RoundSince` blocks and runs on the worker thread of the folder; `SinceReviews` runs on the
companion thread.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..editor import WindowId, sentence
from ..review.document import Body
from ..snapshots import project
from ..snapshots.entries import Difference, Entry, TreeSnapshot
from ..snapshots.files import WriteRefusedError
from ..snapshots.objects import is_id
from ..snapshots.project import Repository
from .change_screen import SHORT, PointKind, SinceListing, SincePoint
from .folder import Contents, Folder, named
from .lines import Pieces, each_decided
from .roots import Roots
from .round import Round
from .rows import ChangeRow, Rows, identified, is_comparable, is_text, quoted
from .state import Chosen, Lines, RoundState
from .undo import RoundUndo, Write

_KINDS: Mapping[str, PointKind] = {"refs/heads/": "branch", "refs/remotes/": "branch", "refs/tags/": "tag"}
_ATTRIBUTES = ".gitattributes"
OFF = "Nothing is reviewed here: the setting “review” is “off”, or the window has no folder that can be."
NO_BRANCH_POINT = "{name} has no commit in common with this branch, as far as its history is here."
GONE = "{name} can't be read: {reason}."
BY_FILTER = "{path} is left alone: git changes files of this repository by a filter, so the commit has other bytes"
UNKNOWN = "No agent is known to have done this, so it counts as yours: {what}. Undo it?"


class RoundSince:
    """What differs between a commit and the last scan of a round."""

    def __init__(self, round_: Round, undo: RoundUndo, point: SincePoint) -> None:
        """Raises OSError."""
        self.asked = point
        self.round = round_
        self._undo = undo
        self._objects = round_.objects
        self._rows = Rows(round_.objects)
        self._blank = RoundState(round_.root)
        """The lines are compared as they are: what the round knows of them is about its own baseline."""
        found, below = round_.in_repository()
        if found is None:
            raise WriteRefusedError("there is no repository of git")
        self._repository: Repository = found
        commits = round_.store.commits
        commit = commits.commit_of(found, point.id)
        if point.kind == "branch":
            commit = commits.branch_point(found, commit)
            if not commit:
                raise WriteRefusedError(NO_BRANCH_POINT.format(name=point.name))
        self.point = replace(point, kind="commit", id=commit)
        """The same with the commit that it was then: a branch or a tag may go on."""
        listed = commits.files(found, commit, below)
        excluded = round_.store.excluded([*listed])
        files = {path: entry for path, entry in listed.items() if path not in excluded}
        tree, _ = self._objects.write_folders(
            b"%b %b 0\t%b" % (each.mode.encode(), each.blob.encode(), os.fsencode(path)) for path, each in files.items()
        )
        self._base = TreeSnapshot(tree, {})
        now = self._objects.blobs(round_.state.now.tree)
        attributes = [path for path in {*files, *now} if path.rpartition("/")[2] == _ATTRIBUTES]
        self._by_filter, self._by_ending = project.changed_by_git(found, round_.root, attributes)
        self.left_out: set[str] = set()
        """Files whose content in the commit isn't there."""

    def pin(self, window: WindowId) -> None:
        """Have the store keep what is compared for a window."""
        self.round.pinned = {**self.round.pinned, window: self._base.tree}  # the worker goes through it

    def differences(self) -> list[Difference]:
        """How the last scan differs from the commit, by path. A renamed file is one that is gone and one that came."""
        now = self.round.state.now
        nested = tuple(f"{path}/" for path in self.round.state.nested)
        found = [
            each
            for each in self._objects.differences(self._base, TreeSnapshot(now.tree, {}), renames=False)
            if each.path not in now.beside and not each.path.startswith(nested)
        ]
        blobs = {each.before.blob for each in found if each.before}
        lost = self.round.store.commits.copy(self._repository, blobs)
        self.left_out = {each.path for each in found if each.before and each.before.blob in lost}
        found = [each for each in found if each.path not in self.left_out]
        return self._with_endings(found) if self._by_ending else found

    def _with_endings(self, found: Sequence[Difference]) -> list[Difference]:
        """The same without what git does to the ends of lines: the commit has the endings that a file has here."""
        sides = [entry for each in found if each.after and each.before for entry in (each.before, each.after)]
        data = self._objects.read(entry.blob for entry in sides if is_text(entry))
        kept: list[Difference] = []
        for each in found:
            old, new = (data.get(side.blob, b"") if side else b"" for side in (each.before, each.after))
            if each.before and old and b"\r" not in old and b"\r\n" in new and new.count(b"\n") == new.count(b"\r\n"):
                before = Entry(each.before.mode, self._objects.write(old.replace(b"\n", b"\r\n")))
                if before != each.after:
                    kept.append(replace(each, before=before))
            else:
                kept.append(each)
        return kept

    def rows(self) -> list[ChangeRow]:
        """The files that differ, by path."""
        return self._rows.of(self.differences(), self._blank)

    def contents(self, paths: Collection[str]) -> dict[str, tuple[str, Contents | None]]:
        """The version of the rows of some files, and the contents of those that can be compared, by path."""
        found = [each for each in self.differences() if each.path in paths]
        contents = self._rows.contents_of(found, self._blank)
        return {row.path: (row.version, contents.get(row.path)) for row in self._rows.of(found, self._blank)}

    def wanted(self, path: str, after: str | None) -> Difference:
        """How a file differs. Raises WriteRefusedError if it doesn't, or, with an `after`, not as its row said."""
        found = next((each for each in self.differences() if each.path == path), None)
        if found is None or after not in (None, identified(found.after)):
            raise WriteRefusedError(f"{path} has changed since")
        return found

    def plan(self, path: str, chosen: Sequence[Chosen], after: str) -> Write:
        """What to write so that a file, or changes of it, are as in the commit. Raises WriteRefusedError."""
        found = self.wanted(path, None if chosen else after)
        if self._by_filter:
            raise WriteRefusedError(BY_FILTER.format(path=path))
        if not chosen:
            return self._undo.write_of(path, found.before, found.after)
        weave = self.round.weave(found.before, found.after) if is_comparable(found) else None
        if found.after is None or weave is None:
            raise WriteRefusedError(f"{path} has changed since")
        undone = each_decided(path, weave, chosen, lambda lines, one: lines.undone(*one))[-1][-1]
        if found.before is None and not undone.disk:  # nothing is left of a created file
            return self._undo.write_of(path, None, found.after)
        mode = (found.before if found.before and undone.disk == undone.base else found.after).mode
        return Write(path, Entry(mode, self._objects.write(undone.disk)), found.after)

    def goes(self, path: str, chosen: Sequence[Chosen], after: str) -> tuple[dict[int, str], list[str]]:
        """What an undo takes away: the lines that go, from 0, and in words what isn't a line that is there."""
        found = self.wanted(path, None if chosen else after)
        contents = self._rows.contents_of([found], self._blank).get(path)
        if contents is None or not contents[2].is_text or found.after is None:
            return {}, [path]
        old, new = (Pieces(data).lines for data in contents[:2])
        wanted = dict[str, list[Lines]]()
        for key, lines in chosen:
            wanted.setdefault(key, []).append(lines)
        rows: dict[int, str] = {}
        words: list[str] = []
        for hunk in contents[2].found:
            if chosen and hunk.key not in wanted:
                continue
            all_lines = hunk.change.new_start, hunk.change.new_end - 1
            parts = [lines or all_lines for lines in wanted.get(hunk.key, [None])]
            own = {row: new[row] for first, last in parts for row in range(first, min(last + 1, len(new)))}
            rows |= {row: text for row, text in own.items() if text.strip()}
            if not own:
                gone = old[hunk.change.old_start : hunk.change.old_end]
                words.append(f"{path}, line {hunk.change.new_start + 1}: the removal of {quoted(gone)}")
        return rows, words if rows or words else [path]


def points_of(round_: Round) -> list[SincePoint]:
    """What a folder can be compared with: branches and tags by name, then its last commits. Blocks."""
    found, _ = round_.in_repository()
    if found is None:
        return []
    points: list[SincePoint] = []
    for name, commit in sorted(project.refs(found).items()):
        if is_id(commit):
            prefix = next(filter(name.startswith, _KINDS))
            points.append(SincePoint(round_.root, name.removeprefix(prefix), _KINDS[prefix], commit))
    latest = round_.store.commits.latest(found)
    points += [SincePoint(round_.root, each.id[:SHORT], "commit", each.id, each.at, each.subject) for each in latest]
    return points


class SinceReviews:
    """The reviews since a commit: one for a window.

    `begin` has the folders of a window scanned; `by_agents` says which lines of a file, from 0, agents have written.
    """

    def __init__(
        self,
        roots: Roots,
        begin: Callable[[WindowId], Awaitable[bool]],
        by_agents: Callable[[WindowId, str, Sequence[int]], Awaitable[Collection[int]]],
    ) -> None:
        self._roots = roots
        self._begin = begin
        self._by_agents = by_agents
        self._open: dict[WindowId, RoundSince] = {}

    async def points(self, window: WindowId) -> list[SincePoint] | str:
        """What the folders of a window can be compared with, or a sentence on why with nothing."""
        if not await self._begin(window):
            return OFF
        found: list[SincePoint] = []
        for folder in self._roots.opened(window):
            try:
                found += await folder.call(points_of, folder.round)
            except OSError as error:
                return GONE.format(name=folder.root, reason=error)
        return found or "There is no commit to compare with."

    def end(self, window: WindowId) -> None:
        """The person has closed it."""
        if made := self._open.pop(window, None):
            made.round.pinned = {of: tree for of, tree in made.round.pinned.items() if of != window}
        if window in self._roots.windows:
            self._roots.window(window).has_since = False

    async def listing(self, window: WindowId, point: SincePoint) -> SinceListing:
        """What differs now from something: of a window's reviews since a commit it has the last one."""
        try:
            folder, since = await self._since(window, point)
            async with folder.lock:
                await folder.call(folder.scan)
                rows = await folder.call(since.rows)
        except OSError as error:
            return SinceListing(point, trouble=sentence(error))
        self._roots.publish(window)
        known, sharing = self._roots.window(window), self._roots.work.settings_of(window).sharing
        shown = [row for each in rows if (row := known.shown(each, sharing)) and row.kind != "excluded"]
        return SinceListing(since.point, tuple(shown), left_out=len(since.left_out))

    async def _since(self, window: WindowId, point: SincePoint) -> tuple[Folder, RoundSince]:
        folder = self._roots.folder(point.root)
        if folder is None and await self._begin(window):
            folder = self._roots.folder(point.root)
        if folder is None or folder.root not in self._roots.window(window).folders:
            raise WriteRefusedError(f"{point.root} is no folder of this window any more")
        since = self._open.get(window)
        if since is None or since.round is not folder.round or point not in (since.asked, since.point):
            self.end(window)
            since = self._open[window] = await folder.call(RoundSince, folder.round, folder.undo, point)
        self._roots.window(window).has_since = True
        since.pin(window)
        return folder, since

    async def bodies(self, window: WindowId, point: SincePoint, paths: Sequence[str]) -> dict[str, tuple[str, Body]]:
        """The changes of files as lines: see `Folder.bodies`."""
        try:
            folder, since = await self._since(window, point)
            seen = list(filter(folder.below(self._roots.sees(window)), paths))
            return await folder.bodies_of(seen, lambda: since.contents(seen))
        except OSError:
            return {}

    async def undo(self, window: WindowId, point: SincePoint, row: ChangeRow, chosen: Sequence[Chosen]) -> SinceListing:
        """Write changes of a file as they are in the commit, none for all of them. Returns what differs then.

        The person is asked about what no agent is known to have done.
        """

        async def undo(folder: Folder) -> None:
            if folder.below(self._roots.sees(window))(row.path):
                async with folder.deciding(window):
                    await self._undo(window, folder, since, row, chosen)

        try:
            _, since = await self._since(window, point)
            await self._roots.in_folder(lambda: self._roots.folder(row.root), undo)
        except OSError as error:
            self._roots.editor.messenger.mention(sentence(error), window)
        return await self.listing(window, point)

    async def _undo(
        self, window: WindowId, folder: Folder, since: RoundSince, row: ChangeRow, chosen: Sequence[Chosen]
    ) -> None:
        await folder.call(folder.scan)
        plan = partial(since.plan, row.path, chosen, row.after)
        await folder.call(plan)  # nobody is asked about what can't be undone
        rows, words = await folder.call(since.goes, row.path, chosen, row.after)
        known = await self._by_agents(window, row.full_path, sorted(rows)) if rows else ()
        theirs = [
            f"{row.path}, line {at + 1}: {quoted([text])}" for at, text in sorted(rows.items()) if at not in known
        ]
        asked = [*theirs, *words]
        if asked and not await folder.confirm(window, UNKNOWN.format(what=named(asked)), "Undo"):
            return
        outcome = await folder.write_as_person(plan)
        left = [*outcome.left, *([outcome.unseen] if outcome.unseen else [])]
        if left:
            self._roots.editor.messenger.mention(f"Not undone: {left[0]}.", window)
