"""What the tools for agents tell of a window, and how they show a place without taking the focus.

`SymbolSearch` asks the language servers of the package LSP if one can answer, else the editor's own index. A command
copies what a CLI needs so that its model has these tools.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import sublime
import sublime_plugin

from ..clis.mcp_configuration import CLIENTS, McpClient, configuration, install
from ..comments import Comment
from ..editor import WindowId
from ..problems import ShownProblems
from ..server.window_screen import Selected, Selection, SymbolPlace, SymbolPlaces, SymbolQuestion, Tab
from ..visible import ShownText
from . import package
from .bridge import asked
from .panels import choose, say, to_clipboard
from .places import line_in_tab, scroll_to, show_beside
from .problems import lsp_api, lsp_sessions
from .windows import find_window, is_code, is_visible

if TYPE_CHECKING:
    from .adapter import Adapter

logger = logging.getLogger(__name__)

SCRIPT = "Packages/QwenCompanion/companion/clis/mcp_bridge.mjs"
"""What the CLIs start that have our MCP server in their configuration."""
MOST_PLACES = 2000
"""The most places that are examined."""
NOT_OPEN = "findReferences: {path} is not open, and no language server can say what is there. Give the symbol's name."
NO_WORD = "findReferences: there is no symbol at {path}:{line}:{character}."
# SymbolKind of LSP 3.17, in its order.
_KINDS = (
    "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
    "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null",
    "enum-member", "struct", "event", "operator", "type-parameter",
)  # fmt: skip
Done = Callable[[SymbolPlaces | None], object]


def _has(session: Any, capability: str) -> bool:
    try:
        return bool(session.has_capability(capability, check_views=True))
    except Exception:
        logger.debug("LSP does not say what a server can do", exc_info=True)
        return False


class SymbolSearch:
    """One question. `done` gets the answer on the UI thread; None if the window is gone."""

    def __init__(self, window: WindowId, question: SymbolQuestion, done: Done) -> None:
        self._window = window
        self._question = question
        self._done = done
        # What a question to language servers needs is the worker thread's.
        self._sent: list[tuple[Any, int]] = []
        self._places: set[SymbolPlace] = set()
        self._waiting = 0
        self._is_over = False

    def begin(self) -> None:
        """To be called on the UI thread."""
        window = find_window(self._window)
        if window is None:
            self._done(None)
        elif lsp_api() is None:
            self._done(_indexed(window, self._question))
        elif self._question.wants_references:
            self._ask_references(window)
        else:
            name = self._question.name
            self._ask(
                window, "workspace/symbol", "workspaceSymbolProvider", lambda: {"query": name}, partial(_named, name)
            )

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
                    logger.debug("LSP does not cancel a request", exc_info=True)

    def _ask_references(self, window: sublime.Window) -> None:
        question = self._question
        path, line, character = question.path, question.line, question.character
        if not path:
            first = next(iter(_locations(window, question.name, sublime.SymbolType.DEFINITION)), None)
            if first is None:
                self._done(_indexed(window, question))
                return
            path, line, character = first.path, first.line, first.character

        def params() -> Mapping[str, Any]:
            module: Any = lsp_api()
            return {
                "textDocument": {"uri": module.filename_to_uri(path)},
                "position": {"line": line - 1, "character": character - 1},
                "context": {"includeDeclaration": True},
            }

        self._ask(window, "textDocument/references", "referencesProvider", params, _found)

    def _ask(
        self,
        window: sublime.Window,
        method: str,
        capability: str,
        params: Callable[[], Mapping[str, Any]],
        read: Callable[[Any], Iterable[SymbolPlace]],
    ) -> None:
        """Ask each server of the window that has a capability.

        `params` is called for each of them, since LSP writes tokens into the result; `read` finds places in an answer.
        """

        def answered(answer: Any) -> None:
            self._waiting -= 1
            self._places.update(read(answer))
            if not self._waiting and not self._is_over:
                self._is_over = True
                sublime.set_timeout(self._answered)

        def send() -> None:
            module = lsp_api()
            asked = [each for each in lsp_sessions(window) if _has(each, capability)] if module else []
            self._waiting = len(asked) + 1
            for session in asked:
                try:
                    request = module.Request(method, dict(params()))  # pyright: ignore[reportOptionalMemberAccess]
                    sent = session.send_request_async(request, answered, lambda _: answered(None))
                    self._sent.append((session, sent))
                except Exception:
                    logger.debug("LSP does not send %s", method, exc_info=True)
                    answered(None)
            answered(None)

        sublime.set_timeout_async(send)

    def _answered(self) -> None:
        window, places = find_window(self._window), tuple(sorted(self._places))
        if window is None:
            self._done(None)
        else:
            self._done(SymbolPlaces("LSP", places) if places else _indexed(window, self._question))


def symbol_at(view: sublime.View, point: int) -> str:
    """The word at a place; empty if there is none."""
    word = view.substr(view.word(point)).strip()
    return word if any(each.isalnum() or each == "_" for each in word) else ""


def _indexed(window: sublime.Window, question: SymbolQuestion) -> SymbolPlaces:
    name = question.name
    if not name:
        place = {"path": question.path, "line": question.line, "character": question.character}
        view = window.find_open_file(question.path)
        if view is None:
            return SymbolPlaces("index", (), NOT_OPEN.format(**place))
        name = symbol_at(view, view.text_point_utf16(question.line - 1, question.character - 1, clamp_column=True))
        if not name:
            return SymbolPlaces("index", (), NO_WORD.format(**place))
    types = sublime.SymbolType
    wanted = types.REFERENCE if question.wants_references else types.DEFINITION
    return SymbolPlaces("index", tuple(_locations(window, name, wanted)))


def _locations(window: sublime.Window, name: str, kind: sublime.SymbolType) -> list[SymbolPlace]:
    """What the editor's index knows. Its columns count characters, which in an open file are made into UTF-16 units."""
    found: list[SymbolPlace] = []
    for each in window.symbol_locations(name, sublime.SymbolSource.ANY, kind)[:MOST_PLACES]:
        character = each.col
        if view := window.find_open_file(each.path):
            row, units = view.rowcol_utf16(view.text_point(each.row - 1, each.col - 1, clamp_column=True))
            character = units + 1 if row == each.row - 1 else each.col
        found.append(SymbolPlace(each.path, each.row, character, each.display_name, each.kind[2].lower()))
    return found


