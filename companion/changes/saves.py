"""What the editor tells of the files of a round: what the person saves there, loads again, or has accepted.

Everything here blocks and runs on the folder's worker thread, as the round does.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from ..review.disk import Encodings, decoded, encode_like
from ..review.source_text import SourceText
from .entries import Entry, TreeSnapshot
from .recent import Below, Sighting
from .round import Round
from .rows import is_text
from .state import RoundState

FORMATTING = 2.0
"""Seconds after a save in which a change of the same file belongs to the save: a formatter has made it."""


class Saves:
    """Keeps the person's own edits out of what is to be reviewed in one round."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._objects = round_.objects
        self._recent = round_.recent

    @property
    def _state(self) -> RoundState:
        return self._round.state

    def written_below(self, path: str, before: TreeSnapshot) -> Below | None:
        """A file was written since a look while its buffer has unsaved edits. None if it is no text of an agent."""
        entry, old = self._objects.entry(self._state.now, path), self._objects.entry(before, path)
        agents = self._state.agents.get(path)
        if not agents or entry is None or old is None or not (is_text(entry) and is_text(old)):
            return None
        if not self._recent.has(path):  # the person has saved it since
            return None
        data = self._objects.read([old.blob, entry.blob])
        first = self._recent.below.get(path)
        self._recent.below[path] = Below(
            tuple(agents), first.before if first else data.get(old.blob, b""), data.get(entry.blob, b"")
        )
        return self._recent.below[path]

    def loaded(self, path: str, text: str | None = None) -> None:
        """The editor has loaded a file: its buffer has what was written, which is `text` if that is told.

        The next look sees it too, unless the person edits and saves the file before.
        """
        self._recent.below.pop(path, None)
        if text is not None:
            self._recent.loaded[path] = text

    def saved(
        self, path: str, at_work: Sequence[str], encodings: Encodings, since: int = 0, until: int = 0
    ) -> Below | None:
        """The person has saved a file.

        `since` and `until` are when the editor began to write it and had written it, in nanoseconds of Unix time.
        Returns what an agent had written there, if the save has overwritten it.
        """
        if since:
            limit = max(since, until) + int(FORMATTING * 1e9)
            seen = self._recent.take(path, since, limit, self._round.store.written_at(path))
            if seen and seen.last:  # an agent has written it since: that is no part of the save
                edited = self._edited(seen.first.before, seen.last.after, seen.first.loaded, encodings)
                self._round.follow(path, edited, seen.last.after)
                self._round.save()
                return None
            if seen:
                self._take_back(path, seen.first)
        before = self._objects.entry(self._state.now, path)
        loaded = self._recent.loaded.get(path)
        now = time.monotonic()
        self._recent.settling = {name: end for name, end in self._recent.settling.items() if end > now and name != path}
        known = list(self._state.agents.get(path, []))
        self._round.look(at_work)
        self._recent.forget(path)
        after = self._objects.entry(self._state.now, path)
        edited = self._edited(before, after, loaded, encodings)
        if edited != before:  # somebody has written it after the last look, and the person had that before them
            known += [name for name in at_work if name not in known]
        if known:
            self._state.agents[path] = known
        else:
            self._state.agents.pop(path, None)
        self._round.follow(path, edited, after)
        self._recent.settling[path] = time.monotonic() + FORMATTING
        self._round.save()
        below = self._recent.below.pop(path, None)
        if below is None or after is None or not is_text(after):
            return None
        saved = self._objects.read([after.blob]).get(after.blob, b"")
        return None if self._objects.merge(saved, below.before, below.after) == saved else below

    def _edited(
        self, before: Entry | None, after: Entry | None, loaded: str | None, encodings: Encodings
    ) -> Entry | None:
        """What the person has edited: the text that the editor had `loaded` after the last look, which is `before`.

        A save leaves the line endings and the encoding of the file as they are.
        """
        if loaded is None or before is None or after is None or self._text(before, encodings) == loaded:
            return before
        data = self._data(after)
        if data is None:
            return before
        try:
            edited = encode_like(SourceText(decoded(data, encodings)[0]).adapt(loaded), data, encodings)
        except UnicodeEncodeError:
            return before
        return Entry(before.mode, self._objects.write(edited))

    def _take_back(self, path: str, found: Sighting) -> None:
        """Have the next look find again what the looks since a sighting have found in a file."""
        self._state.now = self._objects.with_entries(self._state.now, {path: found.before})
        if found.loaded is not None:
            self._recent.loaded[path] = found.loaded
        if found.below:
            self._recent.below[path] = found.below
        else:
            self._recent.below.pop(path, None)
        if found.agents:
            self._state.agents[path] = list(found.agents)
        else:
            self._state.agents.pop(path, None)

    def reviewed(self, path: str, before: str | None, text: str, encodings: Encodings) -> None:
        """The person has accepted a proposal: `text` in place of `before`, None for a new file.

        It counts as reviewed if the disk has that text. An agent may write another encoding than the editor has read.
        """
        self._round.look(())
        after, ours = self._objects.entry(self._state.now, path), self._objects.entry(self._state.base, path)
        shown = SourceText(text).shown
        if after is None or shown not in {self._text(after, each) for each in (encodings, Encodings())}:
            return
        old = None if before is None else SourceText(before).shown
        data = self._data(ours) if ours else None
        if (None if data is None else SourceText(decoded(data, encodings)[0]).shown) == old:
            self._state.base = self._objects.with_entries(self._state.base, {path: after})
        elif before is not None:
            try:
                seen = Entry(after.mode, self._objects.write(encode_like(before, data or b"", encodings)))
            except UnicodeEncodeError:
                self._state.mixed.add(path)
            else:
                self._round.merge_into_base(path, seen, after)  # no save of the person's: an agent has made it
        self._round.settle()

    def _data(self, entry: Entry) -> bytes | None:
        """The bytes of a file; None if the store lacks them."""
        return self._objects.read([entry.blob]).get(entry.blob) if is_text(entry) else None

    def _text(self, entry: Entry, encodings: Encodings) -> str | None:
        """The text of a file as a view shows it; None if it has none."""
        data = self._data(entry)
        return None if data is None else SourceText(decoded(data, encodings)[0]).shown

    def belongs_to_the_person(self, paths: Iterable[str], before: TreeSnapshot) -> None:
        """What has changed in these files since a snapshot is the person's, such as a checkout."""
        listed = list(paths)
        old, new = self._objects.entries(before, listed), self._objects.entries(self._state.now, listed)
        for path in listed:
            self._round.follow(path, old.get(path), new.get(path))
            self._state.agents.pop(path, None)
        self._round.save()
