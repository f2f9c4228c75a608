"""Reads the problems that the editor shows, and sends them to an agent.

They are those of the package LSP if a server runs, else SublimeLinter's, else a build's. LSP is used by what it offers
to other packages in `LSP.plugin` (sublimelsp/LSP, plugin/__init__.py). Its sessions live on the editor's worker thread,
where they are asked: `sublime.set_timeout_async`. If it lacks something or answers with an error, it counts as not
installed. Nothing here waits: an answer comes later, on the UI thread.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, cast

import sublime
import sublime_plugin

from ..clis.shell import below
from ..comments import markdown
from ..editor import WindowId
from ..problems import LONGEST, FileProblems, Result, ShownProblems, of_build, of_linter, of_lsp, problems_text
from ..visible import ShownText
from . import package
from .actions import Recipient, add_to_prompt, choose_recipient, done_or_copied, meant, named_in, paste, recipients
from .buffers import text_of
from .panels import say, to_clipboard
from .terminal.terminals import Terminal
from .windows import find_window, is_code, selected_lines

if TYPE_CHECKING:
    from ..problems import Diagnostic
    from .adapter import Adapter

logger = logging.getLogger(__name__)


def lsp_api() -> Any | None:
    """The module `LSP.plugin` if that package is loaded and has what is used of it."""
    module = sys.modules.get("LSP.plugin")
    wanted = ("LspWindowCommand", "Request", "filename_to_uri", "parse_uri")
    return module if module and all(hasattr(module, name) for name in wanted) else None


def lsp_sessions(window: sublime.Window) -> list[Any]:
    """The running language servers of a window. To be called on the worker thread."""
    module = lsp_api()
    if module is None or not window.is_valid():
        return []
    try:
        return list(module.LspWindowCommand(window).sessions())
    except Exception:
        logger.debug("LSP gives no sessions", exc_info=True)
        return []


def _lsp_problems(window: sublime.Window, paths: Sequence[str] | None) -> list[FileProblems] | None:
    """The problems of some files, or of all; None if no server runs. To be called on the worker thread."""
    module, running = lsp_api(), lsp_sessions(window)
    if module is None or not running:
        return None
    found: list[FileProblems] = []
    for session in running:
        try:
            convert = partial(_of_server, str(session.config.name))
            for path, rows in _stored(module, session, paths):
                buffer = _buffer(module, session, path)
                published = getattr(buffer, "diagnostics", None)
                found.append(FileProblems(path, rows, convert, published, _is_latest(session, buffer)))
        except Exception:
            logger.debug("A session of LSP gives no problems", exc_info=True)
    return found


def _stored(module: Any, session: Any, paths: Sequence[str] | None) -> Iterator[tuple[str, Sequence[Any]]]:
    if paths is not None:
        for path in paths:
            yield path, session.diagnostics.get_diagnostics_for_uri(module.filename_to_uri(path))
        return
    stored = cast("Mapping[str, Sequence[Any]]", session.diagnostics.get_diagnostics())
    for uri, rows in stored.items():
        scheme, path = module.parse_uri(uri)
        if scheme == "file":
            yield path, rows


def _buffer(module: Any, session: Any, path: str) -> Any | None:
    """What LSP knows of an open file: `diagnostics` is a list that it makes anew when the server has looked."""
    try:
        return session.get_session_buffer_for_uri_async(module.filename_to_uri(path))
    except Exception:
        logger.debug("LSP does not say when problems were published", exc_info=True)
        return None


def _is_latest(session: Any, buffer: Any | None) -> bool:
    """Whether a server that is asked for problems (`textDocument/diagnostic`) has looked at the text as it is.

    It may answer that they are unchanged, which leaves the list as it is. For a server that is not asked, LSP would say
    the same at any time.
    """
    try:
        if buffer is None or (view := buffer.some_view()) is None:
            return False
        return bool(session.diagnostics.get_identifiers(view)) and bool(buffer.has_latest_diagnostics())
    except Exception:
        logger.debug("LSP does not say which text a server has looked at", exc_info=True)
        return False


def _is_watched(view: sublime.View, window: sublime.Window) -> bool:
    """Whether a language server looks at a view. To be called on the worker thread."""
    try:
        return any(session.session_view_for_view_async(view) for session in lsp_sessions(window))
    except Exception:
        logger.debug("LSP does not say who looks at a view", exc_info=True)
        return True


def _of_server(server: str, path: str, row: Any, lines: Any) -> Any:
    return of_lsp(path, row, server, lines)


BUILD_PANEL = "exec"
"""The output panel of the editor's own build system."""


