"""Libraries that are missing or do not fit, with the real Package Control: what a person reads, and what mends it."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from companion.libraries.bounds import BOUNDS, PAIR

from ..e2e.mcp_client import connect
from .building import relabelled
from .control import LIBRARIES, NAME, Editor, Make, Sublime, address

REPAIR = "run “Qwen: Repair Libraries”"
QUESTION = (
    "QwenCompanion needs libraries that are not installed. Add its repository to Package Control and install them?"
)
NEEDS = f"QwenCompanion needs annotated-types, anyio and {len(LIBRARIES) - 2} more libraries, which are not installed"
MISSING = f"{NEEDS}; {REPAIR}."
NEWER = "2.99.0"


def works(editor: Editor) -> None:
    with connect(editor.lock()) as client:
        assert set(client.tools()) == {"openDiff", "closeDiff"}


def repair(editor: Editor) -> None:
    editor.do("command", name="qwen_companion_repair_libraries")


@pytest.fixture(scope="module")
def template(control: Path, offline: Path) -> Iterator[Sublime]:
    """A data folder in which everything is installed."""
    sublime = Sublime(control, [address(offline)])
    editor = sublime.start()
    editor.install()
    editor.served()
    editor.quit()
    yield sublime
    sublime.remove()


@pytest.fixture
def installed(make: Make, template: Sublime) -> Sublime:
    """A data folder of one's own in which everything is installed."""
    sublime = make()
    shutil.copytree(template.data, sublime.data, dirs_exist_ok=True)
    return sublime


def newer_core(sublime: Sublime) -> None:
    """Another package has had Package Control install a newer pydantic-core."""
    relabelled(sublime.libraries, "pydantic_core", NEWER)


def no_shared_folder(sublime: Sublime) -> None:
    """Another package's library of the same top-level folder was removed, and the folder with it."""
    shutil.rmtree(sublime.libraries / "opentelemetry")


def half_a_shared_folder(sublime: Sublime) -> None:
    """Another library of the same top-level folder has been installed over it."""
    shutil.rmtree(sublime.libraries / "opentelemetry/context")


def older(sublime: Sublime) -> None:
    """A library from another installer, which Package Control leaves alone for good."""
    (relabelled(sublime.libraries, "h11", "0.9.0") / "INSTALLER").write_text("uv\n", encoding="utf-8")


def two_versions(sublime: Sublime) -> None:
    """The trace of another version was left."""
    (one,) = sublime.libraries.glob("uvicorn-*.dist-info")
    shutil.copytree(one, one.with_name("uvicorn-0.1.0.dist-info"))


