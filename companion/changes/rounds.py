"""The rounds of all windows: when one begins, who is at work, when to scan, and what the person saves and accepts.

Everything here runs on the companion thread and touches no file: that is done by each folder's worker thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from ..clis import families
from ..editor import ChatId, WindowId, sentence
from ..review.changes import counted
from ..review.disk import Encodings
from ..review.document import Body
from ..review.review import Review
from ..review.reviews import Reviews
from ..snapshots.entries import Difference
from . import places
from .change_screen import ChangeScreen, FileChanges, FileTurn, Listing, SavedText, Work
from .folder import Folder, FolderClosedError
from .roots import Roots
from .round import Seen
from .saves import Accepted, Told
from .starting import RoundStarts
from .state import CLOCK

logger = logging.getLogger(__name__)

T = TypeVar("T")

PAUSE = 2.0
"""Seconds between two scans while an agent is at work, at least."""
LATE = 30.0
"""Seconds without a scan that ended, while an agent is at work, after which that is said."""
SHARE = 75
"""A scan that takes a second is followed by as many seconds without one: git uses two cores, so at most 5 % of one."""
COMMANDS = frozenset({"checkout", "cherry-pick", "merge", "pull", "rebase", "reset", "revert", "stash"})
"""What git calls a change of the files as the person does."""
SETTLED = 6.0
"""Seconds without a change after which a CLI that doesn't say when a turn ends is taken to be done."""
THEY_ARE_MINE = "Qwen: They Are Mine"
"""The command that answers."""
UNASKED = "To be asked first, {how}: {agent} writes files without asking."
STAY = "Not removed: {left}. Another editor has them, or the disk refuses it."
"""Said of snapshots."""


NAMING = 120.0
"""Seconds in which a person types a name in the side bar, at most."""


