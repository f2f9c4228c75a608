"""Tabs with unsaved text whose file an agent has written: merge both, keep one's own, or take the agent's.

Nothing is decided by itself: the tab keeps its text until the person says what becomes of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import sublime

from ...review.disk import Encodings, Stamp, decoded, read_bytes, stamp
from ...review.source_text import SourceText
from .. import buffers
from ..calls import OffThread
from ..minihtml import safe
from ..notices import NOTICES
from ..panels import PanelItem, choose, say
from ..style import COLOURS
from ..windows import OWN_SAVES, views_of_file

PHANTOM = "qwen_companion.unsaved"
MERGED = "Both texts are merged in the tab. It is not saved yet: look at it first."
CONFLICT = "Both have changed the same lines, so they can't be merged. Your text stays in the tab."
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


@dataclass(slots=True)
class _Written:
    """A file that was written below a tab."""

    view: sublime.View
    path: str
    agent: str
    before: bytes
    """What was on the disk when both were the same, or at least before the first write."""
    merged: bytes | None
    """What was on the disk when both were merged last; None if they weren't."""
    after: bytes
    """What the agent has written last, as far as it was noticed."""
    phantom: int = 0


@dataclass(frozen=True, slots=True)
class _Known:
    """What the disk had when a tab was loaded, saved or decided about: a late look tells nothing new of that."""

    digest: bytes
    """Of the text."""
    before: bytes | None = None
    """As in `_Written`, if the tab was decided about."""
    merged: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Theirs:
    """What an agent has written."""

    stamp: Stamp
    """The file just before it was read."""
    data: bytes
    text: str
    """With plain line feeds."""
    ending: str
    """That of each line; empty if there is none or they differ."""


class UnsavedTexts:
    """The tabs that are asked about. Used on the UI thread only.

    `elsewhere` reads files and merges. `encodings` tells how the editor decodes a file. `loaded` hears of a view that
    has what is on the disk now.
    """

    def __init__(
        self, elsewhere: OffThread, encodings: Callable[[str], Encodings], loaded: Callable[[sublime.View], object]
    ) -> None:
        self._elsewhere = elsewhere
        self._encodings = encodings
        self._loaded = loaded
        self._written: dict[int, _Written] = {}
        self._known: dict[int, _Known] = {}

    def written_below(self, path: str, agents: Sequence[str], before: bytes, after: bytes) -> None:
        """An agent has written a file. A tab with unsaved text of it says so, once until it is decided.

        `before` and `after` are the file's content. Several looks may tell of one write, the last of them late.
        """
        agent = " and ".join(agents) or "An agent"
        for view in views_of_file(path):
            if not view.is_dirty():
                continue
            if written := self._written.get(view.id()):
                written.agent, written.after = agent, after
                continue
            known = self._known.get(view.id())
            if known and known.digest == self._digest_of(path, after):
                continue
            base, merged = (known.before, known.merged) if known else (None, None)
            written = _Written(view, path, agent, before if base is None else base, merged, after)
            self._written[view.id()] = written
            self._draw(written)
            if window := view.window():
                NOTICES.add(_words(written), window)

    def settled(self, view: sublime.View, text: str | None) -> None:
        """A file was saved or loaded again: there is nothing to decide any more. `text` is the view's, if known."""
        if view.is_dirty():
            return
        self._end(view)
        if text is None:
            self._known.pop(view.id(), None)
        else:
            self._known[view.id()] = _Known(_digest(text))

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        self._written.pop(view.id(), None)
        self._known.pop(view.id(), None)

    def close_all(self) -> None:
        """The package is unloaded."""
        for written in list(self._written.values()):
            self._end(written.view)

    def waits(self, view: sublime.View | None) -> bool:
        """Whether a view's text waits for a decision."""
        return view is not None and view.id() in self._written

    def ask(self, window: sublime.Window, view: sublime.View) -> None:
        """Ask what becomes of a view's text."""
        if written := self._written.get(view.id()):
            choices: list[PanelItem] = [
                (caption, details, partial(self.decide, view, what)) for what, (caption, details) in CHOICES.items()
            ]
            choose(window, choices, _words(written))

    def decide(self, view: sublime.View, what: str) -> None:
        """Do one of `CHOICES`."""
        written = self._written.get(view.id())
        if written is None:
            return
        if what == "keep":
            self._end(view)
            digest = self._digest_of(written.path, written.after)
            self._known[view.id()] = _Known(digest, written.before, written.merged)
            return
        mine, encodings = _text(view), self._encodings(written.path)
        if what == "merge":
            self._elsewhere(lambda: _merged(written, mine, encodings), lambda found: self._put(written, mine, found))
        else:
            self._take_theirs(written, mine, encodings, READINGS)

    def _put(self, written: _Written, mine: str, found: tuple[str, _Theirs] | None) -> None:
        view = written.view
        if not view.is_valid() or self._is_other(written, mine):
            return
        if found is None:
            self._say(view, CONFLICT)
            return
        merged, theirs = found
        if merged != mine:
            buffers.edit(view, [buffers.smallest_edit(mine, merged)])
        self._end(view)
        self._known[view.id()] = _Known(_digest(theirs.text), written.before, theirs.data)
        self._say(view, MERGED)

    def _digest_of(self, path: str, data: bytes) -> bytes:
        return _digest(SourceText(decoded(data, self._encodings(path))[0]).shown)

    def _take_theirs(self, written: _Written, mine: str, encodings: Encodings, readings: int) -> None:
        """Read the file, and take its text unless it is written again meanwhile: then read it once more."""

        def take(theirs: _Theirs | None) -> None:
            view = written.view
            if not view.is_valid() or self._is_other(written, mine):
                return
            if theirs is None:
                self._say(view, f"{os.path.basename(written.path)} can't be read.")
            elif theirs.stamp and stamp(written.path) == theirs.stamp:
                self._take(written, mine, theirs)
            elif readings > 1:
                self._take_theirs(written, mine, encodings, readings - 1)
            else:
                self._say(view, CHANGED)

        self._elsewhere(lambda: _theirs(written.path, encodings), take)

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
        self._say(view, TAKEN)
        self._elsewhere(lambda: _write_exactly(written.path, theirs.data, saved), lambda _: self._loaded(view))

    def _is_other(self, written: _Written, mine: str) -> bool:
        """Whether the tab has another text by now, which is said."""
        is_other = _text(written.view) != mine or self._written.get(written.view.id()) is not written
        if is_other:
            self._say(written.view, CHANGED)
        return is_other

    def _end(self, view: sublime.View) -> None:
        if written := self._written.pop(view.id(), None):
            view.erase_phantom_by_id(written.phantom)

    def _draw(self, written: _Written) -> None:
        view = written.view
        content = f'<body id="qwen-companion-unsaved">{_STYLE}<div>{safe(_words(written))} {_LINKS}</div></body>'
        at = view.line(view.visible_region().begin()).begin()
        written.phantom = view.add_phantom(
            PHANTOM, sublime.Region(at), content, sublime.PhantomLayout.BLOCK, partial(self._clicked, view)
        )

    def _clicked(self, view: sublime.View, href: str) -> None:
        match href:
            case "merge" | "keep" | "take":
                self.decide(view, href)
            case _:
                pass

    @staticmethod
    def _say(view: sublime.View, message: str) -> None:
        if window := view.window():
            say(window, message)


