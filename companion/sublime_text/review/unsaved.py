"""Tabs with unsaved text whose file an agent has written: merge both, keep one's own, or take the agent's.

What each tab was loaded from is known here: what the person saves is what they have changed in that, whatever is on the
disk. A stamp is taken for that of a tab's text only after the file was found to have this text. Before a save it tells
whether somebody has written the file since; then what is there is read, as the save is about to replace it.

Nothing is decided by itself: the tab keeps its text until the person says what becomes of it. If a save of theirs has
overwritten what an agent had written, each tab of the file offers to compare both.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import sublime

from ...changes.change_screen import SavedText
from ...editor import sentence
from ...review.changes import changes
from ...review.compare import Change
from ...review.disk import Encodings, SourceText, Stamp, decoded, read_bytes, stamp
from .. import buffers
from ..bridge import posted
from ..buffers import text_of
from ..minihtml import COLOURS, safe
from ..panels import NOTICES, PanelItem, choose, say
from ..windows import OWN_SAVES, encodings_of, is_code, real_path, views_of_file
from .answers import FAILED

if TYPE_CHECKING:
    from ..adapter import Adapter

HOLDER = "_qwen_companion_unsaved"
"""The name of a module that a reload leaves alone. It has plain values: the next instance may be another version."""
MAX_LOADED = 1_000_000
"""Characters of a text that is remembered, and bytes of a file that is read before a save."""
SAVE_LIMIT = 0.03
"""Seconds that a save waits for what is on the disk: the disk may hang."""
LOST = "{name} was written by another program since it was loaded here, and what was there could not be read in time."

PHANTOM = "qwen_companion.unsaved"
MERGED = "Both texts are merged in the tab. It is not saved yet: look at it first."
STAYS = "Your text stays in the tab."
CONFLICT = f"Both have changed the same lines, so they can't be merged. {STAYS}"
NO_BASE = f"It isn't known what both texts were made of, so they can't be merged. {STAYS}"
TAKEN = "The tab has the agent's text now. Undo brings yours back."
CHANGED = "The text or the file has changed meanwhile. Try again."
READINGS = 5
"""How often a file is read that is written again and again."""
_ENDINGS = {"\n": "Unix", "\r\n": "Windows", "\r": "CR"}
"""The editor's words for line endings."""
_STYLE = f"""<style>{COLOURS}
body {{ margin: 0; }}
div {{ padding: 0.3rem 0.6rem; background-color: var(--tint); }}</style>"""
_LINKS = """<a class="accept" href="merge">Merge</a>
<a href="keep">Keep Mine</a>
<a class="reject" href="take">Take Theirs</a>"""
_OFFER = (
    f'<body id="qwen-companion-overwritten"><style>{COLOURS} body {{ margin: 0; }}</style>'
    'Your save has overwritten what an agent had written. <a href="compare">Compare</a></body>'
)


def hand_over(adapter: Adapter) -> None:
    """The package is unloaded: leave what is known of unsaved text to the next instance in this run of the editor."""
    vars(sys.modules.setdefault(HOLDER, ModuleType(HOLDER))).update(
        loaded=adapter.loaded.left(), asked=adapter.unsaved.left(), overwritten=adapter.written.overwritten.left()
    )


def take_over(adapter: Adapter) -> None:
    """The package is loaded: go on with what the instance before has left."""
    if left := sys.modules.pop(HOLDER, None):
        adapter.loaded.go_on(left.loaded)
        adapter.unsaved.go_on(*left.asked)
        adapter.written.overwritten.go_on(left.overwritten)


class _Loaded(NamedTuple):
    """What a tab has in common with its file."""

    path: str
    text: str | None
    """None if it is too large, or isn't known."""
    stamp: Stamp
    """That of the file with this text; None until it is known."""


