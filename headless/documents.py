"""Buffers and their files: loading, saving, reverting, and looking for changes on disk."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from headless import files, jsonc
from headless.buffer import TextBuffer
from headless.files import FileFormat, FileStamp
from headless.loop import report_exception
from headless.syntaxes import PLAIN_TEXT, syntax_for_file

if TYPE_CHECKING:
    from headless.editor import Editor
    from headless.window import ViewState, WindowState


class Documents:
    """What happens between buffers and the disk, on the UI thread."""

    def __init__(self, app: Editor) -> None:
        self._app = app

    def read(self, path: str) -> tuple[str, FileFormat, FileStamp | None]:
        """The text of a file; empty if there is no file."""
        stamp = FileStamp.of(path)
        if stamp is None:
            return "", FileFormat(), None
        with open(path, "rb") as file:
            text, format = files.decode(file.read())
        return text, format, stamp

    def load(self, view: ViewState) -> None:
        """Fill a loading buffer from its file, then tell on_load."""
        buffer = view.buffer
        if not buffer.loading or not view.valid:
            return
        try:
            text, buffer.format, buffer.stamp = self.read(str(buffer.file_name))
            self._app.edits.load_text(buffer, text)
        except OSError as error:
            self._app.message("error_message", f"Unable to open {buffer.file_name}: {error}")
        buffer.loading = False
        self.choose_syntax(view)
        for other in self._app.views_of(buffer):
            other.select([(0, 0)])
            other.told_selection = other.selection
            self._app.listeners.emit("on_load", other)
        self._app.focus_changed()

    def choose_syntax(self, view: ViewState) -> None:
        """Give the view the syntax for its file's name, unless it already has one other than plain text."""
        if view.settings.own.get("syntax", PLAIN_TEXT) == PLAIN_TEXT and view.buffer.file_name:
            first_line = view.buffer.text[: view.buffer.line_span(0)[1]]
            syntax = syntax_for_file(view.buffer.file_name, first_line)
            view.settings.own["syntax"] = syntax.path

    # -- saving --------------------------------------------------------------------------------

    def save(self, view: ViewState, path: str | None = None) -> bool:
        """Write the buffer to its file; False if it has none or can't be written."""
        buffer = view.buffer
        target = path or buffer.file_name
        if target is None:
            self._app.message("save_dialog", view.title)
            return False
        if target != buffer.file_name:
            self.retarget(view, target)
        self._app.listeners.emit("on_pre_save", view)
        self._clean_up_text(view)
        try:
            data = buffer.format.encode(buffer.text)
        except UnicodeEncodeError:
            buffer.format.encoding = "UTF-8"
            data = buffer.format.encode(buffer.text)
        try:
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            with open(target, "wb") as file:
                file.write(data)
        except OSError as error:
            self._app.message("error_message", f"Unable to save {target}: {error}")
            return False
        buffer.stamp = FileStamp.of(target)
        buffer.history.mark_clean()
        self.choose_syntax(view)
        self._app.listeners.emit("on_post_save", view)
        self._app.packages_saved(target)
        return True

    def _clean_up_text(self, view: ViewState) -> None:
        if view.settings.get("trim_trailing_white_space_on_save") in ("all", True):
            spans = [match.span() for match in re.finditer(r"[ \t]+$", view.buffer.text, re.MULTILINE)]
            self._app.change_text(view, "trim_trailing_white_space", [(s, "") for s in spans])
        text = view.buffer.text
        ensure = view.settings.get("ensure_newline_at_eof_on_save")
        if ensure and text and not text.endswith("\n"):
            end = len(text)
            self._app.change_text(view, "insert", [((end, end), "\n")])

    def retarget(self, view: ViewState, path: str) -> None:
        """Make the buffer belong to another file."""
        view.buffer.file_name = path
        self._app.listeners.emit_buffer("on_associate_buffer", view.buffer)

    def save_project(self, window: WindowState) -> None:
        """Write a window's project to its file."""
        self._app.listeners.emit_window("on_pre_save_project", window)
        with open(str(window.project_file), "w", encoding="utf-8", newline="\n") as file:
            file.write(jsonc.dumps(window.project, pretty=True) + "\n")
        self._app.listeners.emit_window("on_post_save_project", window)

    # -- the disk changes ----------------------------------------------------------------------

    def poll(self) -> None:
        """Reload the clean buffers whose files have changed; leave dirty ones alone."""
        for buffer in {id(v.buffer): v.buffer for v in self._app.views.values()}.values():
            if buffer.file_name is None or buffer.loading or buffer.stamp is None:
                continue
            stamp = FileStamp.of(buffer.file_name)
            if stamp is None or stamp == buffer.stamp:
                continue
            view = self._app.primary_view(buffer)
            if buffer.dirty or not view.settings.get("reload_file_on_change", True):
                continue
            self.reload(buffer, "on_reload")

    def revert(self, view: ViewState) -> None:
        """Replace the buffer's text by what is on disk."""
        if view.buffer.file_name is not None:
            self.reload(view.buffer, "on_revert")

    def reload(self, buffer: TextBuffer, event: str) -> None:
        """Read the file again and call `event`: on_reload or on_revert."""
        try:
            text, buffer.format, buffer.stamp = self.read(str(buffer.file_name))
        except OSError:
            report_exception()
            return
        self._app.edits.load_text(buffer, text)
        self._app.listeners.emit_text(event, buffer)
        for view in self._app.views_of(buffer):
            self._app.listeners.emit(event, view)
            self._app.tell_selection(view)
