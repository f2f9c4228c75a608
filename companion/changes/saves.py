"""What the editor tells of the files of a round: what the person saves there, deletes, or has accepted.

A window may close, or the editor end, right after a save. What can't be noted at once is kept in the store, as a kill
gives no time, and so is what isn't noted when a folder is let go. Whoever opens the store next notes it before anything
else is looked at.

A save is what the person has changed in the text that their tab was loaded from, whatever was on the disk by then.
What notes it blocks and runs on the folder's worker thread, as the round does.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..platforms.files import write_private
from ..platforms.paths import RealPaths, real_path
from ..review.disk import Encodings, SourceText, decoded, encode_like
from ..snapshots import project
from ..snapshots.entries import FILE, Entry, TreeSnapshot
from .change_screen import SavedText
from .lines import Weave
from .places import is_in, is_inside, place_of, relative
from .round import Round, Seen
from .rows import is_text
from .state import CLOCK, FileState, Operation, RoundState, Sighting, made, plain

logger = logging.getLogger(__name__)

ANOTHER = "another program"
TOLD = "told.json"


class Accepted(NamedTuple):
    """A proposal that the person has accepted."""

    before: str | None
    """None for a new file."""
    text: str
    """What they have made of it."""
    proposed: str


@dataclass(slots=True)
class Told:
    """The person has saved a file, has accepted a proposal of it, or has deleted it or a folder in the side bar."""

    path: str
    """As the editor has it; in the store the one below the root."""
    saved: SavedText = field(default_factory=SavedText)
    encodings: Encodings = field(default_factory=Encodings)
    is_deleted: bool = False
    accepted: Accepted | None = None
    is_noted: bool = field(default=False, init=False)
    """Whether a round has it, or a store for the next one."""
    is_kept: bool = field(default=False, init=False)
    """Whether the store has it until then."""

    def named(self, name: str, *, has_texts: bool) -> Told:
        """The same of a file by another name, perhaps without its texts."""
        saved = self.saved if has_texts else SavedText(since=self.saved.since, until=self.saved.until)
        return Told(name, saved, self.encodings, self.is_deleted, self.accepted if has_texts else None)

    @property
    def is_save(self) -> bool:
        """Whether the person has saved a file."""
        return not self.is_deleted and self.accepted is None


Excluding = Callable[[str, Sequence[str]], set[str]]
"""Gives those of some files of a root that are never read."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is not noted yet when folders are let go."""

    told: Sequence[Told]
    """Of their files, and of other ones: that of each file the oldest first."""
    roots: Sequence[str]
    """All folders with rounds, also those that are let go."""
    excluded: Excluding

    def of(self, root: str) -> list[tuple[Told, str]]:
        """What was told of the files of a root, each with the file's path in it. On its worker thread."""
        words = [each for each in self.told if not each.is_noted]
        # A disk that hangs must not keep whoever opens the store next.
        real = {
            **RealPaths(real_path).known(each.path for each in words if not each.is_deleted),
            **RealPaths(place_of).known(each.path for each in words if each.is_deleted),
        }
        for each in words:
            if each.path not in real:
                logger.warning("What was told of %s is lost: its disk doesn't answer", each.path)
        inner = [each for each in self.roots if is_inside(each, root)]
        found = [(each, real[each.path]) for each in words if each.path in real]
        return [(each, relative(path, root)) for each, path in found if is_in(path, [root]) and not is_in(path, inner)]


