from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.editor import ViewId
from companion.exclusion import Sharing
from companion.protocol import IdeContext
from companion.server.context import (
    CANDIDATES,
    MAX_FILES,
    MAX_SELECTED,
    FocusOrder,
    Listed,
    Shown,
    active,
    cut,
    ide_context,
    listed,
)
from companion.server.window_screen import ContextRequest, OpenFile, Selection, WindowState


def units(text: str) -> int:
    """How JavaScript counts."""
    return len(text.encode("utf-16-le")) // 2


def on_the_wire(context: IdeContext) -> dict[str, object]:
    """What is sent of a context."""
    return json.loads(context.event.partition(b"data: ")[2])["params"]


def test_the_latest_focus_comes_first():
    order = FocusOrder()
    for view, at in ((1, 10), (2, 20), (3, 30), (1, 40)):
        order.focused(ViewId(view), at)
    assert order.recent() == [1, 3, 2]
    assert [order.at(ViewId(view)) for view in (1, 2, 3, 4)] == [40, 20, 30, 0]


def test_a_focus_that_was_kept_does_not_move_a_view_back():
    """What was kept over a restart may come after what happens now."""
    order = FocusOrder()
    order.seen(ViewId(1), 30)
    order.seen(ViewId(2), 20)
    order.seen(ViewId(1), 10)
    assert order.recent() == [1, 2]
    assert order.at(ViewId(1)) == 30
    order.focused(ViewId(2), 40)
    order.seen(ViewId(1), 35)
    assert order.recent() == [2, 1]


def test_what_has_the_focus_now_is_the_newest_though_the_clock_was_ahead():
    """After a dual boot, say. The others keep their order, and no time is in the future."""
    ahead = 10**15
    order = FocusOrder()
    order.seen(ViewId(1), ahead)
    order.seen(ViewId(2), ahead + 5)
    order.focused(ViewId(3), 1000)
    assert order.recent() == [3, 2, 1]
    assert [order.at(ViewId(view)) for view in (1, 2, 3)] == [999, 999, 1000]
    order.seen(ViewId(4), ahead)
    assert order.recent()[0] == 3
    assert order.at(ViewId(4)) == 999


def test_a_clock_that_is_set_back_while_the_editor_runs_changes_no_order():
    order = FocusOrder()
    for view, at in ((1, 5000), (2, 6000), (3, 10), (1, 20)):
        order.focused(ViewId(view), at)
    assert order.recent() == [1, 3, 2]
    times = [order.at(view) for view in order.recent()]
    assert times == sorted(times, reverse=True)


def test_an_event_is_followed_by_a_question_about_its_view_only():
    """What nobody has asked yet is asked too, and everything if the view never had the focus."""
    order = FocusOrder()
    shown = Shown(order)
    for view in (1, 2):
        order.focused(ViewId(view), view)
    shown.changed(ViewId(1))
    question = shown.question(9)
    assert question == ContextRequest((ViewId(2), ViewId(1)), is_whole=True, selected=ViewId(2), limit=9)
    other = OpenFile(ViewId(7), "/seven")
    shown.answered(question, WindowState((), (OpenFile(ViewId(1), "/one"), other)))
    assert shown.files() == [OpenFile(ViewId(1), "/one"), other]
    shown.changed(ViewId(1))
    assert shown.question(9) == ContextRequest((ViewId(1),), is_whole=False, selected=ViewId(1), limit=9)
    order.focused(ViewId(3), 3)
    shown.changed(ViewId(1))
    question = shown.question(0)
    assert question == ContextRequest((ViewId(3), ViewId(1)), is_whole=False, selected=ViewId(3), limit=0)
    shown.answered(question, WindowState((), (OpenFile(ViewId(3), "/three"), OpenFile(ViewId(1), "/another"))))
    assert shown.files() == [OpenFile(ViewId(3), "/three"), OpenFile(ViewId(1), "/another"), other]
    order.focused(ViewId(7), 7)
    assert [file.view for file in shown.files()] == [3, 1]
    shown.changed(ViewId(8))
    assert shown.question(9).is_whole
    shown.changed()
    assert shown.question(9).is_whole
    assert not shown.question(9).is_whole


