"""View: the handle to a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headless import syntaxes
from headless.api.items import Syntax
from headless.api.region import Edit, Region
from headless.api.selection import Selection
from headless.api.settings import Settings
from headless.api.sheet import Buffer, Sheet, TextSheet, ignore, sheet_handle
from headless.api.types import CommandArgs, CommandArgsLike, Point
from headless.api.view_layout import ViewLayout
from headless.api.view_marks import ViewMarks
from headless.api.view_missing import ViewMissing
from headless.api.view_text import ViewText
from headless.files import ENCODINGS, LINE_ENDINGS
from headless.host import app, locked
from headless.window import ViewState

if TYPE_CHECKING:
    from headless.api.window import Window


class View(ViewText, ViewLayout, ViewMarks, ViewMissing):
    """A view of a text."""

    def __init__(self, id: int) -> None:
        self.view_id = id
        self.selection = Selection(id)
        self.settings_object: Settings | None = None

    def __len__(self) -> int:
        return self.size()

    def __hash__(self) -> int:
        return self.view_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and other.view_id == self.view_id

    def __bool__(self) -> bool:
        return self.view_id != 0

    def __repr__(self) -> str:
        return f"View({self.view_id})"

    def _state(self) -> ViewState:
        return app().view(self.view_id)

    # -- what it is ----------------------------------------------------------------------------

    def id(self) -> int:
        """Its number."""
        return self.view_id

    @locked
    def buffer_id(self) -> int:
        """The number of its buffer."""
        return self._state().buffer.id

    def buffer(self) -> Buffer:
        """Its buffer."""
        return Buffer(self.buffer_id())

    @locked
    def sheet_id(self) -> int:
        """The number of its tab, 0 if it has none."""
        sheet = self._state().sheet
        return sheet.id if sheet else 0

    @locked
    def sheet(self) -> Sheet:
        """Its tab; `TextSheet(0)`, which has no view and no window, for the view of a panel."""
        sheet = self._state().sheet
        return sheet_handle(sheet) if sheet else TextSheet(0)

    @locked
    def element(self) -> str | None:
        """Which part of the user interface it is, None for a tab's view."""
        return self._state().element

    def is_valid(self) -> bool:
        """Whether it is open."""
        return self.view_id in app().views

    @locked
    def is_primary(self) -> bool:
        """Whether it is the first view into its buffer."""
        return app().is_primary(self._state())

    @locked
    def window(self) -> Window | None:
        """The window it is in."""
        window = self._state().window
        return app().window_handle(window) if window else None

    @locked
    def clones(self) -> list[View]:
        """The other views into its buffer."""
        state = self._state()
        return [View(v.id) for v in app().views_of(state.buffer) if v is not state]

    @locked
    def file_name(self) -> str | None:
        """The path of its file."""
        return self._state().buffer.file_name

    @locked
    def name(self) -> str:
        """The name given to it."""
        return self._state().buffer.name

    @locked
    def set_name(self, name: str) -> None:
        """Name it; the tab shows the name if there is no file."""
        self._state().buffer.name = name

    def retarget(self, new_fname: str) -> None:
        """Save to another file from now on."""
        app().on_ui(lambda: app().documents.retarget(self._state(), new_fname))

    def close(self, on_close: Callable[[bool], None] = ignore) -> bool:
        """Close it; unsaved changes are asked about."""

        def close() -> bool:
            sheet = self._state().sheet
            if sheet is None:
                on_close(False)
                return False
            return app().tabs.close_sheet(sheet, on_close)

        return bool(app().on_ui(close))

    @locked
    def is_loading(self) -> bool:
        """Whether its file has not been read yet."""
        return self._state().buffer.loading

    @locked
    def is_dirty(self) -> bool:
        """Whether there is something to save."""
        return self._state().buffer.dirty

    @locked
    def is_read_only(self) -> bool:
        """Whether its text can't be changed."""
        return self._state().buffer.read_only

    @locked
    def set_read_only(self, read_only: bool) -> None:
        """Allow or forbid changes to its text."""
        self._state().buffer.read_only = read_only

    @locked
    def is_scratch(self) -> bool:
        """Whether it is never dirty."""
        return self._state().buffer.scratch

    @locked
    def set_scratch(self, scratch: bool) -> None:
        """Make it never dirty."""
        self._state().buffer.scratch = scratch

    @locked
    def encoding(self) -> str:
        """The editor's name of its encoding."""
        return self._state().buffer.format.encoding

    @locked
    def set_encoding(self, encoding_name: str) -> None:
        """Save with another encoding; a name the editor does not have is ignored."""
        if encoding_name in ENCODINGS:
            self._state().buffer.format.encoding = encoding_name

    @locked
    def line_endings(self) -> str:
        """`Unix`, `Windows` or `CR`."""
        return self._state().buffer.format.line_ending

    @locked
    def set_line_endings(self, line_ending_name: str) -> None:
        """Save with another line ending; a name the editor does not have is ignored."""
        names = {name.lower(): name for name in LINE_ENDINGS}
        if line_ending_name.lower() in names:
            self._state().buffer.format.line_ending = names[line_ending_name.lower()]

    @locked
    def settings(self) -> Settings:
        """Its settings."""
        if self.settings_object is None:
            self.settings_object = Settings(self._state().settings.id)
        return self.settings_object

    def sel(self) -> Selection:
        """Its selection."""
        return self.selection

    # -- syntax --------------------------------------------------------------------------------

    def assign_syntax(self, syntax: str | Syntax) -> None:
        """Use another syntax, given as such, as a path, or as `scope:…`."""
        found = syntax if isinstance(syntax, Syntax) else syntaxes.resolve(syntax)
        path = found.path if found is not None else str(syntax)
        app().settings.set(self._state().settings, "syntax", path)

    def set_syntax_file(self, syntax_file: str) -> None:
        """Use another syntax, given as a path."""
        self.assign_syntax(syntax_file)

    @locked
    def syntax(self) -> Syntax | None:
        """Its syntax."""
        return self._state().syntax

    # -- commands and edits --------------------------------------------------------------------

    def run_command(self, cmd: str, args: CommandArgsLike | None = None) -> None:
        """Run a text command here; commands of windows and of the application are ignored."""
        state = self._state()
        if state.valid:
            app().commands.run_text(cmd, dict(args) if args else None, state)

    def begin_edit(self, edit_token: int, cmd: str, args: CommandArgsLike | None = None) -> Edit:
        """What TextCommand.run_ calls before `run`."""
        return app().edits.begin(self._state(), edit_token, cmd, args)

    def end_edit(self, edit: Edit) -> None:
        """What TextCommand.run_ calls after `run`."""
        app().edits.end(self._state(), edit)

    def is_in_edit(self) -> bool:
        """Whether one of its commands is running."""
        return self._state().edit_depth > 0

    def insert(self, edit: Edit, pt: Point, text: str) -> int:
        """Insert a text; returns its length after tab translation."""
        return app().edits.change(self._state(), edit, pt, pt, text)

    def erase(self, edit: Edit, region: Region) -> None:
        """Delete a region's text."""
        app().edits.change(self._state(), edit, region.a, region.b, "")

    def replace(self, edit: Edit, region: Region, text: str) -> None:
        """Replace a region's text; see Edits.replace for what becomes of the selection."""
        app().edits.replace(self._state(), edit, region.a, region.b, text)

    @locked
    def command_history(self, index: int, modifying_only: bool = False) -> tuple[str | None, CommandArgs, int]:
        """The command `index` steps back or forth in the undo history."""
        step = self._state().buffer.history.command(index)
        return (step.command, step.args, 1) if step else (None, None, 0)

    @locked
    def clear_undo_stack(self) -> None:
        """Forget all steps that could be undone."""
        self._state().buffer.history.clear()

    @locked
    def overwrite_status(self) -> bool:
        """Whether typing overwrites."""
        return self._state().overwrite

    @locked
    def set_overwrite_status(self, value: bool) -> None:
        """Let typing overwrite, or not."""
        self._state().overwrite = value

    # -- the incremental diff ------------------------------------------------------------------

    @locked
    def set_reference_document(self, reference: str) -> None:
        """Compare the text with `reference` from now on."""
        self._state().buffer.reference = reference

    @locked
    def reset_reference_document(self) -> None:
        """Stop comparing the text."""
        self._state().buffer.reference = None

    # -- status --------------------------------------------------------------------------------

    @locked
    def set_status(self, key: str, value: str) -> None:
        """Show `value` in the status bar; an empty one removes it."""
        if value:
            self._state().status[key] = value
        else:
            self._state().status.pop(key, None)

    @locked
    def get_status(self, key: str) -> str:
        """The value shown for `key`."""
        return self._state().status.get(key, "")

    @locked
    def erase_status(self, key: str) -> None:
        """Remove what is shown for `key`."""
        self._state().status.pop(key, None)