class LoadedTexts:
    """The texts of all tabs, by their buffers. Used on the UI thread only."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._known: dict[int, _Loaded] = {}
        self._saving: dict[int, SavedText] = {}
        """What is known before a save, with the text that is about to be saved."""

    def loaded(self, view: sublime.View) -> None:
        """A view has the text of its file: it was loaded, loaded again, or saved."""
        if not view.is_dirty():
            self.based(view, _short_text(view))

    def based(self, view: sublime.View, text: str | None) -> None:
        """The text of a view is an edit of this text of its file."""
        name = view.file_name()
        if name is None or not is_code(view):
            return
        number, encodings = view.buffer_id(), encodings_of(name)
        known = self._known[number] = _Loaded(name, text, None)

        def note(found: Stamp) -> None:
            if self._known.get(number) is known:
                self._known[number] = known._replace(stamp=found)

        self._adapter.on_another_thread(lambda: _stamp_of(known, encodings), note)

    def text(self, view: sublime.View) -> str | None:
        """The text of its file that a view's text is an edit of; None if that is too large, or isn't known."""
        known = self._known.get(view.buffer_id())
        return known.text if known and known.path == view.file_name() else None

    def is_from(self, view: sublime.View, text: str, found: Stamp) -> bool:
        """Whether a view's text is an edit of this text, with this stamp of its file."""
        known = self._known.get(view.buffer_id())
        if known is None or known.path != view.file_name():
            return False
        return known.text == text if known.text is not None else found is not None and known.stamp == found

    def saving(self, view: sublime.View) -> None:
        """A view is about to be saved: read what is on the disk if that isn't what the view was loaded from."""
        name, known = view.file_name(), self._known.get(view.buffer_id())
        since, saved = time.time_ns(), SavedText()
        if name and known and known.path == name:
            encodings = encodings_of(name)
            saved = _within(lambda: _found(known, encodings)) or SavedText(known.text, is_lost=True)
            if saved.is_lost and (window := view.window()):
                say(window, LOST.format(name=os.path.basename(name)))
        self._saving[view.buffer_id()] = replace(saved, since=since, text=_short_text(view))

    def saved(self, view: sublime.View) -> SavedText:
        """A view was saved: what is known of that."""
        saved = self._saving.pop(view.buffer_id(), SavedText())
        # Who edits the text after a save and before this is known has it unsaved.
        is_edited = view.is_dirty()
        self.based(view, saved.text if is_edited else _short_text(view))
        return replace(saved, text=None if is_edited else self.text(view), until=time.time_ns())

    def left(self) -> dict[int, tuple[int, *tuple[Any, ...]]]:
        """What the tabs with unsaved text were loaded from, each with the count of its edits by then."""
        views = (view for window in sublime.windows() for view in window.views() if view.is_dirty())
        return {
            number: (view.change_count(), *known)
            for view in views
            if (known := self._known.get(number := view.buffer_id()))
        }

    def go_on(self, left: Mapping[int, tuple[int, *tuple[Any, ...]]]) -> None:
        """Know what the instance before has left. Who has edited a tab in between may have saved it as well."""
        for view in (view for window in sublime.windows() for view in window.views() if view.is_dirty()):
            count, *known = left.get(view.buffer_id(), (-1,))
            if count == view.change_count():
                self._known[view.buffer_id()] = _Loaded(*known)

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        number = view.buffer_id()
        left = (each for window in sublime.windows() for each in window.views() if each.id() != view.id())
        if not any(each.buffer_id() == number for each in left):
            self._known.pop(number, None)
            self._saving.pop(number, None)


def _short_text(view: sublime.View) -> str | None:
    """The text of a view; None if it is too large to be remembered."""
    return text_of(view) if view.size() <= MAX_LOADED else None


def _within(call: Callable[[], SavedText]) -> SavedText | None:
    """What a call has found, if it is quick."""
    found: list[SavedText] = []
    thread = threading.Thread(target=lambda: found.append(call()), name="qwen-companion-before-save", daemon=True)
    thread.start()
    thread.join(SAVE_LIMIT)
    return next(iter(found), None)