CHOICES: Mapping[str, tuple[str, str]] = {
    "merge": ("Merge", "Both changes in the tab, not saved yet"),
    "keep": ("Keep Mine", "The tab stays as it is; saving it replaces what the agent has written"),
    "take": ("Take Theirs", "What is on the disk; undo brings your text back"),
}
"""What can be done: by the link's target, its words and what they mean."""


def _words(written: _Written) -> str:
    return f"{written.agent} has written {os.path.basename(written.path)}, which has unsaved text here."


def _text(view: sublime.View) -> str:
    return view.substr(sublime.Region(0, view.size()))


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
    from ...changes import files  # noqa: PLC0415 - git's module would stall the UI thread

    folder, name = os.path.split(os.path.realpath(path))
    with contextlib.suppress(OSError):
        found = files.current(folder, name)
        if found and found[1] != data and saved and stamp(path) == saved:
            files.write(folder, name, found[0], data)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _merged(written: _Written, mine: str, encodings: Encodings) -> tuple[str, _Theirs] | None:
    """The text of a tab and what is on the disk now, merged, and the latter; None if they conflict. Blocks."""
    from ...changes.merging import merge  # noqa: PLC0415 - git's module would stall the UI thread

    def merge_texts(base: bytes, theirs: str) -> str | None:
        before, is_text = decoded(base, encodings)
        texts = (mine, SourceText(before).shown, theirs)
        merged = merge(*(text.encode("utf-8", "surrogatepass") for text in texts)) if is_text else None
        return None if merged is None else merged.decode("utf-8", "surrogatepass")

    theirs, base = _theirs(written.path, encodings), written.before
    if theirs is None:
        return None
    # The person may have undone the last merge: then it is no base for this one.
    if (
        written.merged is not None
        and merge_texts(base, SourceText(decoded(written.merged, encodings)[0]).shown) == mine
    ):
        base = written.merged
    merged = merge_texts(base, theirs.text)
    return None if merged is None else (merged, theirs)
