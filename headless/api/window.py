"""Window: the handle to a window."""

from __future__ import annotations

import os
from collections.abc import Mapping

from headless import jsonc, symbols
from headless.api.flags import KIND_FUNCTION, KIND_TYPE, KindId, SymbolSource, SymbolType
from headless.api.items import SymbolLocation
from headless.api.types import Value, ValueLike
from headless.api.window_panels import WindowPanels
from headless.api.window_sheets import WindowSheets
from headless.host import app, locked, not_offered
from headless.paths import platform_title


class Window(WindowSheets, WindowPanels):
    """A window of the editor."""

    @locked
    def folders(self) -> list[str]:
        """The folders of the side bar."""
        return self._state().folders

    @locked
    def project_file_name(self) -> str | None:
        """The path of the project file."""
        return self._state().project_file

    @locked
    def workspace_file_name(self) -> str | None:
        """The path of the workspace file: where the project file's would be."""
        project = self._state().project_file
        return os.path.splitext(project)[0] + ".sublime-workspace" if project else None

    @locked
    def project_data(self) -> dict[str, Value] | None:
        """What is in the project file, or would be."""
        project = self._state().project
        return jsonc.loads(jsonc.dumps(project)) if project is not None else None

    def set_project_data(self, data: Mapping[str, ValueLike]) -> None:
        """Change the project, and its file if it has one."""

        def change() -> None:
            state = self._state()
            state.project = jsonc.loads(jsonc.dumps(dict(data or {})))
            if state.project_file:
                app().documents.save_project(state)
            app().settings.changed(state.settings)

        app().on_ui(change)

    def extract_variables(self) -> dict[str, str]:
        """The variables of build systems, such as `file` and `folder`."""
        state = self._state()
        variables = {"packages": app().paths.packages, "platform": platform_title()}
        if state.folders:
            variables["folder"] = state.folders[0]
        view = state.active_view
        for name, path in (
            ("file", view.buffer.file_name if view else None),
            ("project", state.project_file),
        ):
            if path:
                stem, extension = os.path.splitext(os.path.basename(path))
                variables[name] = path
                variables[f"{name}_path"] = os.path.dirname(path)
                variables[f"{name}_name"] = os.path.basename(path)
                variables[f"{name}_base_name"] = stem
                variables[f"{name}_extension"] = extension.lstrip(".")
        return variables

    def file_history(self) -> list[str]:
        """Not offered."""
        raise not_offered("Window.file_history")

    @locked
    def symbol_locations(
        self,
        sym: str,
        source: SymbolSource = SymbolSource.ANY,
        type: SymbolType = SymbolType.ANY,
        kind_id: KindId = KindId.AMBIGUOUS,
        kind_letter: str = "",
    ) -> list[SymbolLocation]:
        """Where a symbol is: in the texts of the open files, and in the other files of the folders."""
        state = self._state()
        opened = {path: view.buffer.text for view in state.views() if (path := view.buffer.file_name)}
        texts = dict(opened) if source != SymbolSource.INDEX else {}
        if source != SymbolSource.OPEN_FILES:
            texts |= {path: text for path, text in symbols.files(state.folders) if path not in opened}
        found: list[SymbolLocation] = []
        for path, text in texts.items():
            defined = [each for each in symbols.definitions(text) if each.name == sym]
            used = symbols.references(text, sym) if type != SymbolType.DEFINITION else []
            if type != SymbolType.REFERENCE:
                found += [_location(path, text, each, SymbolType.DEFINITION) for each in defined]
            found += [_location(path, text, each, SymbolType.REFERENCE) for each in used]
        kinds = (kind_id, kind_letter)
        return [each for each in found if kinds == (KindId.AMBIGUOUS, "") or kinds == tuple(each.kind[:2])]

    def lookup_symbol_in_index(self, symbol: str) -> list[SymbolLocation]:
        """As `symbol_locations`, of definitions in the index."""
        return self.symbol_locations(symbol, SymbolSource.INDEX, SymbolType.DEFINITION)

    def lookup_symbol_in_open_files(self, symbol: str) -> list[SymbolLocation]:
        """As `symbol_locations`, of definitions in open files."""
        return self.symbol_locations(symbol, SymbolSource.OPEN_FILES, SymbolType.DEFINITION)

    def lookup_references_in_index(self, symbol: str) -> list[SymbolLocation]:
        """As `symbol_locations`, of references in the index."""
        return self.symbol_locations(symbol, SymbolSource.INDEX, SymbolType.REFERENCE)

    def lookup_references_in_open_files(self, symbol: str) -> list[SymbolLocation]:
        """As `symbol_locations`, of references in open files."""
        return self.symbol_locations(symbol, SymbolSource.OPEN_FILES, SymbolType.REFERENCE)


def _location(path: str, text: str, found: symbols.Found, type: SymbolType) -> SymbolLocation:
    row = text.count("\n", 0, found.start) + 1
    column = found.start - (text.rfind("\n", 0, found.start) + 1) + 1
    kind = KIND_TYPE if found.word == "class" else KIND_FUNCTION
    return SymbolLocation(path, found.name, row, column, "", type, kind)