def _named(name: str, answer: Any) -> Iterator[SymbolPlace]:
    """SymbolInformation or WorkspaceSymbol of LSP. Servers compare loosely; those with the very name come alone."""
    rows = [cast("Mapping[str, Any]", row) for row in _rows(answer)]
    exact = [row for row in rows if row.get("name") == name]
    for row in exact or rows:
        place = _place(row.get("location"))
        if place:
            path, line, character = place
            number = row.get("kind")
            kind = _KINDS[number - 1] if isinstance(number, int) and 0 < number <= len(_KINDS) else ""
            yield SymbolPlace(
                path, line, character, str(row.get("name") or ""), kind, str(row.get("containerName") or "")
            )


def _found(answer: Any) -> Iterator[SymbolPlace]:
    for row in _rows(answer):
        if place := _place(row):
            yield SymbolPlace(*place)


def _rows(answer: Any) -> Sequence[Any]:
    rows = cast("list[Any]", answer) if isinstance(answer, list) else []
    return [row for row in rows[:MOST_PLACES] if isinstance(row, Mapping)]


def _place(location: Any) -> tuple[str, int, int] | None:
    """The file and the start of a Location of LSP; a WorkspaceSymbol may have none but the file."""
    try:
        module: Any = lsp_api()
        scheme, path = module.parse_uri(location["uri"])
        start = location.get("range", {}).get("start", {"line": 0, "character": 0})
        line, character = start["line"] + 1, start["character"] + 1
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return (path, line, character) if scheme == "file" else None


MOST_SELECTIONS = 100