def _found(known: _Loaded, encodings: Encodings) -> SavedText:
    """What a tab was loaded from, and what is on the disk, unless it is that. Blocks."""
    now = stamp(known.path)
    if now is None or now == known.stamp:
        return SavedText(known.text)
    if now[1] > MAX_LOADED:
        return SavedText(known.text, is_lost=known.stamp is not None)
    try:
        data, _ = read_bytes(known.path)
    except OSError:
        return SavedText(known.text, is_lost=True)
    return SavedText(known.text, found=None if _shown(data, encodings) == known.text else data)


def _stamp_of(known: _Loaded, encodings: Encodings) -> Stamp:
    """The stamp of a file that has a text; None if it has another one. Blocks."""
    before = stamp(known.path)
    if known.text is None:
        return before
    try:
        data, _ = read_bytes(known.path)
    except OSError:
        return None
    return before if _shown(data, encodings) == known.text and stamp(known.path) == before else None


def _shown(data: bytes, encodings: Encodings) -> str:
    return SourceText(decoded(data, encodings)[0]).shown


class _Theirs(NamedTuple):
    """What is on the disk."""

    stamp: Stamp
    """The file just before it was read."""
    data: bytes
    text: str
    """With plain line feeds."""
    ending: str
    """That of each line; empty if there is none or they differ."""


@dataclass(slots=True)
class _Told:
    """A look has found that an agent has written a tab's file: what the disk has now is still to be compared."""

    view: sublime.View
    path: str
    agent: str
    before: str | None
    """What the file had before the first such look, if it had a text."""
    reading: object = None
    """Identifies the reading whose result is waited for; None if a clean tab waits to be loaded again."""


@dataclass(frozen=True, slots=True)
class _Bases:
    """What a tab's text may be an edit of."""

    before: str | None
    """What the tab and the disk had in common last; None if that isn't known."""
    merged: str | None = None
    """What was on the disk when both were merged last; None if they weren't."""


@dataclass(slots=True)
class _Written:
    """A tab that is asked about."""

    view: sublime.View
    path: str
    agent: str
    bases: _Bases
    digest: bytes
    """Of the text on the disk that is asked about."""
    phantom: int = 0