class KeptWords:
    """What a store has of what was told of the files of its folder. Used on two threads."""

    def __init__(self, store: str) -> None:
        self._path = os.path.join(store, TOLD)
        self._lock = threading.Lock()
        self._words = [(each, each) for each in _read(self._path)]
        """What was told, each with its form in the store, the oldest first."""
        self._is_over = False

    @property
    def words(self) -> list[Told]:
        """What is to be noted yet, as the store has it."""
        return [kept for word, kept in self._words if not word.is_noted]

    def keep(self, words: Sequence[tuple[Told, str]], apart: Collection[str]) -> None:
        """Have these, too, each by its path in the folder, without the texts of the files `apart`. Raises OSError."""
        with self._lock:
            new = [(word, name) for word, name in words if not (word.is_noted or word.is_kept or self._is_over)]
            for word, name in new:
                self._words.append((word, word.named(name, has_texts=name not in apart)))
                word.is_kept = True
            if new:
                self._write()

    def noted(self) -> None:
        """Something was noted: the store has it no longer. Raises OSError."""
        with self._lock:
            if any(word.is_noted for word, _ in self._words):
                self._write()

    def end(self, words: Sequence[tuple[Told, str]], apart: Collection[str]) -> None:
        """Leave these for whoever opens the store next, and nothing else that was told since it was opened.

        Raises OSError.
        """
        with self._lock:
            self._is_over = True
            kept = {id(word): (word, form) for word, form in self._words}
            for word, _ in self._words:
                word.is_kept = False
            self._words = [each for each in self._words if each[0] is each[1]]
            for word, name in words:
                self._words.append(kept.get(id(word)) or (word, word.named(name, has_texts=name not in apart)))
            self._write()
            for word, _ in words:
                word.is_noted = True

    def _write(self) -> None:
        self._words = [each for each in self._words if not each[0].is_noted]
        if words := self.words:
            write_private(self._path, json.dumps(words, default=plain).encode())
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)


def _read(path: str) -> list[Told]:
    """What was left in a store, the oldest first. Raises OSError."""
    try:
        with open(path, encoding="utf-8") as file:
            found: list[Told] = made(list[Told], json.load(file))
            return found
    except FileNotFoundError:
        return []
    except (ValueError, TypeError) as error:
        logger.warning("What was told in %s can't be read, and is lost: %s", path, error)
        os.unlink(path)
        return []


class Overwritten(NamedTuple):
    """What a save has overwritten in a file."""

    agents: tuple[str, ...]
    """Who had written it."""
    data: bytes


