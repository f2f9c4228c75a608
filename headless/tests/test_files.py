"""Files: encodings, line endings, saving, and changes on disk. Sources as in test_as_the_editor.py."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sublime
from hypothesis import given
from hypothesis import strategies as st

from headless.app import Application
from headless.files import ENCODINGS, decode

Settle = Callable[[], None]
Opened = Callable[[bytes], tuple[Any, Path]]
WORDS = st.text(alphabet="abc é€ß\t ", max_size=12)


def test_a_file_loads_at_the_next_turn(window: Any, tmp_path: Path, settle: Settle):
    """D: open_file. K: find_open_file."""
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\r\ny = 2")
    view = window.open_file(str(path))
    assert view.is_loading()
    assert view.size() == 0
    settle()
    assert not view.is_loading()
    assert view.substr(view.line(0)) == "x = 1"
    assert view.line_endings() == "Windows"
    assert view.encoding() == "UTF-8"
    assert view.syntax().name == "Python"
    assert not view.is_dirty()
    assert window.find_open_file(str(path)) == view
    assert window.open_file(str(path)) == view


@given(
    st.lists(WORDS, max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.sampled_from(["UTF-8", "UTF-8 with BOM", "UTF-16 LE with BOM", "UTF-16 BE with BOM"]),
)
def test_what_is_loaded_and_saved_is_the_same_to_the_byte(lines: list[str], ending: str, last: bool, encoding: str):
    codec, mark = ENCODINGS[encoding]
    data = mark + (ending.join(lines) + (ending if last else "")).encode(codec)
    text, how = decode(data)
    assert "\r" not in text
    assert how.encode(text) == data


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfea\0b\0", "naïve\n".encode("cp1252"), "a\nb\n".encode("utf-16-le"), b"\x81\x8d\n"]
)
def test_odd_files_come_back_to_the_byte(data: bytes):
    text, how = decode(data)
    assert how.encode(text) == data


@pytest.fixture
def opened(window: Any, tmp_path: Path, settle: Settle) -> Opened:
    """Opens a file with these bytes and waits until it is loaded; gives its view and its path."""

    def open_(data: bytes) -> tuple[Any, Path]:
        path = tmp_path / "a.txt"
        path.write_bytes(data)
        view = window.open_file(str(path))
        settle()
        return view, path

    return open_


def test_saving_keeps_the_format_and_tells_the_listeners(opened: Opened, settle: Settle, package: Any):
    plugin = package("""
        heard = []
        class L(sublime_plugin.EventListener):
            def on_pre_save(self, view): heard.append("pre")
            def on_post_save(self, view): heard.append("post")
            def on_post_save_async(self, view): heard.append("async")
    """)
    view, path = opened(b"\xef\xbb\xbfone\r\ntwo")
    view.run_command("append", {"characters": "\nthree"})
    assert view.is_dirty()
    view.run_command("save")
    assert path.read_bytes() == b"\xef\xbb\xbfone\r\ntwo\r\nthree"
    assert not view.is_dirty()
    settle()
    assert plugin.heard == ["pre", "post", "async"]
    view.set_line_endings("Unix")
    view.set_encoding("UTF-8")
    view.run_command("save")
    assert path.read_bytes() == b"one\ntwo\nthree"


def change_on_disk(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    # Some file systems have coarse times; the size alone does not always tell.
    later = os.stat(path).st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(later, later))


def test_a_clean_file_that_changed_is_reloaded_and_the_caret_stays(app: Application, opened: Opened, package: Any):
    plugin = package("""
        heard = []
        class L(sublime_plugin.EventListener):
            def on_reload(self, view): heard.append(view.file_name())
    """)
    view, path = opened(b"one\ntwo\nthree\n")
    view.sel().clear()
    view.sel().add(5)
    change_on_disk(path, b"zero\none\ntwo\nthree\n")
    app.documents.poll()
    assert view.substr(view.line(0)) == "zero"
    assert [r.to_tuple() for r in view.sel()] == [(10, 10)]
    assert not view.is_dirty()
    assert plugin.heard == [str(path)]


def test_a_dirty_file_that_changed_is_kept(app: Application, opened: Opened):
    view, path = opened(b"disk")
    view.run_command("append", {"characters": " and mine"})
    change_on_disk(path, b"other")
    app.documents.poll()
    assert view.substr(view.line(0)) == "disk and mine"
    view.run_command("revert")
    assert view.substr(view.line(0)) == "other"
    assert not view.is_dirty()


def test_the_loop_looks_by_itself(app: Application, opened: Opened):
    view, path = opened(b"before")
    app.start()
    change_on_disk(path, b"afterwards")
    app.loop.run_until(lambda: view.substr(view.line(0)) == "afterwards")


def test_a_file_is_saved_when_its_view_loses_the_focus_if_the_settings_say_so(window: Any, opened: Opened):
    view, path = opened(b"")
    view.settings().set("save_on_focus_lost", True)
    view.run_command("insert", {"characters": "saved"})
    window.new_file()
    assert path.read_text() == "saved"


def test_a_position_in_the_name_moves_the_caret(window: Any, tmp_path: Path, settle: Settle):
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    view = window.open_file(f"{path}:2:3", sublime.ENCODED_POSITION)
    settle()
    assert view.file_name() == str(path)
    assert view.rowcol(view.sel()[0].b) == (1, 2)


def test_a_preview_gives_way_to_the_next_and_stays_when_edited(window: Any, tmp_path: Path, settle: Settle):
    views = []
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
        views.append(window.open_file(str(tmp_path / name), sublime.TRANSIENT))
        settle()
        if name == "b":
            views[-1].run_command("insert", {"characters": "x"})
    assert [view.is_valid() for view in views] == [False, True, True]
    assert views[1].sheet().is_transient() is False
    assert window.views() == [views[1]]
    assert set(window.views(include_transient=True)) == {views[1], views[2]}