class Rounds:
    """The rounds of all windows. `stores` is the folder of the stores, None for the user's own."""

    def __init__(
        self,
        editor: ChangeScreen,
        work: Work,
        reviews: Reviews,
        background: Callable[[Coroutine[Any, Any, object]], asyncio.Future[object]],
        stores: str | None = None,
    ) -> None:
        self.roots = Roots(editor, work, reviews, background, stores)
        self._starts = RoundStarts(self.roots, self._watch)
        self.roots.takes = self._take
        self._editor = editor
        self._noting: dict[tuple[WindowId, str], asyncio.Future[object]] = {}
        """What has happened to each turn last, by its window and key, while that is being noted."""
        self._naming: tuple[Sequence[str], asyncio.TimerHandle] | None = None
        """The files and folders for which the person types another name in the side bar, and what ends that."""

    def opened(self, window: WindowId) -> None:
        """A window has come, or its folders have changed: what waits there is taken up, whoever is at work."""
        if self.roots.entered(window).at_work:
            self._go_on(window)
        else:
            self.roots.background(self._starts.open(window))

    def clis(self, window: WindowId, names: tuple[str, ...]) -> None:
        """The CLIs that are connected to a window, or come back after a reload."""
        known = self.roots.entered(window)
        new, gone = set(names) - set(known.clis), set(known.clis) - set(names)
        known.clis = names
        known.unasking.intersection_update(names)
        known.asking.intersection_update(names)
        for name in names:
            known.came.setdefault(name, time.time_ns())
        if new:
            self.roots.publish(window)  # nobody knows yet what waits
            self._go_on(window)
        if gone:
            self.roots.background(self._leave(window))

    def proposed(self, window: WindowId, cli: str) -> None:
        """A CLI asks before it changes a file."""
        known = self.roots.entered(window)
        known.asking.add(cli)
        known.unasking.discard(cli)

    def unasking(self, window: WindowId) -> set[str]:
        """The CLIs of a window that change files without asking, as far as that is known. It may be changed."""
        return self.roots.window(window).unasking

    async def _leave(self, window: WindowId) -> None:
        """Somebody is at work no longer: what they have written until now is theirs, and nothing later."""
        gone = self.roots.window(window).gone
        try:
            await self._scan_all(window)
        finally:
            self.roots.window(window).scanned(gone)
        await self._scan_all(window)

    async def begun(self, window: WindowId) -> bool:
        """Have rounds in the folders of a window, whoever is at work. Returns whether there are any."""
        self.roots.entered(window)
        if not self.roots.opened(window):
            await self._begin(window)
        return bool(self.roots.opened(window))

    def connected(self, window: WindowId) -> None:
        """The agent of a chat is connected: it may write at once after a prompt, and the round begins before that."""
        self.roots.entered(window)
        self._go_on(window)

    def turn_began(self, window: WindowId, chat: ChatId, agent: str, turn: str, words: str, sent: int) -> None:
        """The agent of a chat has begun a turn, whose key is `turn`.

        `sent` is when its prompt was sent, in nanoseconds of Unix time; 0 if that isn't known.
        """
        known = self.roots.entered(window)
        known.turns[chat, turn] = agent
        since = sent - CLOCK if sent else time.time_ns()
        known.came[agent] = min(since, known.came.get(agent, since))
        self._note(window, turn, self._begin_turn(window, chat, turn, words, sent))

    def _note(self, window: WindowId, turn: str, noting: Coroutine[Any, Any, object]) -> None:
        if task := self.roots.background(noting):
            key = window, turn
            self._noting[key] = task
            task.add_done_callback(lambda _: self._noting.pop(key) if self._noting.get(key) is task else None)

    async def _begin_turn(self, window: WindowId, chat: ChatId, turn: str, words: str, sent: int) -> None:
        """Note the beginning of a turn in the rounds that there are: nothing that others begin is waited for."""
        await self._arrived(window)
        self.roots.window(window).turn_files.clear()
        await self._add_checkpoints(window, chat, turn, words, sent)
        self.roots.background(self._begin_in_turn(window, chat, turn, words, sent))

    async def _begin_in_turn(self, window: WindowId, chat: ChatId, turn: str, words: str, sent: int) -> None:
        """Begin the rounds that there are not yet: if the turn still runs then, what comes later is known of it."""
        await self._begin(window)
        await self._add_checkpoints(window, chat, turn, words, sent)

    async def _add_checkpoints(self, window: WindowId, chat: ChatId, turn: str, words: str, sent: int) -> None:
        for folder in self.roots.opened(window):
            if agent := self.roots.window(window).turns.get((chat, turn)):
                try:
                    await folder.call(folder.checkpoints.begin_turn, agent, words, turn, sent)
                except OSError as error:
                    logger.warning("No checkpoint of %s: %s", folder.root, error)
        self.roots.publish(window)

    def turn_ended(self, window: WindowId, chat: ChatId, turn: str) -> None:
        """The agent of a chat has finished."""
        if agent := self.roots.window(window).turns.get((chat, turn)):
            self._note(window, turn, self._end_turn(window, chat, agent, turn, self._noting.get((window, turn))))

    async def _end_turn(
        self, window: WindowId, chat: ChatId, agent: str, turn: str, beginning: asyncio.Future[object] | None
    ) -> None:
        if beginning:  # both may be known at once
            await asyncio.wait({beginning})
        known = self.roots.window(window)
        gone = known.gone | {agent}
        try:
            try:
                await self._scan_all(window)
            finally:  # whatever the scan has met, nobody is at work any more
                known.turns.pop((chat, turn), None)
                known.scanned(gone)
                self._turn_over(agent)
            files = 0
            for folder in self.roots.opened(window):
                try:
                    await folder.call(folder.checkpoints.end, turn)
                    files += await folder.call(folder.checkpoints.files_of_turn, turn)
                except OSError as error:
                    logger.warning("Can't count what a turn has changed in %s: %s", folder.root, error)
            if files:
                self.roots.work.turn_written(chat, turn, files)
            self._announce(window, agent, is_chat=True)
        finally:  # what goes when the turn ends must not stay for good
            self.roots.turn_over()

    async def _until_noted(self, window: WindowId, turn: str) -> None:
        """Wait until what is known of a turn is noted, however that ends."""
        if task := self._noting.get((window, turn)):
            await asyncio.wait({task})

    async def turn_files(self, window: WindowId, turn: str) -> list[str] | None:
        """The files that going back to before a turn would write; None if there is no checkpoint of it."""
        await self._until_noted(window, turn)
        await self._scan_all(window)
        return await self._found_of_turn(window, lambda folder: folder.paths_since_turn(turn))

    async def _found_of_turn(self, window: WindowId, find: Callable[[Folder], list[T] | None]) -> list[T] | None:
        """What the worker of each folder finds of a turn; None if none has a checkpoint of it."""
        each = [await folder.call(find, folder) for folder in self.roots.opened(window)]
        known = [found for found in each if found is not None]
        return list(chain(*known)) if known else None

    async def restore_turn(self, window: WindowId, turn: str, files: Collection[str]) -> tuple[list[str], list[str]]:
        """Write files as they were before a turn, with what the person has saved since: those that `turn_files` told.

        Returns the files that were written, and a sentence for each file or folder that was left alone.
        """
        written: list[str] = []
        left: list[str] = []
        sees = self.roots.sees(window)

        async def restore(folder: Folder) -> None:
            def is_shown(each: Difference) -> bool:
                return folder.full_path(each.path) in files

            async with folder.deciding(window):
                try:
                    if not (point := await folder.call(folder.checkpoints.begin_of, turn)):
                        return
                    outcome, _ = await folder.restore(window, point.number, is_shown, folder.below(sees))
                except OSError as error:  # what was written in another folder is told all the same
                    left.append(sentence(error))
                    return
                written.extend(folder.full_path(path) for path in outcome.written)
                left.extend(map(sentence, filter(None, [*outcome.left, outcome.unseen])))

        await self._until_noted(window, turn)
        await self.roots.in_each(window, restore)
        return written, left

    async def turn_texts(self, window: WindowId, turn: str) -> list[tuple[str, str, str]] | None:
        """What was changed in a turn: path, old and new text of each file; None if no snapshots were taken of it.

        Files that the window excludes are left out.
        """
        await self._until_noted(window, turn)
        for folder in self.roots.opened(window):
            if (point := await folder.call(folder.checkpoints.begin_of, turn)) and not point.end:
                await self._scan_all(window)  # its last changes may not have been seen yet
                break
        found = await self._found_of_turn(window, lambda folder: folder.texts_of_turn(turn))
        sees = self.roots.sees(window)
        return None if found is None else [each for each in found if sees(each[0])]

    def named(self, agent: str, path: str) -> None:
        """An agent says that it writes a file, in the turn that runs."""
        self.roots.named[os.path.normcase(path)] = agent

    def listing(self, window: WindowId) -> Listing:
        """What waits in a window."""
        return self.roots.window(window).listing

    def window_closed(self, window: WindowId) -> None:
        """A window closes: its folders are let go, unless another window has them."""
        self.roots.close_window(window)
        for folder in list(self.roots.folders.values()):
            if folder.gone:
                self.roots.background(self._leave_folder(folder))
        self.roots.turn_over()  # its turns are over for the others

    async def _leave_folder(self, folder: Folder) -> None:
        """Those who were at work in a closed window are so no longer in a folder that another one has: see `_leave`."""
        gone = {*folder.gone}
        try:
            await self._scan_without_window(folder)
        finally:
            folder.gone = {name: since for name, since in folder.gone.items() if name not in gone}
        await self._scan_without_window(folder)

    async def _scan_without_window(self, folder: Folder) -> None:
        if folder.windows and folder.has_round:
            await self._scan_in(min(folder.windows), folder, goes_on=False)
            self.roots.publish_all(folder)

    def close(self) -> None:
        """The companion ends. What waits goes on with the next one."""
        self.roots.close()

    def begin(self, window: WindowId) -> None:
        """The person begins a round: everything up to now counts as reviewed."""
        self.roots.entered(window)
        self.roots.background(self._begin(window, anew=True))

    async def _begin(self, window: WindowId, *, anew: bool = False) -> None:
        await self._starts.begin(window, anew=anew)

    def _go_on(self, window: WindowId) -> None:
        """Go on with the rounds that there are, and begin the others."""
        self.roots.background(self._arrived(window))
        self.roots.background(self._begin(window))

    def forget(self, window: WindowId) -> None:
        """Remove all snapshots. Rounds that are open begin anew."""
        self.roots.background(self._forget(window))

    async def _forget(self, window: WindowId) -> None:
        before = await asyncio.to_thread(places.there, self.roots.stores)
        own, left = set[str](), 0
        for folder in list(self.roots.folders.values()):
            with contextlib.suppress(FolderClosedError):  # it goes with those that no window has
                async with folder.lock:
                    left += not await folder.call(folder.forget)
                    own.add(folder.store)
        await asyncio.to_thread(places.shrink, self.roots.stores, everything=True)
        left += len({*await asyncio.to_thread(places.there, self.roots.stores)} - own)
        said = f"Snapshots removed: {max(0, len(before) - left)}."
        if left:
            self._editor.messenger.say(f"{said} {STAY.format(left=left)}", window)
        else:
            self._editor.messenger.mention(said, window)
        for number in list(self.roots.windows):
            self.roots.publish(number)
            if self.roots.window(number).at_work:
                await self._begin(number)

    def _turn_over(self, agent: str) -> None:
        """A turn of an agent is over: what it has named is its own no longer."""
        at_work = {name for known in self.roots.windows.values() for name in known.turns.values()}
        if agent not in at_work:
            named = self.roots.named
            self.roots.named = {path: name for path, name in named.items() if name != agent}

    def _watch(self, window: WindowId) -> None:
        """Scan again and again, for as long as somebody is at work."""
        known = self.roots.window(window)
        if known.watching is None or known.watching.done():
            known.watching = self.roots.background(self._keep_scanning(window))

    async def _keep_scanning(self, window: WindowId) -> None:
        scans: dict[Folder, asyncio.Future[object]] = {}
        while (known := self.roots.windows.get(window)) and known.at_work:
            await asyncio.sleep(max([PAUSE, *(SHARE * folder.cost for folder in known.folders.values())]))
            for folder in self.roots.opened(window):
                scan = None if folder in scans else self.roots.background(self._scan_or_say_late(window, folder))
                if scan:
                    scans[folder] = scan
                    await asyncio.wait({scan}, timeout=LATE)  # its disk may hang, and those of the others do not
            scans = {folder: scan for folder, scan in scans.items() if not scan.done()}
            self.roots.publish(window)
            is_quiet = known.turn_files and time.monotonic() - known.changed_at > SETTLED
            if is_quiet and known.clis and not known.turns:
                self._announce(window, known.clis[-1])

    async def _scan_or_say_late(self, window: WindowId, folder: Folder) -> None:
        late = asyncio.create_task(self._say_late(window, folder))
        try:
            await self._scan_in(window, folder, goes_on=False)
        except Exception as error:  # what one scan stumbles over must not end all that follow
            logger.warning("A scan of %s failed: %s", folder.root, error, exc_info=True)
        finally:
            late.cancel()
        self.roots.publish_all(folder)

    async def _say_late(self, window: WindowId, folder: Folder) -> None:
        """No scan has ended for a while, though somebody is at work, and none waits for an answer of the person."""
        while True:
            await asyncio.sleep(LATE)
            if folder not in self.roots.opened(window) or folder.is_asking or folder.trouble:
                continue
            if time.monotonic() - folder.scanned_at > LATE:
                name = os.path.basename(folder.root)
                folder.trouble = (
                    f"What agents write in {name} has not been listed for {LATE:.0f} seconds: its disk, or git, "
                    "doesn't answer. What is written until then is listed as soon as it does."
                )
                self.roots.say_trouble(folder, window)

    async def _arrived(self, window: WindowId) -> None:
        """Somebody has come to work in a window: the rounds that are open there go on, whatever else is begun."""
        if self.roots.opened(window):
            self._watch(window)
            await self._scan_all(window, goes_on=True)

    async def _scan_all(self, window: WindowId, *, goes_on: bool = False) -> None:
        """Scan all folders of a window that have a baseline: see `Folder.resume` for a round that `goes_on`."""
        for folder in self.roots.opened(window):
            await self._scan_in(window, folder, goes_on=goes_on)
            self.roots.publish_all(folder)
        self.roots.publish(window)

    async def _scan_in(self, window: WindowId, folder: Folder, *, goes_on: bool) -> None:
        try:
            async with folder.lock:
                await folder.call(folder.resume if goes_on else folder.scan)
            self.roots.works_again(folder)
        except OSError as error:
            logger.warning("Can't scan %s: %s", folder.root, error)
            self.roots.say_trouble(folder, window)
        except FolderClosedError:
            return  # it is a folder of the window no longer; the others still are

    def _take(self, folder: Folder, seen: Seen) -> None:
        """Take on what a scan has found: whoever has asked for it, nothing of it is lost."""
        for window in folder.windows:
            known = self.roots.window(window)
            if known.at_work:
                known.changed_at = time.monotonic()
                known.turn_files |= {os.path.join(folder.root, path) for path in seen.changed}
        window = min(folder.windows, key=lambda window: (not self.roots.window(window).at_work, window))
        # An agent at work is the first suspect.
        if seen.by_git and not any(self.roots.window(each).turns for each in folder.windows):
            how = f"“git {seen.moved_by}”" if seen.moved_by in COMMANDS else "git"
            said = f"{how} changed {counted(len(seen.by_git), 'file')}. You? “{THEY_ARE_MINE}”."
            folder.by_git.append((seen, said))
            self.roots.editor.messenger.say(said, window)
        self.roots.publish_all(folder)
        self.roots.background(self._tell_below(folder, seen))

    async def _tell_below(self, folder: Folder, seen: Seen) -> None:
        """Tell of each file that is open: whether its tab has unsaved text is known there when it is told."""
        opened = await self.roots.editor.files.open_files()
        for path in seen.changed:
            if os.path.normcase(folder.full_path(path)) in opened:
                try:
                    await folder.tell_below(path, seen.before)
                except Exception as error:  # the other tabs are told in any case
                    logger.warning("Can't tell of %s: %s", path, error, exc_info=True)

    def _announce(self, window: WindowId, agent: str, *, is_chat: bool = False) -> None:
        """Say once which files a turn has changed, if any of them waits, and that their CLI doesn't ask.

        A chat has its mode above its prompt. The daemon behind it may be a CLI of the window, of the same name.
        """
        known = self.roots.window(window)
        waiting = {(row.root, row.path) for row in known.listing.rows}
        files = len({each for each in waiting if os.path.join(*each) in known.turn_files})
        known.turn_files.clear()
        if files:
            self.roots.editor.written.turn_changed(window, agent, files)
            if not is_chat and agent in known.clis and agent not in known.unasking | known.asking:
                known.unasking.add(agent)
                self.roots.work.changes_changed()
                how = families.to_be_asked(agent)
                if how and self.roots.work.settings_of(window).review != "after":  # else the person has chosen that
                    self.roots.say_once(UNASKED.format(agent=agent, how=how), window, needs_action=False)

    def scan(self, window: WindowId) -> None:
        """Something may have been written: a window got the focus, a file was loaded again."""
        if self.roots.opened(window):
            self.roots.background(self._scan_all(window))

    def checkpoint(self, window: WindowId, words: str, agent: str = "") -> None:
        """Take a checkpoint in all folders of a window. What is changed later is marked as new."""
        self.roots.background(self._checkpoint(window, words, agent))

    async def _checkpoint(self, window: WindowId, words: str, agent: str) -> None:
        async def begin_new(folder: Folder) -> None:
            await folder.call(folder.checkpoints.begin_new, agent, words)
            await folder.call(folder.refresh)

        await self._scan_all(window)
        await self.roots.in_each(window, begin_new)

    async def undone_since(self, window: WindowId) -> list[str]:
        """A line for each change that the person has undone and no agent was told of yet, the oldest first.

        Of the files that the window has and doesn't exclude: another one may have the folder, too, or have had it.
        """
        sees = self.roots.sees(window)
        found = [
            await folder.call(folder.undo.unsent_notes, folder.below(sees)) for folder in self.roots.opened(window)
        ]
        return [line for lines in found for line in lines]

    async def notes_sent(self, window: WindowId, lines: Sequence[str]) -> None:
        """These lines were sent to an agent."""
        await self.roots.in_each(window, lambda folder: folder.call(folder.undo.notes_sent, lines))

    def saved(self, path: str, saved: SavedText | None = None, encodings: Encodings | None = None) -> None:
        """The person has saved a file."""
        told = Told(path, saved or SavedText(), encodings or Encodings())
        self.roots.note_event(path, partial(self._note_told, told), told)

    async def _note_told(self, told: Told, folder: Folder, name: str) -> None:
        # What is told of other files as well is noted together: a look at the folder takes longer than all the rest.
        words = {name: told} if told.is_deleted else {**self.roots.saves_in(folder), name: told}
        for path, lost in (await folder.call(folder.note, words)).items():
            if folder.windows:
                await folder.tell_overwritten(min(folder.windows), path, lost)
        if not told.is_noted:
            raise OSError(f"the save of {name} could not be noted")

    def handled(self, paths: Sequence[str], *, is_renamed: bool, since: int = 0) -> None:
        """The person has deleted files or folders in the side bar, or begins to type another name for one.

        `since` is when the command began, in nanoseconds of Unix time; 0 if that isn't known.
        """
        self.naming_over()
        for path in paths:
            told = None if is_renamed else Told(path, SavedText(since=since), is_deleted=True)
            self.roots.note_event(path, partial(self._note_told, told) if told else self._renaming, told, is_link=True)
        if is_renamed:
            self._naming = paths, asyncio.get_running_loop().call_later(NAMING, self.naming_over)

    def naming_over(self) -> None:
        """The person types no other name in the side bar any more."""
        if self._naming:
            (paths, ends), self._naming = self._naming, None
            ends.cancel()
            for path in paths:
                self.roots.note_event(path, self._naming_over, is_link=True)

    async def _naming_over(self, folder: Folder, name: str) -> None:
        await folder.call(folder.saves.naming_over, name)
        await folder.call(folder.refresh)

    async def _renaming(self, folder: Folder, name: str) -> None:
        await folder.call(folder.saves.handled, name, is_renamed=True)
        await folder.call(folder.refresh)

    def written(self, review: Review, text: str) -> None:
        """A proposal that the person has accepted is on the disk: it counts as reviewed."""
        before = review.disk.source.source if review.disk.exists else None
        accepted = Accepted(before, text, review.proposed.source)
        told = Told(review.file_path, encodings=review.encodings, accepted=accepted)
        self.roots.note_event(review.file_path, partial(self._reviewed, review, told, accepted), told)

    async def _reviewed(self, review: Review, told: Told, accepted: Accepted, folder: Folder, name: str) -> None:
        before, text, proposed = accepted
        window = review.window if review.window in folder.windows else review.owner.window
        encodings = await self._editor.files.encodings(folder.full_path(name))
        async with folder.deciding(window):
            operation = await folder.call(folder.saves.reviewed, name, before, text, encodings, proposed)
            # If its agent has written on already, *Take Back* says that it was not seen.
            at = self.roots.reviews.take_answer(review) if operation else 0
            if operation and at:
                operation.at, operation.accepted = at, review.owner.cli
                operation.is_edited = text != proposed
                await folder.call(folder.round.remember, operation)
            await folder.call(folder.round.settle)
            told.is_noted = True
            await folder.call(folder.noted)

    async def file(self, root: str, path: str) -> FileChanges | None:
        """The changes of a file that waits, for its view."""
        folder = self.roots.folder(root)
        return await folder.file(path) if folder else None

    async def bodies(self, window: WindowId, root: str, paths: Sequence[str]) -> dict[str, tuple[str, Body]]:
        """The changes of files that wait and that a window may see, as lines: see `Folder.bodies`."""
        folder, sees = self.roots.folder(root), self.roots.sees(window)
        return await folder.bodies(list(filter(folder.below(sees), paths))) if folder else {}

    async def turns(self, window: WindowId) -> dict[tuple[str, str], tuple[FileTurn, ...]]:
        """The prompts after which each file that waits in a window was changed, by its root and path.

        The last one comes first.
        """
        # Where nothing waits the disk may hang.
        waiting = [folder for folder in self.roots.opened(window) if folder.rows]
        found = [(folder.root, await folder.call(folder.turns)) for folder in waiting]
        return {(root, path): made for root, files in found for path, made in files.items()}

    async def committed(self, root: str, path: str, *, in_index: bool) -> str | None:
        """The text of a file in the person's own repository, for the editor's gutter."""
        folder = self.roots.folder(root)
        return await folder.committed(path, in_index=in_index) if folder else None