def linter_errors() -> Mapping[str, Sequence[Any]] | None:
    """What SublimeLinter has found, by file; None if it is not loaded.

    `SublimeLinter.lint.persist` is part of what that package offers to others (SublimeLinter/lint/__init__.py).
    """
    module: Any = sys.modules.get("SublimeLinter.lint")
    errors = getattr(getattr(module, "persist", None), "file_errors", None)
    return cast("Mapping[str, Sequence[Any]]", errors) if isinstance(errors, Mapping) else None


def linter_problems(window: sublime.Window, paths: Sequence[str] | None) -> list[FileProblems] | None:
    """What SublimeLinter has found in some files, or in all that are of this window; None if it is not loaded."""
    errors = linter_errors()
    if errors is None:
        return None
    for _ in range(3):  # it writes on another thread
        try:
            known = {path: FileProblems(path, list(rows), of_linter, rows) for path, rows in errors.items()}
            break
        except RuntimeError:
            continue
    else:
        return []
    if paths is None:
        shown = {view.file_name() for view in window.views()}
        folders = window.folders()
        paths = [
            path for path in known if path in shown or any(PurePath(path).is_relative_to(each) for each in folders)
        ]
    # It makes a new list whenever a linter has looked, with the same problems too.
    return [known.get(path) or FileProblems(path, [], of_linter) for path in paths]


def lint(view: sublime.View) -> None:
    """Have SublimeLinter look at a view that was loaded again, which it doesn't notice."""
    module: Any = sys.modules.get("SublimeLinter.lint")
    assigned = getattr(getattr(module, "persist", None), "assigned_linters", None)
    if isinstance(assigned, Mapping) and assigned.get(view.buffer_id()):  # without one it would say so each time
        sublime.set_timeout(lambda: view.run_command("sublime_linter_lint"))


def build_problems(window: sublime.Window, paths: Sequence[str] | None) -> list[FileProblems] | None:
    """What the last build of a window has reported, in some files or in all; None if there is no result."""
    panel = window.find_output_panel(BUILD_PANEL)
    results = _results(panel) if panel else []
    if not results:
        return None
    by_path: dict[str, list[Result]] = {}
    for result in results:
        by_path.setdefault(result[0], []).append(result)
    wanted = by_path if paths is None else paths
    return [FileProblems(path, by_path.get(path, []), _of_build) for path in wanted]


_KEPT: dict[int, tuple[int, list[Result]]] = {}
"""The results of a panel by its id, with its change count, so that the same are the same objects."""


def _results(panel: sublime.View) -> list[Result]:
    count = panel.change_count()
    kept = _KEPT.get(panel.id())
    if kept is None or kept[0] != count:
        kept = _KEPT[panel.id()] = count, list(panel.find_all_results_with_text())
    return kept[1]


def _of_build(path: str, row: Any, lines: Any) -> Any:  # noqa: ARG001 - a result has its path
    return of_build(row, lines)


MAX_TEXT = 5 * 1024 * 1024
"""Characters of a file; in a longer one both ways of counting are taken for the same."""
AGAIN = 0.5
"""Seconds after which the problems of a file that is being edited are remembered again."""
Done = Callable[[ShownProblems | None], object]


