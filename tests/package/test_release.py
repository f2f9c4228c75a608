"""`scripts/package --release`: what it builds, and what it refuses."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from companion import __version__
from scripts.release import ReleaseError
from scripts.release.pins import FROM_CHANNEL, PLATFORMS, Pin, needed
from scripts.release.repository import channel_entries, check, tag_address
from scripts.release.wheels import Wheel, collect
from scripts.release.wheels import check as check_wheel

from . import building
from .building import copied, release

OURS = {
    "click",
    "h11",
    "httpcore2",
    "httpx2",
    "mcp",
    "mcp-types",
    "opentelemetry-api",
    "psutil",
    "pydantic",
    "pydantic-core",
    "python-multipart",
    "sse-starlette",
    "starlette",
    "truststore",
    "uvicorn",
    "wsproto",
}


def make_wheel(
    folder: Path,
    file: str = "lib-1.0-py3-none-any.whl",
    *,
    files: Mapping[str, str] | None = None,
    metadata: str = "Requires-Python: >=3.11\n",
    record: Mapping[str, str] | None = None,
) -> Path:
    """A wheel; `record` replaces lines of its RECORD, by the path that they are for."""
    name, version = file.split("-")[:2]
    info = f"{name}-{version}.dist-info"
    told = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n{metadata}"
    content = {f"{name}/__init__.py": "", **(files or {}), f"{info}/METADATA": told}
    lines = {}
    for path, text in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines[path] = f"{path},sha256={digest},{len(text)}"
    lines |= {f"{info}/RECORD": f"{info}/RECORD,,", **(record or {})}
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / file, "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{line}\n" for line in lines.values()))
    return folder / file


def pin(name: str) -> Pin:
    return Pin(name, "1.0", ())


@pytest.mark.parametrize(
    ("platform", "tags"),
    [
        ("linux-arm64", "manylinux2014_aarch64.manylinux_2_17_aarch64"),
        ("linux-x64", "manylinux_2_12_x86_64.manylinux2010_x86_64"),
        ("osx-arm64", "macosx_11_0_arm64"),
        ("osx-arm64", "macosx_10_9_universal2"),
        ("osx-x64", "macosx_10_12_x86_64"),
        ("windows-arm64", "win_arm64"),
        ("windows-x64", "win_amd64"),
    ],
)
def test_a_wheel_goes_to_the_platforms_that_can_load_it_and_to_no_other(
    tmp_path: Path, platform: str, tags: str
) -> None:
    wheel = make_wheel(tmp_path, f"lib-1.0-cp314-cp314-{tags}.whl")
    check_wheel(wheel, platform)
    system, machine = platform.split("-")
    others = [
        other for other in PLATFORMS if system not in other or (machine not in other and "universal2" not in tags)
    ]
    assert others
    for other in others:
        with pytest.raises(ReleaseError, match="does not fit"):
            check_wheel(wheel, other)


@pytest.mark.parametrize(
    "tags", ["py3-none", "py2.py3-none", "py314-none", "cp314-none", "cp36-abi3", "cp314-abi3", "cp314-cp314"]
)
def test_python_3_14_takes_these_wheels(tmp_path: Path, tags: str) -> None:
    check_wheel(make_wheel(tmp_path, f"lib-1.0-{tags}-win_amd64.whl"), "windows-x64")


@pytest.mark.parametrize(
    "tags", ["cp314-cp314t", "cp313-cp313", "cp315-abi3", "cp313-none", "py2-none", "pp311-pypy311_pp73", "cp36-cp36m"]
)
def test_a_wheel_for_another_interpreter_is_refused(tmp_path: Path, tags: str) -> None:
    """Free-threaded ones above all: the channel once served them (docs/protocols/sublime.md#libraries)."""
    with pytest.raises(ReleaseError, match=r"lib-1\.0"):
        check_wheel(make_wheel(tmp_path, f"lib-1.0-{tags}-win_amd64.whl"), "windows-x64")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"record": {"lib/__init__.py": '"lib/a,b.py",sha256=x,0'}}, "can't read the line"),
        ({"record": {"lib/__init__.py": "lib/__init__.py,md5=x,0"}}, "can't read the line"),
        ({"record": {"lib/__init__.py": "lib/__init__.py,,"}}, "can't read the line"),
        ({"record": {"lib/__init__.py": "lib/__init__.py,sha256=x,0"}}, "not what its RECORD says"),
        ({"record": {"lib/__init__.py": "lib-1.0.dist-info/RECORD,,"}}, "does not list lib/__init__.py"),
        ({"record": {"lib/__init__.py": "lib/other.py,sha256=x,0"}}, "can't be read"),
        ({"files": {"lib-1.0.data/purelib/lib2.py": ""}}, "does not put where it belongs"),
        ({"files": {"lib-1.0.data/platlib/lib2.py": ""}}, "does not put where it belongs"),
        ({"files": {"lib.pth": "import lib"}}, "lib.pth"),
        ({"metadata": "Requires-Python: <3.14\n"}, "needs Python <3.14"),
        ({"file": "lib-1.0rc1-py3-none-any.whl"}, "pre-release"),
        ({"file": "lib.whl"}, "not the name of a wheel"),
    ],
    ids=str,
)
def test_a_wheel_that_package_control_would_choke_on_is_refused(
    tmp_path: Path, wrong: dict[str, Any], reason: str
) -> None:
    if wrong.get("file") == "lib.whl":
        wheel = tmp_path / "lib.whl"
        wheel.write_bytes(b"")
    else:
        wheel = make_wheel(tmp_path, **wrong)
    with pytest.raises(ReleaseError, match=re.escape(reason)):
        check_wheel(wheel, "linux-x64")


