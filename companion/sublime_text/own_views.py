"""Which views are ours, and what the package keeps of its views and of windows. Lives on the UI thread.

The editor gives a project's settings to each view of its window, and a workspace file restores views with any settings
and any text (docs/protocols/sublime.md#views-and-windows). So nothing that stands in the settings of a view or a window
says that a view is ours. A view is ours if this module has a record of it, by its buffer. A record that outlives the
editor is in a private file, whose name is random; the only setting on the view is that name. One buffer may claim a
record, in a window of the project and the folders that the record has. What claims one in vain is plain text.

The records of one run are on a module of their own and outlive a reload of the package. They are plain data, since the
next instance may be of another version.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, cast, get_args

import sublime

from ..json_text import read_own
from ..platforms.files import make_private_folder, write_private
from ..platforms.paths import path_key

logger = logging.getLogger(__name__)

Kind = Literal[
    "chat",
    "original",
    "proposal",
    "status",
    "task",
    "changes of a turn",
    "sign-in",
    "daemon",
    "baseline",
    "review",
    "review since",
    "comment input",
    "question",
    "question input",
]
"""What a view of ours is."""
SIDES: tuple[Kind, ...] = ("original", "proposal")
"""The views of a diff."""
REVIEWS: tuple[Kind, ...] = ("review", "review since")
PREFIX = "qwen_companion."
"""Begins the names of all settings that the package sets on views."""
MARKER = "qwen_companion.view"
"""The one setting on a view of ours: the name of its record."""
HOLDER = "_qwen_companion_views"
LIMIT = 32 * 1024 * 1024
"""Bytes of a record, which may hold attached selections."""
DELAY = 0.3
"""Seconds from a change of a record until it is written, so that several changes are one write."""
LAST_LIMIT = 1.0
"""Seconds that the end of the package waits until the last records are written."""
KEPT_DAYS = 90
"""Days after which a record that was neither claimed nor changed is removed."""
CLOSING = 2_000
"""Milliseconds in which the views of a window or a project close that is about to."""
_MARKER = re.compile(r"[0-9a-f]{32}")


def cache_folder() -> str:
    """The folder of this package in the cache of the editor."""
    return os.path.join(sublime.cache_path(), "QwenCompanion")


class OwnView:
    """The record of a view of ours: its kind, and what is known about it. All changes go through `keep`."""

    def __init__(self, claim: dict[str, Any], views: OwnViews) -> None:
        self._claim = claim
        self._views = views

    @property
    def name(self) -> str:
        """The name of the record; empty if it doesn't outlive the run."""
        return self._claim["marker"]

    @property
    def kind(self) -> Kind:
        """What the view is."""
        return self._claim["kind"]

    def get(self, name: str) -> Any:
        """A value of the record, as `keep` got it; None if it has none. It must not be changed."""
        return self._claim["data"].get(name)

    def text(self, name: str) -> str:
        """A value that is a text; empty if the record has none."""
        value = self.get(name)
        return value if isinstance(value, str) else ""

    def keep(self, **values: Any) -> None:
        """Have other values, which must be JSON's and never change."""
        changed = {name: value for name, value in values.items() if self.get(name) != value}
        if changed:
            self._claim["data"].update(changed)
            self._views.write(self._claim)