class EditorProblems:
    """The problems of the editor's windows. What is remembered of changes is the editor's worker thread's alone."""

    def __init__(self) -> None:
        self.is_wanted = False
        """Whether anybody asks for problems right after a change."""
        self._seen: dict[str, float] = {}
        self._edited: dict[str, tuple[float, Sequence[FileProblems]]] = {}
        """When a file was changed whose problems nobody has published since, and the problems from before."""

    def has_provider(self, window: sublime.Window) -> bool:
        """Whether anything could know problems of a window's files. To be called on the UI thread."""
        panel = window.find_output_panel(BUILD_PANEL)
        return lsp_api() is not None or linter_errors() is not None or bool(panel and _results(panel))

    def read(self, window: WindowId, paths: Sequence[str] | None, done: Done) -> None:
        """Read the problems of some files, or of all. May be called on any thread.

        `done` gets them on the UI thread, later; None if the window is gone.
        """

        def on_worker() -> None:
            read = self._read(window, paths)
            sublime.set_timeout(lambda: done(_complete(window, paths, read)))

        sublime.set_timeout_async(on_worker)

    def edited(self, view: sublime.View, *, is_new: bool = False) -> None:
        """The text of a view has changed, or it `is_new`. To be called on the worker thread, soon after it."""
        window, path = view.window(), view.file_name()
        if window is None or path is None or not self.is_wanted:
            return
        self._seen[path] = time.time()
        now = time.monotonic()
        before = self._edited.get(path)
        if before and now - before[0] < AGAIN:
            stored: Sequence[FileProblems] | None = before[1]
        elif lsp_api() and (is_new or _is_watched(view, window)):  # its server may begin to look only now
            stored = _lsp_problems(window, [path]) or []
        else:
            stored = linter_problems(window, [path])
        if stored is not None:
            self._edited[path] = now, stored

    def reloaded(self, view: sublime.View) -> None:
        """A view was loaded again because its file has changed. To be called on the worker thread."""
        self.edited(view)
        window = view.window()
        if window and self.is_wanted and not _is_watched(view, window):
            lint(view)

    def closing(self, view: sublime.View) -> None:
        """A view is about to close: afterwards it has no file. May be called on any thread."""
        if (path := view.file_name()) and not view.clones():
            sublime.set_timeout_async(lambda: self._forget(path))

    def _forget(self, path: str) -> None:
        self._seen.pop(path, None)
        self._edited.pop(path, None)

    def _read(self, window: WindowId, paths: Sequence[str] | None) -> ShownProblems | None:
        """What can be known without the UI thread; of a build, only that nobody else knows anything."""
        found = find_window(window)
        if found is None:
            return None
        provider, problems = "LSP", _lsp_problems(found, paths)
        if problems is None:
            provider, problems = "SublimeLinter", linter_problems(found, paths)
        if problems is None:
            provider, problems = "build", []
        return ShownProblems(provider, problems, seen=dict(self._seen), awaited=self._awaited(problems, paths))

    def _awaited(self, problems: Sequence[FileProblems], paths: Sequence[str] | None) -> list[str]:
        """The files that were changed, if nothing new is known of them yet."""
        by_path: dict[str, list[FileProblems]] = {}
        for each in problems:
            by_path.setdefault(each.path, []).append(each)
        now = time.monotonic()
        for path, (at, before) in list(self._edited.items()):
            after = by_path.get(path, [])
            is_known = paths is None or path in paths
            was_looked_at = any(each.rows or each.published is not None for each in before)
            if any(each.is_latest for each in after):
                is_new = True
            elif is_known and not was_looked_at and not any(each.rows for each in after):
                self._edited[path] = at, after  # the server has only just begun to look at the file
                is_new = False
            else:
                is_new = is_known and not (len(before) == len(after) and all(map(FileProblems.is_same, before, after)))
            if is_new or now - at > LONGEST:
                self._edited.pop(path, None)
        return [path for path in self._edited if paths is None or path in paths]