class UnsavedTexts:
    """The tabs that are asked about. Used on the UI thread only.

    A look only says that there is something to see: whether and what to ask is what the disk has when it is read
    because of that, beside what the tab was loaded from, and what the person has decided about. A reading that a save,
    a load, a decision or a later look overtakes is done again.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._adapter = adapter
        self._told: dict[int, _Told] = {}
        self._written: dict[int, _Written] = {}
        self._decided: dict[int, tuple[bytes, _Bases]] = {}
        """The digest of the text on the disk that the person has kept theirs above, or has merged."""

    @posted
    def written_below(self, path: str, agents: Sequence[str], before: bytes | None) -> None:
        shown = None if before is None else SourceText(decoded(before, encodings_of(path))[0]).shown
        for view in views_of_file(path):
            known = self._told.get(view.id())
            self._look(_Told(view, path, " and ".join(agents) or "An agent", known.before if known else shown))

    def edited(self, view: sublime.View) -> None:
        """A view was edited: now it may have unsaved text."""
        if (told := self._told.get(view.id())) and not told.reading:
            self._look(told)

    def _look(self, told: _Told) -> None:
        """Read what the disk has now."""
        self._told[told.view.id()] = told
        reading = told.reading = object()
        encodings = encodings_of(told.path)

        def compare(theirs: _Theirs | None) -> None:
            if told.reading is reading and self._told.get(told.view.id()) is told:
                self._compare(told, theirs)

        self._adapter.on_another_thread(lambda: _theirs(told.path, encodings), compare)

    def _compare(self, told: _Told, theirs: _Theirs | None) -> None:
        view, mine, told.reading = told.view, text_of(told.view), None
        if theirs and theirs.text != mine and not view.is_dirty():
            return  # the editor is about to load it, or the person types before that
        del self._told[view.id()]
        if theirs is None:
            return
        digest, (decided, bases) = _digest(theirs.text), self._decided.get(view.id(), (None, None))
        if theirs.text == mine or digest == decided or self._adapter.loaded.is_from(view, theirs.text, theirs.stamp):
            self._end(view)
        elif written := self._written.get(view.id()):
            written.agent, written.digest = told.agent, digest
        else:
            loaded = self._adapter.loaded.text(view)
            bases = bases or _Bases(told.before if loaded is None else loaded)
            written = self._written[view.id()] = _Written(view, told.path, told.agent, bases, digest)
            self._draw(written)
            if window := view.window():
                NOTICES.add(_words(written), window)

    def settled(self, view: sublime.View) -> None:
        """A file was saved or loaded again: there is nothing to decide any more, unless somebody writes it since."""
        written = self._written.get(view.id())
        self._decided.pop(view.id(), None)
        self._end(view)
        if written and view.is_dirty():  # it was edited again at once
            self._look(_Told(view, written.path, written.agent, None))

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        self._told.pop(view.id(), None)
        self._written.pop(view.id(), None)
        self._decided.pop(view.id(), None)

    def left(self) -> tuple[list[tuple[int, str, str, str | None]], dict[int, tuple[bytes, str | None, str | None]]]:
        """The tabs that are asked about, or may be, and what was decided, by the views' ids."""
        told = {number: (each.path, each.agent, each.before) for number, each in self._told.items()}
        told |= {number: (each.path, each.agent, each.bases.before) for number, each in self._written.items()}
        decided = {number: (digest, bases.before, bases.merged) for number, (digest, bases) in self._decided.items()}
        return [(number, *each) for number, each in told.items()], decided

    def go_on(
        self,
        told: Sequence[tuple[int, str, str, str | None]],
        decided: Mapping[int, tuple[bytes, str | None, str | None]],
    ) -> None:
        """Look again at the tabs that the instance before has asked about."""
        self._decided = {number: (digest, _Bases(*bases)) for number, (digest, *bases) in decided.items()}
        for number, path, agent, before in told:
            for view in views_of_file(path):  # it may have another name by now
                if view.id() == number:
                    self._look(_Told(view, path, agent, before))

    def close_all(self) -> None:
        """The package is unloaded."""
        self._told.clear()
        for written in list(self._written.values()):
            self._end(written.view)

    def waits(self, view: sublime.View | None) -> bool:
        """Whether a view's text waits for a decision."""
        return view is not None and view.id() in self._written

    def may_ask(self, view: sublime.View) -> bool:
        """Whether a view's text waits for a decision, or what the disk has is still to be compared with it."""
        return self.waits(view) or view.id() in self._told

    def ask(self, window: sublime.Window, view: sublime.View) -> None:
        """Ask what becomes of a view's text."""
        if written := self._written.get(view.id()):
            choices: list[PanelItem] = [
                (caption, details, partial(self.do, view, what)) for what, (caption, details) in CHOICES.items()
            ]
            choose(window, choices, _words(written))

    def do(self, view: sublime.View, what: str) -> None:
        """Do one of `CHOICES`."""
        written = self._written.get(view.id())
        if written is None:
            return
        mine, encodings = text_of(view), encodings_of(written.path)
        match what:
            case "keep":
                self._decided[view.id()] = written.digest, written.bases
                self._end(view)
            case "merge":
                self._adapter.on_another_thread(
                    lambda: _merged(written, mine, encodings), lambda found: self._put(written, mine, found)
                )
            case "take":
                self._take_theirs(written, mine, encodings, READINGS)
            case _:
                pass

    def _put(self, written: _Written, mine: str, found: tuple[str, _Theirs] | str) -> None:
        view = written.view
        if not view.is_valid() or self._is_other(written, mine):
            return
        if isinstance(found, str):
            say(view.window(), found)
            return
        merged, theirs = found
        if merged != mine:
            buffers.edit(view, [buffers.smallest_edit(mine, merged)])
        self._adapter.loaded.based(view, theirs.text)
        self._adapter.events.on_load(view)
        self._decided[view.id()] = _digest(theirs.text), _Bases(written.bases.before, theirs.text)
        self._end(view)
        say(view.window(), MERGED)

    def _take_theirs(self, written: _Written, mine: str, encodings: Encodings, readings: int) -> None:
        """Read the file, and take its text unless it is written again meanwhile: then read it once more."""

        def take(theirs: _Theirs | None) -> None:
            view = written.view
            if not view.is_valid() or self._is_other(written, mine):
                return
            if theirs is None:
                say(view.window(), f"{os.path.basename(written.path)} can't be read.")
            elif theirs.stamp and stamp(written.path) == theirs.stamp:
                self._take(written, mine, theirs)
            elif readings > 1:
                self._take_theirs(written, mine, encodings, readings - 1)
            else:
                say(view.window(), CHANGED)

        self._adapter.on_another_thread(lambda: _theirs(written.path, encodings), take)

    def _take(self, written: _Written, mine: str, theirs: _Theirs) -> None:
        view = written.view
        if theirs.text != mine:
            buffers.edit(view, [buffers.smallest_edit(mine, theirs.text)])
        if endings := _ENDINGS.get(theirs.ending):
            view.set_line_endings(endings)
        with OWN_SAVES.saving(written.path):
            buffers.save(view)
        saved = stamp(written.path)
        self._end(view)
        say(view.window(), TAKEN)
        self._adapter.on_another_thread(
            lambda: _write_exactly(written.path, theirs.data, saved), lambda _: self._adapter.events.on_load(view)
        )

    def _is_other(self, written: _Written, mine: str) -> bool:
        """Whether the tab has another text by now, which is said."""
        is_other = text_of(written.view) != mine or self._written.get(written.view.id()) is not written
        if is_other:
            say(written.view.window(), CHANGED)
        return is_other

    def _end(self, view: sublime.View) -> None:
        """Nothing is asked about a view any more. What was read before this says nothing about it."""
        if written := self._written.pop(view.id(), None):
            view.erase_phantom_by_id(written.phantom)
        if told := self._told.get(view.id()):
            self._look(told)

    def _draw(self, written: _Written) -> None:
        view = written.view
        content = f'<body id="qwen-companion-unsaved">{_STYLE}<div>{safe(_words(written))} {_LINKS}</div></body>'
        at = view.line(view.visible_region().begin()).begin()
        written.phantom = view.add_phantom(
            PHANTOM, sublime.Region(at), content, sublime.PhantomLayout.BLOCK, partial(self.do, view)
        )