class _Writer:
    """Writes files on a thread of its own; of several contents of one file the latest.

    What the disk refuses is tried again with the next file, and at the end.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: dict[str, Mapping[str, Any] | None] = {}
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None

    def put(self, path: str, content: Mapping[str, Any] | None) -> None:
        """Write a file soon; None removes it."""
        with self._lock:
            self._due[path] = content
            self._begin()

    def due(self, path: str) -> Mapping[str, Any] | None:
        """What is still to be written to a file."""
        with self._lock:
            return self._due.get(path)

    def finish(self) -> None:
        """Write what is due now, and wait for that."""
        with self._lock:
            thread = self._begin() if self._due else None
        if thread is not None:
            self._hurry.set()
            thread.join(LAST_LIMIT)
            self._hurry.clear()

    def _begin(self) -> threading.Thread:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="own-views", daemon=True)
            self._thread.start()
        return self._thread

    def _run(self) -> None:
        while True:
            self._hurry.wait(DELAY)
            with self._lock:
                due = dict(self._due)
            written = [path for path, content in due.items() if _is_written(path, content)]
            with self._lock:
                # Only now: whoever asks meanwhile gets what is being written.
                for path in written:
                    if self._due[path] is due[path]:
                        del self._due[path]
                if all(path in due and content is due[path] for path, content in self._due.items()):
                    self._thread = None  # what is left was refused
                    return


def _is_written(path: str, content: Mapping[str, Any] | None) -> bool:
    """Write a file. Returns False if the disk refuses it, which may take it later."""
    try:
        _write(path, content)
    except (OSError, ValueError) as error:
        logger.warning("What is kept of a view or a window could not be written: %s", error)
        return not isinstance(error, OSError)
    return True


def _write(path: str, content: Mapping[str, Any] | None) -> None:
    if content is None:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        return
    folder = os.path.dirname(path)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        make_private_folder(folder)
    write_private(path, json.dumps(content).encode("utf-8", "surrogatepass"))


class OwnViews:
    """All views of ours, and what is remembered of windows."""

    def __init__(self) -> None:
        holder = vars(sys.modules.setdefault(HOLDER, ModuleType(HOLDER)))
        self._claims: dict[int, dict[str, Any]] = holder.setdefault("claims", {})
        """The records, by the ids of the buffers."""
        self._windows: dict[int, dict[str, Any]] = holder.setdefault("windows", {})
        """What is remembered of the windows, by their ids: the place that it is kept for, and the values."""
        self._fresh: set[int] = holder.setdefault("fresh", set())
        """The windows that were opened in this run, by their ids."""
        self._closing: set[int] = set()
        self._writer = _Writer()

    # Views

    def of(self, view: sublime.View) -> OwnView | None:
        """The record of a view; None if it is not ours: also if it has become a file."""
        claim = self._claims.get(view.buffer_id())
        return None if claim is None or view.file_name() is not None else OwnView(claim, self)

    def is_ours(self, view: sublime.View, *kinds: Kind) -> bool:
        """Whether a view is ours, and of one of these kinds."""
        claim = self._claims.get(view.buffer_id())
        return claim is not None and claim["kind"] in kinds and view.file_name() is None

    def within(self, window: sublime.Window, *kinds: Kind) -> list[sublime.View]:
        """The tabs of a window that are of one of these kinds."""
        return [view for view in window.views() if self.is_ours(view, *kinds)] if self._claims else []

    def take(self, view: sublime.View, kind: Kind, *, lasts: bool = True, **values: Any) -> OwnView:
        """A view that we have made is ours from now on; it has what it had if it was already.

        With `lasts` it is ours after a restart, too. A view with a file never is: its record is of no account.
        """
        claim = self._claims.get(view.buffer_id())
        if claim is None or claim["kind"] != kind:
            claim = {"kind": kind, "marker": "", "home": {}, "data": dict(values), "window": 0, "view": 0}
            if view.file_name() is not None:
                return OwnView(claim, self)
            claim["marker"] = secrets.token_hex(16) if lasts else ""
            self._claims[view.buffer_id()] = claim
        if claim["marker"]:
            view.settings().set(MARKER, claim["marker"])
        claim["view"] = view.id()
        claim["data"].update(values)
        self._settle(claim, view.window())
        self.write(claim)
        return OwnView(claim, self)

    def drop(self, view: sublime.View) -> None:
        """An input panel of ours has ended; the editor may use its view for another one."""
        self._claims.pop(view.buffer_id(), None)

    def has_become_file(self, view: sublime.View) -> bool:
        """Whether the person has saved a view of ours as a file."""
        return view.buffer_id() in self._claims and view.file_name() is not None

    def release(self, view: sublime.View) -> None:
        """A view is the person's from now on: its text is plain text, and the editor asks before it goes."""
        if claim := self._claims.pop(view.buffer_id(), None):
            self._forget(claim)
        _disown(view)

    def restore(self, window: sublime.Window) -> None:
        """The editor may have brought views of an earlier run or of a project back: claim their records."""
        for view in window.views():
            self._claim(view, window)

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus. The editor may have brought it back, or the person moved it to another window."""
        if (claim := self._claims.get(view.buffer_id())) is None:
            self._claim(view, window)
        elif view.file_name() is None and view.id() == claim["view"] and self._settle(claim, window):
            self.write(claim)  # a clone of the tab says nothing about where that is
        if window.id() in self._windows:
            self._values(window)

    def closing(self, window: sublime.Window) -> None:
        """A window or its project is about to close: its views may come back."""
        number = window.id()
        self._closing.add(number)

        def end() -> None:
            self._closing.discard(number)
            if not window.is_valid():
                self._windows.pop(number, None)  # the files are for the next one

        sublime.set_timeout(end, CLOSING)

    def closed(self, view: sublime.View) -> None:
        """A view was closed. The buffer may have another one."""
        for buffer, claim in list(self._claims.items()):
            if claim["view"] != view.id():
                continue
            if other := _view_of(buffer):
                claim["view"] = other.id()
                self._settle(claim, other.window())
                self.write(claim)
                continue
            del self._claims[buffer]
            # The tab of a chat may come back with its project, also long after it was closed here.
            if claim["kind"] != "chat" and claim["window"] not in self._closing:
                self._forget(claim)

    def _claim(self, view: sublime.View, window: sublime.Window) -> None:
        """Make a view ours if its marker names a record that nobody has; otherwise it is plain text."""
        if view.buffer_id() in self._claims or (named := view.settings().get(MARKER)) is None:
            return
        marker = own_value(view, MARKER)
        if marker is None:
            # If the project has learned the name of a record, nobody can tell whether the view has it as well.
            if not (view.is_scratch() and view.file_name() is None and self._read(named, window)):
                return
        elif view.file_name() is None and (claim := self._read(marker, window)):
            claim["view"] = view.id()
            self._claims[view.buffer_id()] = claim
            self._settle(claim, window)
            self.write(claim)  # it is in use
            return
        _disown(view)

    def _read(self, marker: object, window: sublime.Window) -> dict[str, Any] | None:
        """The record of a marker, for a view in a window; None if there is none, or another buffer has it."""
        if not isinstance(marker, str) or not _MARKER.fullmatch(marker):
            return None
        for buffer, claim in self._claims.items():
            if claim["marker"] == marker and _view_of(buffer):
                return None
        path = self._path(marker)
        found = self._writer.due(path) or read_own(Path(path), LIMIT)
        kind, home, data = (found.get(name) for name in ("kind", "home", "data")) if found else (None, None, None)
        if kind not in get_args(Kind) or not isinstance(home, dict) or not isinstance(data, dict):
            return None
        home = cast("dict[str, Any]", home)
        if not _is_at(home, window):
            return None
        return {"kind": kind, "marker": marker, "home": home, "data": dict(data), "window": window.id(), "view": 0}

    def _settle(self, claim: dict[str, Any], window: sublime.Window | None) -> bool:
        """Note in which window a view is. Returns whether that has changed."""
        if window is None:
            return False
        claim["window"] = window.id()
        home = _home(window)
        is_new = claim["home"] != home
        claim["home"] = home
        return is_new

    def write(self, claim: Mapping[str, Any]) -> None:
        """Have a record written soon."""
        if claim["marker"]:
            content = {"kind": claim["kind"], "home": claim["home"], "data": dict(claim["data"])}
            self._writer.put(self._path(claim["marker"]), content)

    def _forget(self, claim: dict[str, Any]) -> None:
        """Remove a record; whoever has it still changes nothing by that."""
        if claim["marker"]:
            self._writer.put(self._path(claim["marker"]), None)
            claim["marker"] = ""

    @staticmethod
    def _path(marker: str) -> str:
        return os.path.join(cache_folder(), "views", f"{marker}.json")

    # Windows

    def opened(self, window: sublime.Window) -> None:
        """The person has opened a window: it begins with nothing, unless it is that of a project."""
        self._fresh.add(window.id())

    def remembered(self, window: sublime.Window, name: str) -> Any:
        """What was remembered of a window, also from before a restart, or of its project; None for nothing."""
        return self._values(window).get(name)

    def remember(self, window: sublime.Window, name: str, value: Any) -> None:
        """Remember something of a window, over restarts: a JSON value, which must never change."""
        values = self._values(window)
        if values.get(name) != value:
            values[name] = value
            self._write_window(window.id())

    def _values(self, window: sublime.Window) -> dict[str, Any]:
        known = self._windows.get(window.id())
        if known and not window.is_valid():
            return known["values"]
        home = _home(window)
        if known is None or known["home"] != home:
            values = {} if window.id() in self._fresh and not home["project"] else self._read_window(home)
            if known and _goes_on(known["home"], home):
                values.update(known["values"])
            elif known and not (known["home"]["project"] or known["home"]["folders"]):
                values = {**known["values"], **values}
            is_new, known = known is not None, {"home": home, "values": values}
            self._windows[window.id()] = known
            if is_new:
                self._write_window(window.id())
        return known["values"]

    def _read_window(self, home: Mapping[str, Any]) -> dict[str, Any]:
        path = _window_path(home)
        found = self._writer.due(path) or read_own(Path(path), LIMIT)
        values: object = found.get("values") if found else None
        return dict(cast("dict[str, Any]", values)) if isinstance(values, dict) else {}

    def _write_window(self, number: int) -> None:
        known = self._windows[number]
        content = {"home": known["home"], "values": dict(known["values"])}
        self._writer.put(_window_path(known["home"]), content)

    # The end

    def close(self) -> None:
        """The package ends: what is to be written is, before the next instance reads."""
        self._writer.finish()

    def hand_over(self) -> None:
        """The editor quits: nothing but the files is left."""
        self.close()
        self._claims.clear()
        self._windows.clear()
        self._fresh.clear()

    @staticmethod
    def prune() -> None:
        """Remove the records that nothing has claimed for long. Looks at files: not for the UI thread."""
        oldest = time.time() - KEPT_DAYS * 24 * 3600
        for name in ("views", "windows"):
            with contextlib.suppress(OSError), os.scandir(os.path.join(cache_folder(), name)) as found:
                for entry in found:
                    with contextlib.suppress(OSError):
                        if entry.stat(follow_symlinks=False).st_mtime < oldest:
                            os.remove(entry.path)


VIEWS = OwnViews()
"""Those of this instance of the package."""


def project_settings(window: sublime.Window) -> list[str]:
    """The names of the package's own settings that a window's project has in vain, in printable ASCII."""
    settings = (window.project_data() or {}).get("settings")
    names = [name for name in settings if name.startswith(PREFIX)] if isinstance(settings, dict) else []
    return sorted(re.sub("[^!-~]", "?", name) for name in names)


def own_value(view: sublime.View, name: str) -> Any:
    """A value that a view itself has, and not its project or its syntax; None for none."""
    settings = view.settings()
    value = settings.get(name)
    if value is None:
        return None
    settings.erase(name)
    if settings.get(name) == value:  # what it inherits; its own was the same, if it had any
        return None
    settings.set(name, value)
    return value


def _disown(view: sublime.View) -> None:
    """Make plain text of what looks like a view of ours."""
    view.settings().erase(MARKER)
    view.set_read_only(False)
    view.set_scratch(False)


def _view_of(buffer: int) -> sublime.View | None:
    """A view of a buffer, in any window."""
    views = (view for window in sublime.windows() for view in window.views(include_transient=True))
    return next((view for view in views if view.buffer_id() == buffer), None)


def _home(window: sublime.Window) -> dict[str, Any]:
    """What tells a window from others after a restart."""
    return {"project": window.project_file_name() or "", "folders": window.folders()}


def _is_at(home: Mapping[str, Any], window: sublime.Window) -> bool:
    """Whether a window has the project of a record, and one of its folders."""
    here = _home(window)
    return _key(home.get("project")) == _key(here["project"]) and _overlap(home.get("folders"), here["folders"])


def _goes_on(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a window is the same one: folders were added or removed, or its project was saved as a file."""
    is_same = not before["project"] or _key(before["project"]) == _key(after["project"])
    return is_same and _overlap(before["folders"], after["folders"])


def _overlap(some: object, others: Iterable[str]) -> bool:
    keys = {_key(each) for each in cast("list[object]", some)} if isinstance(some, list) else set[str]()
    here = {_key(each) for each in others}
    return bool(keys & here) or not (keys or here)


def _key(path: object) -> str:
    return path_key(path) if isinstance(path, str) and path else ""


def _window_path(home: Mapping[str, Any]) -> str:
    """The file for windows of a project, or of folders."""
    place = [_key(home["project"])] if home["project"] else sorted(map(_key, home["folders"]))
    name = hashlib.sha256("\0".join(place).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return os.path.join(cache_folder(), "windows", f"{name}.json")