def test_a_closed_view_is_forgotten():
    order = FocusOrder()
    order.focused(ViewId(1), 10)
    order.forget(ViewId(1))
    order.forget(ViewId(1))
    assert order.recent() == []
    assert order.at(ViewId(1)) == 0


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 10**13)), unique_by=lambda news: news[1]))
def test_the_order_of_views_is_that_of_their_last_focus(news: list[tuple[int, int]]):
    """Whatever the order in which it becomes known."""
    order = FocusOrder()
    last: dict[int, int] = {}
    for view, at in news:
        order.seen(ViewId(view), at)
        last[view] = max(at, last.get(view, 0))
    assert order.recent() == sorted(last, key=lambda view: -last[view])[:CANDIDATES]


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("😀a"), max_size=40), st.integers(0, 50))
def test_cut_text_is_the_longest_beginning_that_fits(text: str, limit: int):
    """16 KB of UTF-16, and no half of a character."""
    result = cut(text, limit)
    assert text.startswith(result)
    assert units(result) <= limit
    assert result == text or units(text[: len(result) + 1]) > limit


def test_a_pair_at_the_limit_is_left_out():
    assert cut("a" * (MAX_SELECTED - 1) + "😀", MAX_SELECTED) == "a" * (MAX_SELECTED - 1)
    assert cut("a" * (MAX_SELECTED - 2) + "😀b", MAX_SELECTED) == "a" * (MAX_SELECTED - 2) + "😀"
    assert units(cut("😀" * MAX_SELECTED, MAX_SELECTED)) == MAX_SELECTED