def _complete(window: WindowId, paths: Sequence[str] | None, read: ShownProblems | None) -> ShownProblems | None:
    """With the results of a build if nobody else knows anything, and with the texts. On the UI thread."""
    found = find_window(window)
    if found is None or read is None:
        return None
    problems = (build_problems(found, paths) or []) if read.provider == "build" else read.files
    open_views = {name: view for view in found.views() if (name := view.file_name())}
    shown = {file.path for file in problems if file.rows}
    texts = {path: text_of(view) for path, view in open_views.items() if path in shown and view.size() <= MAX_TEXT}
    unchecked = [path for path in paths or () if path not in open_views]
    seen = {path: read.seen[path] for path in open_views if path in read.seen}
    folders = tuple(found.folders())
    return replace(read, files=problems, folders=folders, texts=texts, unchecked=unchecked, seen=seen)


Scope = Literal["file", "selection", "window"]

NO_FILE = "This tab has no file yet, so no language server has looked at it."
NONE = {
    "file": "This file has no problems that the editor knows of.",
    "selection": "There is no problem in these lines that the editor knows of.",
    "window": "No file of this window has problems that the editor knows of.",
}
IN_CLIPBOARD = "The problems are in the clipboard."
NOBODY = f"There is no CLI or chat to take the problems. {IN_CLIPBOARD}"


def send_problems(adapter: Adapter, window: sublime.Window, scope: Scope) -> None:
    """Put the problems into a prompt. The person adds what they like and submits it."""
    view = window.active_view()
    view = view if view and is_code(view) else adapter.focus.last_code(window)
    path = view.file_name() if view else None
    if scope != "window" and (view is None or path is None):
        say(window, NO_FILE)
        return
    if path and scope != "window" and (why := adapter.refusal(window, [path])):
        say(window, why)
        return
    rows = selected_lines(view) if view and scope == "selection" else None
    sharing = adapter.settings.sharing(window)

    def listed(problems: Sequence[Diagnostic]) -> None:
        found = [each for each in problems if rows is None or any(each.touches(*row) for row in rows)]
        if found:
            _give(adapter, window, found)
        else:
            say(window, NONE[scope])

    def read(found: ShownProblems | None) -> None:
        if found:
            adapter.on_another_thread(lambda: found.diagnostics(sharing), listed)

    adapter.problems.read(WindowId(window.id()), None if scope == "window" or path is None else [path], read)


def _give(adapter: Adapter, window: sublime.Window, problems: Sequence[Diagnostic]) -> None:
    choices = meant(recipients(adapter.chats, window))
    if not choices:
        to_clipboard(_as_markdown(problems))
        say(window, NOBODY)
    else:
        choose_recipient(window, choices, partial(_give_to, adapter, window, problems), "Send the problems to")


def _give_to(adapter: Adapter, window: sublime.Window, problems: Sequence[Diagnostic], recipient: Recipient) -> None:
    target = recipient.target
    if isinstance(target, Terminal):
        text = ShownText(problems_text(problems, partial(named_in, target)))
        paste(target, window, text, done_or_copied(window, _as_markdown(problems), IN_CLIPBOARD))
    else:
        add_to_prompt(target, problems_text(problems, lambda path, _: below(path, target.folder)), [])
        adapter.chats.go_to(target)


def _as_markdown(problems: Sequence[Diagnostic]) -> ShownText:
    return ShownText(problems_text(problems, lambda path, lines: markdown(path, lines) if lines else path))


class QwenCompanionSendProblemsCommand(sublime_plugin.WindowCommand):
    """Put the problems that the editor shows into the prompt of a CLI or a chat."""

    def run(self, scope: Scope = "file") -> None:
        """`scope` is "file", "selection" or "window"."""
        adapter = package.adapter()
        if adapter is None:
            return
        if scope in NONE:
            send_problems(adapter, self.window, scope)
        else:
            say(self.window, f"There is no scope “{scope}”. Choose one of {', '.join(f'“{each}”' for each in NONE)}.")

    def is_visible(self, scope: Scope = "file") -> bool:
        """Whether anything here could know of problems."""
        adapter = package.adapter()
        return adapter is not None and adapter.problems.has_provider(self.window)