CHOICES: Mapping[str, tuple[str, str]] = {
    "merge": ("Merge", "Both changes in the tab, not saved yet"),
    "keep": ("Keep Mine", "The tab stays as it is; saving it replaces what the agent has written"),
    "take": ("Take Theirs", "What is on the disk; undo brings your text back"),
}
"""What can be done: by the link's target, its words and what they mean."""


def _words(written: _Written) -> str:
    return f"{written.agent} has written {os.path.basename(written.path)}, which has unsaved text here."


def _theirs(path: str, encodings: Encodings) -> _Theirs | None:
    """What is on the disk; None if it is no text. Blocks."""
    found = stamp(path)
    try:
        data, _ = read_bytes(path)
    except OSError:
        return None
    text, is_text = decoded(data, encodings)
    source = SourceText(text)
    ending = source.endings[0] if len(set(source.endings)) == 1 else ""
    return _Theirs(found, data, source.shown, ending) if is_text else None


def _write_exactly(path: str, data: bytes, saved: Stamp) -> None:
    """Write these bytes where the editor has saved others, for example because line endings are mixed. Blocks.

    `saved` is the file as the editor has left it: what somebody has written since stays.
    """
    from ...snapshots import files  # noqa: PLC0415 - git's module would stall the UI thread

    folder, name = os.path.split(os.path.realpath(path))
    with contextlib.suppress(OSError):
        found = files.current(folder, name)
        if found and found[1] != data and saved and stamp(path) == saved:
            files.write(folder, name, found[0], data)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _merged(written: _Written, mine: str, encodings: Encodings) -> tuple[str, _Theirs] | str:
    """The text of a tab and what is on the disk now, merged, and the latter; or why they can't be. Blocks."""
    try:
        return _merge(written, mine, encodings)
    except OSError as error:  # there is no git, or no room
        return f"{sentence(error)} {STAYS}"