@pytest.mark.parametrize(
    ("break_it", "what"),
    [
        (newer_core, f"pydantic {PAIR[0]} needs pydantic-core {PAIR[1]}, but {NEWER} is installed"),
        (no_shared_folder, "opentelemetry-api is not installed completely"),
        (half_a_shared_folder, "opentelemetry-api is not installed completely"),
        (older, "QwenCompanion needs h11 0.16.0 or later, but 0.9.0 is installed"),
        (two_versions, "uvicorn is not installed completely"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_and_repaired_by_one_command(
    installed: Sublime, template: Sublime, break_it: Callable[[Sublime], None], what: str
) -> None:
    break_it(installed)
    editor = installed.start()
    sentence = f"{what}; {REPAIR}." if what.startswith("QwenCompanion ") else f"QwenCompanion: {what}; {REPAIR}."
    assert editor.wait_message(what) == sentence
    assert [line for line in editor.console() if what in line] == [sentence]
    assert not [line for line in editor.console() if "Traceback" in line]
    editor.wait("withdrawn discovery files", lambda: not editor.lock_files())
    repair(editor)
    editor.wait_message("QwenCompanion: The libraries are installed.")
    works(editor)
    assert installed.versions() == template.versions()
    editor.quit()


@pytest.fixture
def dropped(make: Make, offline: Path) -> Sublime:
    """A data folder with the package, put into place without its libraries."""
    return put(make(), offline)


def put(sublime: Sublime, release: Path) -> Sublime:
    """Put the package into place, which knows where its libraries are."""
    sublime.drop(release)
    sublime.configure(NAME, repository=address(release))
    return sublime


def test_a_package_that_is_dropped_into_place_is_installed_with_one_ok(dropped: Sublime, offline: Path) -> None:
    sublime = dropped
    editor = sublime.start()
    assert editor.wait_message("needs annotated-types") == MISSING
    question = editor.wait_question()
    assert question["caption"] == QUESTION
    # Nothing waits for the answer.
    path = sublime.home.write("meanwhile.txt", "text")
    assert editor.do("open_file", path=str(path))["view"]
    assert editor.question() == question
    editor.do("answer", panel=0)
    works(editor)
    editor.wait_message("QwenCompanion: The libraries are installed.")
    assert sublime.settings("Package Control")["repositories"] == [address(offline)]
    assert set(sublime.versions()) == LIBRARIES
    editor.quit()


def test_a_no_is_remembered_and_the_command_asks_again(dropped: Sublime) -> None:
    sublime = dropped
    editor = sublime.start()
    editor.wait_question()
    editor.do("answer", panel=1)
    editor.wait("no question", lambda: editor.question() is None)
    editor.wait("remembered answer", lambda: sublime.settings(NAME).get("offer_libraries") is False)
    editor.quit()
    editor = sublime.start()
    assert editor.wait_message("needs annotated-types") == MISSING
    assert editor.question() is None
    assert sublime.versions() == {}
    repair(editor)
    assert editor.wait_question()["caption"] == QUESTION
    editor.do("answer", panel=0)
    works(editor)
    assert sublime.settings(NAME)["offer_libraries"] is True
    editor.quit()


def test_a_panel_that_is_escaped_from_is_no_answer(dropped: Sublime) -> None:
    for _ in range(2):
        editor = dropped.start()
        editor.wait_question()
        editor.do("answer", panel=None)
        editor.quit()
    assert "offer_libraries" not in dropped.settings(NAME)


def test_libraries_that_package_control_can_not_bring_are_said(make: Make, built: Path) -> None:
    """A repository without the channel's own, and no channel."""
    editor = put(make(), built).start()
    editor.wait_question()
    editor.do("answer", panel=0)
    said = editor.wait_message("Package Control could not repair it")
    assert "needs annotated-types, anyio and 3 more libraries, which are not installed" in said
    editor.quit()


def test_without_package_control_the_sentence_says_where_to_get_it(offline: Path) -> None:
    sublime = Sublime(None)
    try:
        sublime.drop(offline)
        editor = sublime.start()
        editor.wait_message("needs annotated-types")
        assert editor.question() is None
        repair(editor)
        editor.wait_message("Install Package Control from")
        editor.quit()
    finally:
        sublime.remove()


def test_nothing_is_touched_where_all_is_well(installed: Sublime) -> None:
    before = {path: path.stat().st_mtime_ns for path in installed.libraries.rglob("*.dist-info")}
    editor = installed.start()
    works(editor)
    repair(editor)
    editor.wait_message("QwenCompanion: The libraries are in order.")
    assert not [one for one in editor.messages() if REPAIR in one]
    assert {path: path.stat().st_mtime_ns for path in installed.libraries.rglob("*.dist-info")} == before
    editor.quit()


def test_a_library_that_is_upgraded_while_it_is_loaded_wants_a_restart(installed: Sublime, offline: Path) -> None:
    """The package is reloaded, as by an upgrade, and goes on with what it has."""
    editor = installed.start()
    works(editor)
    version = installed.versions()["starlette"]
    relabelled(installed.libraries, "starlette", "1.99.0")
    (installed.installed / f"{NAME}.sublime-package").touch()
    said = editor.wait_message("Restart Sublime Text")
    assert said == f"QwenCompanion: Restart Sublime Text: starlette {version} is loaded, but 1.99.0 is installed."
    works(editor)
    editor.quit()


def test_a_repair_that_had_to_wait_for_a_restart_is_finished_at_the_start(installed: Sublime) -> None:
    """Files that were in use on Windows: only the `.dist-info` went, and Package Control does the rest."""
    (info,) = installed.libraries.glob("pydantic_core-*.dist-info")
    shutil.rmtree(info)
    editor = installed.start()
    assert "needs pydantic-core, which is not installed" in editor.wait_message("QwenCompanion needs")
    works(editor)
    assert "pydantic-core" in installed.versions()
    # It was installed from a copy of the repository, so nobody is asked.
    assert editor.question() is None
    editor.quit()


AHEAD = "99.0.0"


def channel_ahead(offline: Path, folder: Path, edit: Callable[[str], str]) -> Path:
    """A repository with a later anyio than any that was tried, whose `__init__.py` is edited."""
    shutil.copytree(offline, folder)
    (wheel,) = folder.glob("anyio-*.whl")
    name, old, _ = wheel.name.split("-", 2)
    later = folder / wheel.name.replace(f"-{old}-", f"-{AHEAD}-")
    info = f"{name}-{AHEAD}.dist-info"
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(wheel) as before:
        for path in before.namelist():
            files[path.replace(f"{name}-{old}.dist-info", info)] = before.read(path)
    metadata = files[f"{info}/METADATA"].decode("utf-8")
    files[f"{info}/METADATA"] = metadata.replace(f"Version: {old}", f"Version: {AHEAD}").encode()
    files["anyio/__init__.py"] = edit(files["anyio/__init__.py"].decode("utf-8")).encode()
    del files[f"{info}/RECORD"]
    sums = {
        path: urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for path, data in files.items()
    }
    rows = [f"{path},sha256={sums[path]},{len(data)}" for path, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(later, "w") as after:
        for path, data in files.items():
            after.writestr(path, data)
    index = folder / "repository.json"
    content = json.loads(index.read_text(encoding="utf-8"))
    (entry,) = (each for each in content["libraries"] if each["name"] == "anyio")
    (release,) = entry["releases"]
    release["version"] = AHEAD
    release["url"] = release["url"].replace(wheel.name, later.name)
    release["sha256"] = hashlib.sha256(later.read_bytes()).hexdigest()
    index.write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_a_channel_that_is_ahead_of_what_was_tried_is_named_in_the_log_and_works(
    make: Make, offline: Path, tmp_path: Path
) -> None:
    ahead = channel_ahead(offline, tmp_path / "ahead", lambda text: text)
    sublime = make(address(ahead))
    editor = sublime.start()
    editor.install()
    works(editor)
    assert sublime.versions()["anyio"] == AHEAD
    editor.quit()
    editor = sublime.start()
    works(editor)
    tried = BOUNDS["anyio"][1]
    said = [line for line in editor.console() if f"anyio {AHEAD}" in line]
    assert [line.partition("anyio")[2] for line in said] == [
        f" {AHEAD} is newer than any that was tried (before {tried})"
    ]
    assert not [one for one in editor.messages() if "anyio" in one]
    editor.quit()


def test_a_channel_with_a_library_that_really_fails_is_named_and_no_repair_is_offered(
    make: Make, offline: Path, tmp_path: Path
) -> None:
    """Another installation of the same version would fail as well."""
    removed = "raise ImportError('no more', name='anyio.streams')\n"
    ahead = channel_ahead(offline, tmp_path / "ahead", lambda text: removed + text.replace("from __future__", "#"))
    sublime = make(address(ahead))
    editor = sublime.start()
    editor.control("install_packages", packages=[NAME], unattended=True)
    said = editor.wait_message(f"anyio {AHEAD}")
    assert said == (
        f"QwenCompanion does not run with anyio {AHEAD}, which is newer than it knows; "
        "update QwenCompanion, or report it if there is no update."
    )
    assert editor.question() is None
    editor.quit()


def test_a_package_of_the_channel_asks_where_its_libraries_are(make: Make, built: Path, offline: Path) -> None:
    """Package Control has installed it, and knows repositories that have none of its libraries."""
    elsewhere = f"file://{built}/nothing/repository.json"
    sublime = put(make(elsewhere), offline)
    sublime.configure("Package Control", installed_packages=["Package Control", NAME])
    editor = sublime.start()
    editor.wait_message("needs annotated-types")
    repair(editor)
    editor.wait_message("Package Control could not repair it")
    assert editor.wait_question()["caption"] == QUESTION
    editor.do("answer", panel=0)
    works(editor)
    assert sublime.settings("Package Control")["repositories"] == [elsewhere, address(offline)]
    editor.quit()