def test_a_file_that_is_no_wheel_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "lib-1.0-py3-none-any.whl"
    wheel.write_bytes(b"<html>")
    with pytest.raises(ReleaseError, match="can't be read"):
        check_wheel(wheel, "linux-x64")


def test_two_libraries_that_bring_the_same_file_or_folder_are_refused(tmp_path: Path) -> None:
    """Package Control removes what is there before it moves a folder into place."""
    one = make_wheel(tmp_path, "one-1.0-py3-none-any.whl", files={"shared/one.py": ""})
    two = make_wheel(tmp_path, "two-1.0-py3-none-any.whl", files={"shared/two.py": ""})
    with pytest.raises(ReleaseError, match="one and two both bring “shared”"):
        collect({"linux-x64": [one, two]}, [pin("one"), pin("two")])


def test_a_library_without_a_release_for_a_platform_is_refused(tmp_path: Path) -> None:
    one = make_wheel(tmp_path, "one-1.0-cp314-cp314-win_amd64.whl")
    with pytest.raises(ReleaseError, match="no release of one for linux-x64"):
        collect({"windows-x64": [one], "linux-x64": []}, [pin("one")])


def test_a_library_with_two_releases_for_a_platform_is_refused(tmp_path: Path) -> None:
    one = make_wheel(tmp_path, "one-1.0-py3-none-any.whl")
    two = make_wheel(tmp_path, "one-1.0-cp314-cp314-win_amd64.whl")
    with pytest.raises(ReleaseError, match="two releases of one for windows-x64"):
        collect({"windows-x64": [one, two]}, [pin("one")])


def test_another_version_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    one = make_wheel(tmp_path, "one-1.1-py3-none-any.whl")
    with pytest.raises(ReleaseError, match="not the pinned version"):
        collect({"windows-x64": [one]}, [pin("one")])


@pytest.mark.parametrize("releases", [[], ["linux-x64", "linux-x64"]])
def test_the_finished_repository_is_looked_through_once_more(releases: list[str]) -> None:
    library = {
        "name": "one",
        "releases": [{"platforms": [platform], "python_versions": ["3.14"]} for platform in releases],
    }
    with pytest.raises(ValueError, match="one has"):
        check(json.dumps({"libraries": [library]}))


@pytest.mark.parametrize(
    "base",
    [
        "https://example.com/o/r",
        "https://example.com/o/r/",
        "https://example.com/o/r/releases/download",
        "https://example.com/o/r/releases/download/1.2.3",
    ],
)
def test_an_address_names_the_tag_of_the_release(base: str) -> None:
    assert tag_address(base, "1.2.3")("x.whl") == "https://example.com/o/r/releases/download/1.2.3/x.whl"