def _merge(written: _Written, mine: str, encodings: Encodings) -> tuple[str, _Theirs] | str:
    from ...snapshots.git import merge  # noqa: PLC0415 - git's module would stall the UI thread

    def merge_texts(base: str, theirs: str) -> str | None:
        merged = merge(*(text.encode("utf-8", "surrogatepass") for text in (mine, base, theirs)))
        return None if merged is None else merged.decode("utf-8", "surrogatepass")

    theirs, base, merged = _theirs(written.path, encodings), written.bases.before, written.bases.merged
    if theirs is None:
        return f"{os.path.basename(written.path)} can't be read. {STAYS}"
    if base is None:
        return NO_BASE
    # The person may have undone the last merge: then it is no base for this one.
    if merged is not None and merge_texts(base, merged) == mine:
        base = merged
    text = merge_texts(base, theirs.text)
    return CONFLICT if text is None else (text, theirs)


class _Offer(NamedTuple):
    """What a save has overwritten."""

    path: str
    """As the companion has named the file."""
    phantoms: Sequence[sublime.PhantomSet]
    """In each view of the file."""
    text: str
    who: str


class OverwrittenTexts:
    """The offers of all files. Used on the UI thread only."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._offers: dict[str, _Offer] = {}
        """By the file's real path."""

    def offer(self, window: sublime.Window, path: str, agents: Sequence[str], text: str) -> None:
        """A save has overwritten what agents had written: offer once to compare them."""
        who = ", ".join(agents)
        views = self._put(path, who, text)
        for each in {found.id(): found for view in views if (found := view.window())}.values() or (window,):
            NOTICES.add(f"Your save of {os.path.basename(path)} has overwritten what {who} had written. Compare", each)

    def _put(self, path: str, who: str, text: str) -> list[sublime.View]:
        """Offer it in each view of the file. Returns those."""
        real = real_path(path)
        self._end(real)
        views = [view for view in views_of_file(path) if is_code(view)]
        phantoms = [sublime.PhantomSet(view, "qwen_companion.overwritten") for view in views]
        for view, shown in zip(views, phantoms, strict=True):
            compare = partial(self._clicked, view)
            shown.update([sublime.Phantom(sublime.Region(0), _OFFER, sublime.PhantomLayout.BLOCK, compare)])
        self._offers[real] = _Offer(path, phantoms, text, who)
        return views

    def left(self) -> list[tuple[str, str, str]]:
        """What is offered: the path of each file, who has written it, and that text."""
        return [(each.path, each.who, each.text) for each in self._offers.values()]

    def go_on(self, left: Sequence[tuple[str, str, str]]) -> None:
        """Offer what the instance before has offered."""
        for path, who, text in left:
            self._put(path, who, text)

    def waits(self, view: sublime.View) -> bool:
        """Whether a save of this file has overwritten something that was not compared yet."""
        return bool(self._offers) and real_path(view.file_name() or "") in self._offers

    def compare(self, view: sublime.View) -> None:
        """Show what a save has overwritten beside the file."""
        window, path = view.window(), real_path(view.file_name() or "")
        offer = self._offers.get(path)
        if offer is None or window is None:
            return
        title = f"{os.path.basename(view.file_name() or '')} ({offer.who}, overwritten)"
        mine = text_of(view)

        def show(found: Sequence[Change]) -> None:
            if window.active_view() == view:  # who has gone elsewhere meanwhile stays there
                self._end(path)
                self._adapter.written.sides.show(view, offer.text, title, found, is_baseline=False)

        self._adapter.on_another_thread(lambda: changes(offer.text, mine), show, lambda: say(window, FAILED))

    def close_all(self) -> None:
        """The package is unloaded."""
        for path in list(self._offers):
            self._end(path)

    def _end(self, path: str) -> None:
        offer = self._offers.pop(path, None)
        for phantoms in offer.phantoms if offer else ():
            if phantoms.view.is_valid():
                phantoms.update([])

    def _clicked(self, view: sublime.View, href: str) -> None:
        match href:
            case "compare":
                self.compare(view)
            case _:
                pass