def test_only_files_that_are_on_disk_are_listed(tmp_path: Path):
    """No unsaved file, no folder, no link to nowhere."""
    file, folder, dangling = tmp_path / "a.txt", tmp_path / "folder", tmp_path / "link"
    file.touch()
    folder.mkdir()
    dangling.symlink_to(tmp_path / "nowhere")
    paths = [tmp_path / "missing.txt", folder, dangling, file]
    assert list(listed([OpenFile(ViewId(i), str(path)) for i, path in enumerate(paths)], Sharing(), ()).files) == [
        OpenFile(ViewId(3), str(file))
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_whose_name_is_not_utf8_is_left_out(tmp_path: Path):
    """JSON can't carry its name, and one that is changed names another file."""
    odd = os.fsencode(tmp_path) + b"/\xff.txt"
    Path(os.fsdecode(odd)).touch()
    plain = tmp_path / "a.txt"
    plain.touch()
    files = [OpenFile(ViewId(1), os.fsdecode(odd)), OpenFile(ViewId(2), str(plain))]
    assert list(listed(files, Sharing(), ()).files) == files[1:]


def test_a_file_in_two_views_is_listed_once_with_its_latest_focus(tmp_path: Path):
    file = tmp_path / "a.txt"
    file.touch()
    assert list(listed([OpenFile(ViewId(1), str(file)), OpenFile(ViewId(2), str(file))], Sharing(), ()).files) == [
        OpenFile(ViewId(1), str(file))
    ]


def test_at_most_ten_files_are_listed(tmp_path: Path):
    files = [OpenFile(ViewId(i), str(tmp_path / f"{i}.txt")) for i in range(2 * MAX_FILES)]
    for file in files[::2] + files[1::2]:
        Path(file.path).touch()
    assert list(listed(files, Sharing(), ()).files) == files[:MAX_FILES]


def test_only_the_first_file_is_active_and_has_cursor_and_selection():
    order = FocusOrder()
    order.focused(ViewId(1), 10)
    order.focused(ViewId(2), 20)
    files = [OpenFile(ViewId(2), "/b"), OpenFile(ViewId(1), "/a")]
    context = ide_context(Listed(files), order, Selection(3, 4, "chosen"), is_trusted=None)
    first = {
        "path": "/b",
        "timestamp": 20,
        "isActive": True,
        "cursor": {"line": 3, "character": 4},
        "selectedText": "chosen",
    }
    assert on_the_wire(context) == {"workspaceState": {"openFiles": [first, {"path": "/a", "timestamp": 10}]}}


def test_a_field_without_a_value_is_absent_and_never_null():
    """The CLI disconnects at a null."""
    order = FocusOrder()
    file = OpenFile(ViewId(1), "/a")
    for files, selection in (([], None), ([file], None), ([file], Selection(1, 1))):
        context = ide_context(Listed(files), order, selection, is_trusted=None)
        assert "null" not in json.dumps(on_the_wire(context))
        assert "isTrusted" not in json.dumps(on_the_wire(context))
    assert on_the_wire(ide_context(Listed(), order, None, is_trusted=None)) == {"workspaceState": {"openFiles": []}}


def test_a_file_that_never_had_the_focus_is_not_active():
    """It was open before, or was opened in the background."""
    context = ide_context(
        Listed([OpenFile(ViewId(1), "/a"), OpenFile(ViewId(2), "/b")]),
        FocusOrder(),
        Selection(1, 1, "x"),
        is_trusted=None,
    )
    files = [{"path": path, "timestamp": 0} for path in ("/a", "/b")]
    assert on_the_wire(context) == {"workspaceState": {"openFiles": files}}


def focused(view: int) -> FocusOrder:
    order = FocusOrder()
    order.focused(ViewId(view), 1000)
    return order


def test_an_empty_selection_is_left_out():
    """Nothing is selected where there is only a caret."""
    context = ide_context(Listed([OpenFile(ViewId(1), "/a")]), focused(1), Selection(1, 1, ""), is_trusted=None)
    assert "selectedText" not in json.dumps(on_the_wire(context))


def test_a_long_selection_is_cut():
    context = ide_context(
        Listed([OpenFile(ViewId(1), "/a")]), focused(1), Selection(1, 1, "x" * 20_000), is_trusted=None
    )
    assert context.open_files[0].selected_text == "x" * MAX_SELECTED


def test_trust_is_sent_only_if_the_settings_have_it():
    """The CLI's own folder trust rules otherwise."""
    for trust in (True, False):
        context = ide_context(Listed(), FocusOrder(), None, is_trusted=trust)
        assert on_the_wire(context) == {"workspaceState": {"openFiles": [], "isTrusted": trust}}


# What the person doesn't want to be told


def touched(folder: Path, *names: str) -> list[OpenFile]:
    """Open files, the first of which has the focus."""
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    return [OpenFile(ViewId(number), str(folder / name)) for number, name in enumerate(names)]


def test_an_excluded_file_is_not_listed(tmp_path: Path):
    """Whichever folder it is in, and whatever its link is called."""
    files = touched(tmp_path, "a.txt", ".env", "b.pem", "secrets/c.txt", "d.txt")
    (tmp_path / "plain.txt").symlink_to(tmp_path / ".env")
    known = listed([*files, OpenFile(ViewId(9), str(tmp_path / "plain.txt"))], Sharing(), [str(tmp_path)])
    assert known == Listed((files[0], files[4]))


def test_no_file_is_active_while_the_one_with_the_focus_is_excluded(tmp_path: Path):
    """Another file would be named as the one that the person looks at, with a cursor that isn't there."""
    files = touched(tmp_path, ".env", "a.txt")
    order = FocusOrder()
    order.focused(ViewId(1), 10)
    order.focused(ViewId(0), 20)
    known = listed(files, Sharing(), ())
    assert known == Listed((files[1],), hides_latest=True)
    assert active(known, order) is None
    context = ide_context(known, order, Selection(1, 1, "x"), is_trusted=None)
    assert on_the_wire(context) == {"workspaceState": {"openFiles": [{"path": files[1].path, "timestamp": 10}]}}
    order.focused(ViewId(1), 30)
    assert active(listed(files[::-1], Sharing(), ()), order) == files[1]


def test_an_excluded_file_that_is_gone_hides_the_others_all_the_same(tmp_path: Path):
    files = touched(tmp_path, ".env", "a.txt")
    Path(files[0].path).unlink()
    assert listed(files, Sharing(), ()).hides_latest


def test_excluded_files_take_no_place_in_the_list(tmp_path: Path):
    names = [name for number in range(MAX_FILES) for name in (f"{number}.pem", f"{number}.txt")]
    assert len(listed(touched(tmp_path, *names), Sharing(), ()).files) == MAX_FILES


@pytest.mark.parametrize("folders", [True, False])
def test_a_glob_of_the_windows_folder_is_one_of_that_folder(tmp_path: Path, folders: bool):
    files = touched(tmp_path, "a.txt", "deep/a.txt")
    known = listed(files, Sharing(exclude=("/a.txt",)), [str(tmp_path)] if folders else [])
    assert known.files == tuple(files[1:] if folders else files)