class WindowTools:
    """What the tools ask: `EditorTools`."""

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._adapter = adapter

    async def shown_problems(self, window: WindowId, paths: Sequence[str] | None) -> ShownProblems | None:
        """As `EditorTools` has it."""
        return await self.bridge.ask(lambda done: self._adapter.problems.read(window, paths, done))

    @asked()
    def tabs(self, window: WindowId) -> list[Tab] | None:
        found = find_window(window)
        if found is None:
            return None
        active = self._adapter.focus.last_code(found)
        shown: list[Tab] = []
        for view in found.views():
            name, syntax = view.file_name(), view.syntax()
            if name and is_code(view):
                language = syntax.name if syntax else ""
                shown.append(Tab(name, language, view == active, is_visible(view), view.is_dirty()))
        return shown

    @asked()
    def selected(self, window: WindowId, limit: int) -> Selected | None:
        found = find_window(window)
        view = self._adapter.focus.last_code(found) if found else None
        name = view.file_name() if view else None
        if view is None or name is None:
            return None
        parts = tuple(_part(view, region, limit) for region in list(view.sel())[:MOST_SELECTIONS])
        return Selected(name, parts)

    async def find_symbols(self, window: WindowId, question: SymbolQuestion) -> SymbolPlaces | None:
        """As `EditorTools` has it."""
        begun: list[SymbolSearch] = []

        def begin(done: Callable[[SymbolPlaces | None], None]) -> None:
            begun.append(SymbolSearch(window, question, done))
            begun[0].begin()

        try:
            return await self.bridge.ask(begin)
        finally:
            for search in begun:
                search.cancel()

    @asked()
    def show_place(self, window: WindowId, path: str, line: int) -> bool:
        found = find_window(window)
        if found is None:
            return False

        def shown(view: sublime.View) -> None:
            line_in_tab(self._adapter, view, line, partial(scroll_to, view))

        show_beside(found, self._adapter.focus, path, shown)
        view = found.find_open_file(path)
        return view is not None and is_visible(view)

    @asked()
    def point_out(self, window: WindowId, note: Comment) -> int | None:
        target = find_window(window)
        notes = self._adapter.comments.point_out(target, note) if target else None
        if notes:
            place = f"{note.by} points out a place in {os.path.basename(note.path)}: see the Review."
            self._adapter.messenger.mention(place, window)
        return notes

    @asked()
    def save_file(self, window: WindowId, path: str) -> bool:
        # As the person's own command would, but where they have to say first what becomes of their text.
        found = find_window(window)
        view = found.find_open_file(path) if found else None
        if view is None:
            return False
        if view.is_dirty() and not self._adapter.unsaved.may_ask(view):
            view.run_command("save", {"async": False, "quiet": True})
        return not view.is_dirty()


def _part(view: sublime.View, region: sublime.Region, limit: int) -> tuple[Selection, Selection, bool]:
    length = min(region.size(), limit)
    text = view.substr(sublime.Region(region.begin(), region.begin() + length))
    is_cut = length < region.size()
    return _at(view, region.begin(), text), _at(view, region.end()), is_cut


def _at(view: sublime.View, point: int, text: str = "") -> Selection:
    row, character = view.rowcol_utf16(point)
    return Selection(row + 1, character + 1, text)


class QwenCompanionCopyMcpConfigurationCommand(sublime_plugin.WindowCommand):
    """Copy what a CLI needs in its configuration so that its model may use this editor's tools.

    It holds no token: a script finds the window. It is written here, among the user's data.
    """

    def is_visible(self, **_args: object) -> bool:
        """Not in a diff or a chat, whose palette is about them."""
        return package.is_set_up_here(self.window.active_view())

    def run(self, cli: str | None = None, hook: bool = True) -> None:
        """`cli` is "qwen", "gemini", "claude" or "codex", or None to ask; with `hook` problems come by themselves."""
        adapter = package.adapter()
        chosen = next((client for client in CLIENTS if client.key == cli), None)
        if adapter is None:
            return
        if chosen:
            self._copy(chosen, hook=hook)
        elif cli is None:
            items = [(client.name, client.file, partial(self._copy, client, hook=hook)) for client in CLIENTS]
            choose(self.window, items, "The CLI whose model may use this editor")
        else:
            names = ", ".join(f"“{client.key}”" for client in CLIENTS)
            say(self.window, f"There is no CLI “{cli}”. Choose one of {names}.")

    def _copy(self, client: McpClient, *, hook: bool) -> None:
        adapter = package.adapter()
        if adapter is None:
            return
        script = sublime.load_binary_resource(SCRIPT)
        is_on = adapter.settings.value("agents_use_editor")

        def written() -> tuple[str, str]:
            try:
                return install(script), ""
            except OSError as error:
                return "", f"The script for {client.name} could not be written: {error}"

        def done(result: tuple[str, str]) -> None:
            path, said = result
            if path:
                to_clipboard(ShownText(configuration(client, path, with_hook=hook)))
                off = "" if is_on else " Turn on the setting “agents_use_editor”, too."
                said = f"Copied for {client.name}. Add it to {client.file}.{off}"
            say(self.window, said)

        adapter.on_another_thread(written, done)