def test_a_tag_may_begin_with_a_letter() -> None:
    base = "https://example.com/o/r/releases/download/v1.2.3"
    assert tag_address(base, "1.2.3")("x.whl") == f"{base}/x.whl"


@pytest.mark.parametrize(
    "base", ["https://example.com/o/r/releases/latest/download", "https://example.com/o/r/1.2.4", "x", ""]
)
def test_an_address_that_does_not_is_refused(base: str) -> None:
    with pytest.raises(ValueError, match=r"\.$"):
        tag_address(base, "1.2.3")


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_release_holds_every_file_that_it_names_and_nothing_else(built: Path) -> None:
    repository = json.loads((built / "repository.json").read_text(encoding="utf-8"))
    (package,) = repository["packages"]
    (newest,) = package["releases"]
    assert repository["schema_version"] == "4.0.0"
    assert newest["version"] == __version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", newest["date"])
    named = {}
    for one in [newest, *(one for library in repository["libraries"] for one in library["releases"])]:
        assert one["sublime_text"] == ">=4205"
        if one["python_versions"] == ["3.14"]:
            assert one["url"].startswith("./")
            named[one["url"].removeprefix("./")] = one["sha256"]
    files = {path.name for path in built.iterdir() if path.is_file()}
    assert files == {*named, "repository.json", "SHA256SUMS"}
    for name, digest in named.items():
        assert hashlib.sha256((built / name).read_bytes()).hexdigest() == digest


def test_the_sums_are_those_of_all_files(built: Path) -> None:
    lines = (built / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in built.iterdir()
        if path.is_file() and path.name != "SHA256SUMS"
    }


def test_the_libraries_are_those_that_the_channel_lacks_and_the_ones_that_must_match(built: Path) -> None:
    libraries = json.loads((built / "repository.json").read_text(encoding="utf-8"))["libraries"]
    assert {library["name"] for library in libraries} == OURS
    allowed = {"name", "description", "author", "issues", "releases"}
    for library in libraries:
        assert library.keys() == allowed
        assert all(library.values())


def test_psutil_for_the_old_plugin_host_stays_the_channels(built: Path) -> None:
    libraries = json.loads((built / "repository.json").read_text(encoding="utf-8"))["libraries"]
    (psutil,) = (library for library in libraries if library["name"] == "psutil")
    old = [one for one in psutil["releases"] if one["python_versions"] == ["3.3"]]
    assert [one["version"] for one in old] == ["5.6.7"]
    assert {platform for one in psutil["releases"] if one not in old for platform in one["platforms"]} == set(PLATFORMS)


def test_there_is_an_entry_for_the_channel_for_the_package_and_each_library_that_it_lacks(built: Path) -> None:
    entries = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (built / "channel").iterdir()}
    assert entries.keys() == {"QwenCompanion", *OURS} - {"psutil", "pydantic", "pydantic-core"}
    assert entries["QwenCompanion"]["releases"] == [{"sublime_text": ">=4205", "tags": True}]
    assert entries["mcp-types"]["releases"][0]["asset"] == "mcp_types-*-py3-none-any.whl"


def test_the_pattern_of_an_entry_fits_the_wheel_alone(tmp_path: Path) -> None:
    wheel = Wheel(make_wheel(tmp_path, "one_two-1.0-py3-none-any.whl"), "one-two", "1.0", ["linux-x64"])
    entry = json.loads(channel_entries([wheel])["one-two.json"])
    assert entry["releases"][0]["asset"] == "one_two-*-py3-none-any.whl"


def test_the_offline_folder_has_all_libraries(root: Path, offline: Path) -> None:
    libraries = json.loads((offline / "repository.json").read_text(encoding="utf-8"))["libraries"]
    names = {library["name"] for library in libraries}
    assert names == OURS | FROM_CHANNEL == {pin.name for pin in needed(root)}