class Saves:
    """Keeps the person's own edits out of what is to be reviewed in one round."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._objects = round_.objects

    @property
    def _state(self) -> RoundState:
        return self._round.state

    def written_below(self, path: str, before: TreeSnapshot) -> tuple[tuple[str, ...], bytes | None] | None:
        """Who has written a file since a scan, and what it had then, None without a text; None if it is no text now."""
        entry, old = self._objects.entry(self._state.now, path), self._objects.entry(before, path)
        agents = self._state.of(path).agents
        # Without a recent scan, the person has saved it since.
        if not agents or entry is None or not is_text(entry) or not self._state.recent.of(path):
            return None
        return agents, self._round.data(old)

    def saved(self, words: Mapping[str, Told]) -> dict[str, Overwritten]:
        """The person has saved files. Returns what somebody had written in those where that was overwritten.

        One scan is made for all of them: until the word of each is noted, somebody else has written it. A word that
        can't be noted isn't, and the others are.
        """
        began_at = self._round.began_at
        if began_at <= time.time_ns():  # else the clock was set back since
            for word in words.values():  # the baseline has what was left on the disk of what was saved before it
                word.is_noted = word.is_noted or 0 < word.saved.until < began_at - CLOCK
        words = {path: word for path, word in words.items() if not word.is_noted}
        scans = {path: len(self._state.recent.of(path)) for path in words}
        self._round.scan(own=[*words])
        seen = {path: self._seen(path, word.saved, word.encodings, scans[path]) for path, word in words.items()}
        with self._round.all_or_nothing():
            self._saved_alone(words, seen)
        found: dict[str, Overwritten] = {}
        for path, word in words.items():
            if word.is_noted:
                continue
            try:
                with self._round.all_or_nothing():
                    lost = self._saved(path, seen[path], word.encodings, word.saved)
            except OSError as error:
                logger.warning("The save of %s can't be noted yet: %s", path, error)
                continue
            word.is_noted = True
            if lost:
                found[path] = lost
        return found

    def _seen(self, path: str, saved: SavedText, encodings: Encodings, scans: int) -> list[Sighting]:
        """The sightings of a save, and of what came later. There were so many before it was looked at."""
        found = [
            each
            for at, each in enumerate(self._state.recent.of(path))
            if (each.written >= saved.since - CLOCK if saved.since and each.written else at >= scans)
        ]
        # Between two ticks of the clock nobody knows which was first, but the tab was loaded from what came before.
        early = [at for at, each in enumerate(found) if each.written and each.written < saved.since]
        if not early or saved.loaded in (None, saved.text):
            return found
        after = [*(each.before for each in found[1:]), self._objects.entry(self._state.now, path)]
        loaded = [at for at in early if (made := after[at]) and self._text(made, encodings) == saved.loaded]
        return found[loaded[-1] + 1 :] if loaded else found

    def _saved_alone(self, words: Mapping[str, Told], seen: Mapping[str, Sequence[Sighting]]) -> None:
        """Note those saves together of files of which nothing has waited, and which nobody else has written since.

        Most are so, and one by one a hundred of them take ten seconds.
        """
        paths = [path for path, found in seen.items() if len(found) == 1 and self._is_quiet(path, found[0])]
        now, base = (self._objects.entries(each, paths) for each in (self._state.now, self._state.base))
        same = [path for path in paths if path in now and base.get(path) == seen[path][0].before]
        sides = {path: (base[path], now[path]) for path in same if is_text(base[path]) and is_text(now[path])}
        data = self._objects.read(entry.blob for pair in sides.values() for entry in pair)
        excluded = self._round.store.excluded(list(sides))
        alone: dict[str, tuple[Entry, Entry]] = {}
        for path, pair in sides.items():
            encodings, saved = words[path].encodings, words[path].saved
            texts = [SourceText(decoded(data[each.blob], encodings)[0]).shown for each in pair if each.blob in data]
            is_whole = saved.found is None and not saved.is_lost
            if texts == [saved.loaded, saved.text] and is_whole and path not in excluded:
                alone[path] = pair
        if not alone:
            return
        after = {path: entry for path, (_, entry) in alone.items()}
        self._state.base = self._objects.with_entries(self._state.base, after)
        self._state.add_saves((path, *pair) for path, pair in alone.items())
        for path in alone:
            self._state.know(path, agents=(), lines=None)
            self._state.recent.forget(path)
            self._round.saved_at[path] = max(words[path].saved.since, words[path].saved.until)
        self._round.save()
        for path in alone:
            words[path].is_noted = True

    def _is_quiet(self, path: str, found: Sighting) -> bool:
        """Whether nothing of a file has waited before a scan, and its save changes no ignore rules."""
        known = replace(self._state.of(path), agents=(), lines=None)
        is_known = known != FileState() or bool(found.agents or found.lines or self._round.apart([path]))
        waits = found.before is None or found.before != found.base
        return not (is_known or waits or found.named or path.rpartition("/")[2] == project.IGNORE)

    def _saved(self, path: str, seen: Sequence[Sighting], encodings: Encodings, saved: SavedText) -> Overwritten | None:
        """Note one of them."""
        now = self._objects.entry(self._state.now, path)
        last = seen[0].before if seen else now
        if seen:
            self._take_back(path, seen[0])
            if saved.loaded is not None and saved.found is None and not saved.is_lost:  # it was there until the save
                self._is_not_renamed(path, seen[0])
        known = now or last or self._objects.entry(self._state.base, path)
        if known is None or known.why or self._round.store.excluded([path]):
            # It is excluded, ignored or large: none of its text comes into the store.
            saved = SavedText(since=saved.since, until=saved.until)
        found = None if saved.found is None else Entry((last or now or _NEW).mode, self._objects.write(saved.found))
        loaded = self._entry_of(saved.loaded, [last, found, now], encodings) or found or last
        found = found or (last if saved.is_lost else loaded)
        later = [each for each in seen if saved.until and each.written > saved.until + CLOCK]
        text = self._entry_of(saved.text, [now, loaded], encodings)
        # No save has deleted the file.
        after = text or (later[0].before if later else now) or (seen[-1].before if seen else None) or loaded
        # First what somebody has written since the last scan, then that it is gone from the tab's text.
        # An earlier save may have written that, which nobody has seen.
        at = self._round.saved_at.get(path, 0) if seen and seen[0].is_unsure else 0
        if last != found:
            self._round.written(path, last, found, seen[0].who if seen else (*self._round.at_work,), at)
        names = self._state.of(path).agents or (ANOTHER,)
        lost = self._overwritten(names, loaded, found, after)
        if lost is None and found:  # the person has taken it over into their text
            loaded = found
        elif found != loaded:
            self._round.written(path, found, loaded, (), at)
        self._round.follow(path, loaded, after)
        self._round.saved_at[path] = max(saved.since, saved.until)
        self._state.recent.forget(path)  # not before: what can't be noted now is noted by the same sightings
        if after != now:
            self._written_since(path, after, now, seen, is_seen=bool(text) or seen[:1] != later[:1])
        if self._objects.entry(self._state.base, path) == now:
            self._state.know(path, agents=(), lines=None)
        self._round.save()
        return lost

    def handled(self, path: str, *, is_renamed: bool, since: int = 0) -> None:
        """The person has deleted a file or a folder in the editor's side bar, or begins to type another name for it.

        Whether they have is what the disk says: now for a deletion, at a later look for a name. `since` is when the
        command began, in nanoseconds of Unix time, 0 if that isn't known: what was gone by then, somebody else has
        deleted.
        """
        self._round.renaming = path if is_renamed else ""
        self._round.scan()
        if is_renamed or os.path.lexists(os.path.join(self._round.root, path)):
            return
        found = self._objects.differences(self._state.base, self._state.now, renames=False)
        renamed = self._state.renamed().keys()
        there = self._objects.entries(self._state.now, list(renamed))
        gone = {each.path for each in found if each.after is None} | (renamed - there.keys())
        seen = {name: scans[-1] for name in gone if (scans := self._state.recent.of(name))}
        began = time.monotonic() - (time.time_ns() - since) / 1e9
        seen = {name: last for name, last in seen.items() if f"{name}/".startswith(f"{path}/") and last.at >= began}
        at = max((last.at for last in seen.values()), default=0.0)
        for name, last in seen.items():
            if last.at == at:  # what was gone a scan before, somebody else has deleted
                self._round.follow(name, last.before, None)
                self._state.recent.forget(name)
        self._round.settle()

    def naming_over(self, path: str) -> None:
        """The person types no other name for a file or a folder any more: whoever renames it later is somebody else."""
        if self._round.renaming == path:
            self._round.scan()
            self._round.renaming = ""

    def _written_since(
        self, path: str, after: Entry | None, now: Entry | None, seen: Sequence[Sighting], *, is_seen: bool
    ) -> None:
        """Somebody has written the file after a save, before its word has come.

        Unless what was saved is known, or a scan has seen it, nobody knows which lines are the person's.
        """
        at, known = self._round.store.written_at(path), self._state.of(path)
        agent = next((each.named for each in seen if each.named), "")
        who = (agent,) if agent else seen[-1].who if seen else (*self._round.at_work,)
        base = self._objects.entry(self._state.base, path)
        sighting = Sighting(after, base, known.lines, known.agents, at, who, agent, is_unsure=not is_seen)
        self._state.recent.add(path, sighting)
        at = at if is_seen else self._round.saved_at[path]
        self._round.written(path, after, now, who, at, is_named=bool(agent) and is_seen)

    def _overwritten(
        self, agents: tuple[str, ...], loaded: Entry | None, found: Entry | None, after: Entry | None
    ) -> Overwritten | None:
        """What was found on the disk, unless the save has it, too."""
        before, theirs, mine = map(self._round.data, (loaded, found, after))
        if found in (None, loaded, after) or theirs is None or mine is None:
            return None
        both = Weave.of(theirs, before).saved(mine).undone()
        return None if both and both.disk == mine else Overwritten(agents, theirs)

    def _entry_of(self, text: str | None, like: Sequence[Entry | None], encodings: Encodings) -> Entry | None:
        """A text of a view as a file: one of some files if it has this text, else a file like the first of them.

        A save leaves the line endings and the encoding of a file as they are. None if the text isn't known.
        """
        if text is None:
            return None
        files = [(entry, data) for entry in like if entry and (data := self._round.data(entry)) is not None]
        for entry, data in files:
            if SourceText(decoded(data, encodings)[0]).shown == text:
                return entry
        entry, data = files[-1] if files else (_NEW, b"")
        try:
            made = encode_like(SourceText(decoded(data, encodings)[0]).adapt(text), data, encodings)
        except UnicodeEncodeError:
            return None
        return Entry(entry.mode, self._objects.write(made))

    def _take_back(self, path: str, found: Sighting) -> None:
        """What is known of a file's lines is as it was before a scan."""
        if found.base != self._objects.entry(self._state.base, path):
            self._state.base = self._objects.with_entries(self._state.base, {path: found.base})
        known, old = self._state.of(path), self._state.origin_of(path)
        if found.before is None and old != path:  # it was deleted there, not moved here
            self._state.know(old, agents=known.agents)
            self._state.know(path, origin="")
        self._state.know(path, lines=found.lines, agents=found.agents)

    def _is_not_renamed(self, path: str, found: Sighting) -> None:
        """A scan has found a file to be changed, and has taken a new one that is like it before for that file."""
        for new in [new for new, each in self._state.known.items() if each.origin == path]:
            if any(each.before is None and each.at == found.at for each in self._state.recent.of(new)):
                self._state.know(new, origin="", is_parted=False, lines=None)

    def reviewed(
        self, path: str, before: str | None, text: str, encodings: Encodings, proposed: str | None = None
    ) -> Operation | None:
        """The person has accepted a proposal: `text` in place of `before`, None for a new file.

        What they have changed in what was `proposed` is theirs.

        It counts as reviewed if the disk has that text. An agent may write another encoding than the editor has read.
        Returns what that has done, if it can be taken back.
        """
        self._round.scan()
        origin = self._state.origin_of(path)
        after, ours = self._objects.entry(self._state.now, path), self._objects.entry(self._state.base, origin)
        shown = SourceText(text).shown
        if after is None or shown not in {self._text(after, each) for each in (encodings, Encodings())}:
            return None
        old = None if before is None else SourceText(before).shown
        data = self._round.data(ours)
        seen = ours
        if before is not None and (data is None or SourceText(decoded(data, encodings)[0]).shown != old):
            try:
                seen = Entry(after.mode, self._objects.write(encode_like(before, data or b"", encodings)))
            except UnicodeEncodeError:
                return None
        if before is None and ours is not None:
            return None
        operation = self._round.operation({path: (seen, after)}, [path])
        paths = [origin, *self._round.apart([path])]
        then = self._objects.entries(self._state.base, paths)
        theirs = None if proposed is None else self._entry_of(SourceText(proposed).shown, [after], encodings)
        self._round.follow(path, seen, after, is_save=False, proposed=theirs)  # an agent has made it
        now = self._objects.entries(self._state.base, paths)
        operation.base = {each: (then.get(each), now.get(each)) for each in paths}
        return operation

    def _text(self, entry: Entry, encodings: Encodings) -> str | None:
        """The text of a file as a view shows it; None if it has none."""
        data = self._round.data(entry)
        return None if data is None else SourceText(decoded(data, encodings)[0]).shown

    def belong_to_the_person(self, scans: Iterable[Seen]) -> None:
        """What some scans have found git to have changed, such as by a checkout, is the person's.

        What came after a scan stays as it is: a file that was undone or written since, or a new round.
        """
        for seen in scans:
            if seen.began == self._state.began:
                self._follow_git(seen)
        self._round.settle()

    def _follow_git(self, seen: Seen) -> None:
        paths = list(seen.by_git)
        old, new, now = (self._objects.entries(each, paths) for each in (seen.before, seen.after, self._state.now))
        for path in paths:
            if now.get(path) == old.get(path):
                continue
            self._round.follow(path, old.get(path), new.get(path))
            if now.get(path) == new.get(path):
                self._state.know(path, agents=())


_NEW = Entry(FILE, "")
