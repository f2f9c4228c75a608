"""The package LSP, by what it offers to other packages in `LSP.plugin` (sublimelsp/LSP, plugin/__init__.py).

Its sessions live on the editor's worker thread, where they are asked: `sublime.set_timeout_async`. If it lacks
something or answers with an error, it counts as not installed.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import sublime

from ...problems.formats import of_lsp
from ...problems.shown import FileProblems

logger = logging.getLogger(__name__)

Answered = Callable[[Any], object]


def api() -> Any | None:
    """The module `LSP.plugin` if that package is loaded and has what is used of it."""
    module = sys.modules.get("LSP.plugin")
    wanted = ("LspWindowCommand", "Request", "filename_to_uri", "parse_uri")
    return module if module and all(hasattr(module, name) for name in wanted) else None


def sessions(window: sublime.Window) -> list[Any]:
    """The running language servers of a window. To be called on the worker thread."""
    module = api()
    if module is None or not window.is_valid():
        return []
    try:
        return list(module.LspWindowCommand(window).sessions())
    except Exception:
        logger.debug("LSP gives no sessions", exc_info=True)
        return []


def problems(window: sublime.Window, paths: Sequence[str] | None) -> list[FileProblems] | None:
    """The problems of some files, or of all; None if no server runs. To be called on the worker thread."""
    module, running = api(), sessions(window)
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


def watches(view: sublime.View, window: sublime.Window) -> bool:
    """Whether a language server looks at a view. To be called on the worker thread."""
    try:
        return any(session.session_view_for_view_async(view) for session in sessions(window))
    except Exception:
        logger.debug("LSP does not say who looks at a view", exc_info=True)
        return True


def _of_server(server: str, path: str, row: Any, lines: Any) -> Any:
    return of_lsp(path, row, server, lines)


class LspRequest:
    """A request to each server of a window that has a capability. `done` gets their answers, on the worker thread.

    `params` is called for each session, since LSP writes tokens into the result.
    """

    def __init__(
        self, method: str, capability: str, params: Callable[[], Mapping[str, Any]], done: Callable[[list[Any]], object]
    ) -> None:
        self._method = method
        self._capability = capability
        self._params = params
        self._done = done
        self._sent: list[tuple[Any, int]] = []
        self._answers: list[Any] = []
        self._waiting = 0
        self._is_over = False

    def send(self, window: sublime.Window) -> None:
        """To be called on the worker thread."""
        module = api()
        asked = [each for each in sessions(window) if _has(each, self._capability)] if module else []
        self._waiting = len(asked) + 1
        for session in asked:
            try:
                request = module.Request(self._method, dict(self._params()))  # pyright: ignore[reportOptionalMemberAccess]
                sent = session.send_request_async(request, self._answered, lambda _: self._answered(None))
                self._sent.append((session, sent))
            except Exception:
                logger.debug("LSP does not send %s", self._method, exc_info=True)
                self._answered(None)
        self._answered(None)

    def cancel(self) -> None:
        """Nobody waits for the answer any more. May be called on any thread."""
        sublime.set_timeout_async(self._cancel)

    def _cancel(self) -> None:
        if not self._is_over:
            self._is_over = True
            for session, sent in self._sent:
                try:
                    session.cancel_request_async(sent)
                except Exception:
                    logger.debug("LSP does not cancel %s", self._method, exc_info=True)

    def _answered(self, answer: Any) -> None:
        self._waiting -= 1
        if answer is not None:
            self._answers.append(answer)
        if not self._waiting and not self._is_over:
            self._is_over = True
            self._done(self._answers)


def _has(session: Any, capability: str) -> bool:
    try:
        return bool(session.has_capability(capability, check_views=True))
    except Exception:
        logger.debug("LSP does not say what a server can do", exc_info=True)
        return False