def test_the_same_input_gives_the_same_bytes(root: Path, built: Path, tmp_path: Path) -> None:
    assert content(building.built(root, tmp_path / "again", __version__)) == content(built)


@pytest.fixture
def before(tmp_path: Path, built: Path) -> Path:
    """The folder of an earlier release."""
    return shutil.copytree(built, tmp_path / "dist")


def refused(root: Path, folder: Path, *arguments: str, **variables: str) -> str:
    """The one sentence by which a release into a folder is refused; the folder is as it was."""
    was = content(folder)
    run = release(root, *arguments, folder, **variables)
    assert run.returncode == 1
    assert len(run.stderr.splitlines()) == 1
    assert content(folder) == was
    return run.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["9.9.9", "--worktree"], f"The package's version is {__version__}, not 9.9.9."),
        ([f"v{__version__}", "--worktree"], "The package's version is"),
        ([__version__, "--worktree", "--base", "https://x.com/a/latest/b"], "changes with each release"),
        ([__version__, "--worktree", "--base", "nowhere"], "is not an address"),
    ],
)
def test_bad_input_is_one_sentence_and_the_folder_is_as_it_was(
    root: Path, before: Path, arguments: list[str], sentence: str
) -> None:
    assert sentence in refused(root, before, *arguments)
    assert [path.name for path in before.parent.iterdir()] == [before.name]


@pytest.fixture
def clone(root: Path, tmp_path: Path) -> Path:
    """A repository of its own with the files as they are now, committed."""
    copy = copied(root, tmp_path / "clone")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "All"]):
        subprocess.run(["git", "-C", copy, *command], check=True, timeout=60)
    return copy


def test_a_release_is_made_from_the_last_commit_and_has_its_date(
    root: Path, built: Path, clone: Path, tmp_path: Path
) -> None:
    shutil.copytree(root / ".cache/wheels", clone / ".cache/wheels")
    for folder in ("one", "two"):
        run = release(clone, __version__, "--base", "https://example.com/o/r", tmp_path / folder)
        assert run.returncode == 0, run.stderr
    assert content(tmp_path / "one") == content(tmp_path / "two")
    repository = json.loads((tmp_path / "one/repository.json").read_text(encoding="utf-8"))
    told = ["git", "-C", str(clone), "log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%d %H:%M:%S"]
    date = subprocess.run(told, env=os.environ | {"TZ": "UTC"}, capture_output=True, text=True, check=True).stdout
    (newest,) = repository["packages"][0]["releases"]
    assert newest["date"] == date.strip()
    released = [newest, *(one for library in repository["libraries"] for one in library["releases"])]
    addresses = [one["url"] for one in released if one["python_versions"] == ["3.14"]]
    assert all(url.startswith(f"https://example.com/o/r/releases/download/{__version__}/") for url in addresses)


def test_a_dirty_tree_is_one_sentence_and_the_folder_is_as_it_was(clone: Path, before: Path) -> None:
    (clone / "README.md").write_text("changed", encoding="utf-8")
    said = refused(clone, before, __version__)
    assert said == "package: README.md is not committed, and a release is made from a commit.\n"


def test_no_network_is_one_sentence_and_the_folder_is_as_it_was(clone: Path, before: Path) -> None:
    """Nothing is in this clone's cache."""
    nowhere = {
        "PIP_INDEX_URL": "http://127.0.0.1:9/",
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "0",
    }
    said = refused(clone, before, __version__, PIP_CONFIG_FILE=os.devnull, **nowhere)
    assert said.startswith("package: There is no wheel for linux-arm64, or no network: ")


def test_a_wheel_that_is_missing_is_one_sentence_and_the_folder_is_as_it_was(clone: Path, before: Path) -> None:
    pins = clone / "requirements/runtime.txt"
    text = pins.read_text(encoding="utf-8")
    pins.write_text(re.sub(r"^psutil==\S+", "psutil==999.0", text, flags=re.MULTILINE), encoding="utf-8")
    assert "psutil==999.0" in refused(clone, before, __version__, "--worktree")


def test_a_folder_with_other_files_is_left_alone(root: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert "holds other files" in refused(root, tmp_path, __version__, "--worktree")
