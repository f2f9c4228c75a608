"""The guard: what is installed and loaded, against what fits."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from companion.libraries import guard
from companion.libraries.bounds import BOUNDS, PAIR
from companion.libraries.guard import COPY, LibraryError, Trouble, installed, look, remember, trouble_of, uninstall
from companion.server import endpoint

REPAIR = "run “Qwen: Repair Libraries”."


class Folder:
    """A `Lib/python314` with all libraries, as Package Control unpacks them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name, (least, _) in BOUNDS.items():
            self.install(name, least)

    def install(self, name: str, version: str, requires: str = "") -> Path:
        module = name.replace("-", "_")
        for old in self.path.glob(f"{module}-*.dist-info"):
            shutil.rmtree(old)
        info = self.path / f"{module}-{version}.dist-info"
        info.mkdir(parents=True)
        (self.path / f"stub_{module}").mkdir(exist_ok=True)
        (self.path / f"stub_{module}/__init__.py").write_text("", encoding="utf-8")
        told = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n{requires}"
        (info / "METADATA").write_text(told, encoding="utf-8")
        lines = [f"stub_{module}/__init__.py,sha256=x,0", f"{info.name}/METADATA,sha256=x,1", f"{info.name}/RECORD,,"]
        (info / "RECORD").write_text("\n".join(lines), encoding="utf-8")
        return info

    def sentences(self) -> list[str]:
        return [one.sentence() for one in look([str(self.path)])]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "python314")


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the process has in mind of its own libraries is of no interest here."""
    monkeypatch.setitem(sys.modules, guard.HOLDER, ModuleType(guard.HOLDER))


def test_libraries_that_fit_are_nothing_to_speak_of(folder: Folder) -> None:
    assert look([str(folder.path)]) == []


def test_a_newer_version_up_to_the_next_major_one_fits(folder: Folder) -> None:
    folder.install("starlette", "1.999.0")
    folder.install("uvicorn", "0.999")
    assert look([str(folder.path)]) == []


@pytest.mark.parametrize(
    ("name", "version", "sentence"),
    [
        (
            "starlette",
            "1.9.9",
            f"QwenCompanion needs starlette {BOUNDS['starlette'][0]} or later, but 1.9.9 is installed",
        ),
        ("mcp", "2.3.0rc1", "QwenCompanion needs mcp 2.3.0 or later, but 2.3.0rc1 is installed"),
        ("mcp", "2.3.0.dev1", "QwenCompanion needs mcp 2.3.0 or later, but 2.3.0.dev1 is installed"),
    ],
)
def test_a_version_that_does_not_fit_is_named(folder: Folder, name: str, version: str, sentence: str) -> None:
    folder.install(name, version)
    assert folder.sentences() == [f"{sentence}; {REPAIR}"]


@pytest.mark.parametrize("name", ["anyio", "idna", "annotated-types", "typing-inspection", "typing-extensions", "mcp"])
def test_a_version_that_nobody_has_tried_is_named_in_the_log_and_tried(
    folder: Folder, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The channel updates some of them for everybody, which must not end the companion."""
    monkeypatch.setattr(sys, "path", [str(folder.path)])
    folder.install(name, "99.1")
    assert look([str(folder.path)]) == []
    assert guard.check() is None
    assert f"{name} 99.1 is newer than any that was tried" in caplog.text


def test_a_version_that_nobody_has_tried_is_named_if_the_start_fails(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another installation of the same version would fail as well, so none is offered."""
    monkeypatch.setattr(sys, "path", [str(folder.path)])
    folder.install("anyio", "99.1")
    for error in (ImportError("no", name="stub_anyio.abc"), OSError("of nobody")):
        found = trouble_of(error)
        assert (found.kind, found.libraries, found.stops) == ("newer", ("anyio",), True)
        assert found.sentence() == (
            "QwenCompanion does not run with anyio 99.1, which is newer than it knows; "
            "update QwenCompanion, or report it if there is no update."
        )
    assert trouble_of(ImportError("no", name="stub_h11")).libraries == ("h11",)


@pytest.mark.parametrize("version", ["2.3", "2.3.0.post1", "2.3.0.0", "2.10.0"])
def test_versions_are_compared_by_their_numbers(folder: Folder, version: str) -> None:
    folder.install("mcp", version)
    assert look([str(folder.path)]) == []


def test_pydantic_beside_another_core_than_its_own_is_said(folder: Folder) -> None:
    """docs/protocols/sublime.md#libraries: what it raises when it is imported is nothing that a person understands."""
    folder.install("pydantic-core", "2.99.0")
    what = f"pydantic {PAIR[0]} needs pydantic-core {PAIR[1]}, but 2.99.0 is installed"
    assert folder.sentences() == [f"{what}; {REPAIR}"]
    assert look([str(folder.path)])[0].libraries == ("pydantic", "pydantic-core")


def test_another_pair_that_matches_is_fine_and_one_that_does_not_is_not(folder: Folder) -> None:
    """What another pydantic takes stands in its own metadata."""
    folder.install("pydantic", "2.98.1", "Requires-Dist: pydantic-core==2.99.0\n")
    folder.install("pydantic-core", "2.99.0")
    assert look([str(folder.path)]) == []
    folder.install("pydantic-core", "2.99.1")
    what = "pydantic 2.98.1 needs pydantic-core 2.99.0, but 2.99.1 is installed"
    assert folder.sentences() == [f"{what}; {REPAIR}"]


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [
        (["h11"], "QwenCompanion needs h11, which is not installed"),
        (["h11", "mcp"], "QwenCompanion needs h11 and mcp, which are not installed"),
        (["h11", "mcp", "uvicorn"], "QwenCompanion needs h11, mcp and uvicorn, which are not installed"),
        (
            ["anyio", "h11", "mcp", "uvicorn"],
            "QwenCompanion needs anyio, h11 and 2 more libraries, which are not installed",
        ),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(folder: Folder, gone: list[str], sentence: str) -> None:
    for name in gone:
        (info,) = folder.path.glob(f"{name}-*.dist-info")
        shutil.rmtree(info)
    assert folder.sentences() == [f"{sentence}; {REPAIR}"]


@pytest.mark.parametrize("what", ["file", "folder", "record"])
def test_files_that_are_gone_are_noticed(folder: Folder, what: str) -> None:
    """Another package may have removed a folder that two libraries share."""
    match what:
        case "file":
            (folder.path / "stub_h11/__init__.py").unlink()
        case "folder":
            shutil.rmtree(folder.path / "stub_h11")
        case _:
            (next(folder.path.glob("h11-*")) / "RECORD").unlink()
    assert folder.sentences() == [f"h11 is not installed completely; {REPAIR}"]


def test_what_python_makes_itself_may_be_gone(folder: Folder) -> None:
    info = next(folder.path.glob("h11-*"))
    with (info / "RECORD").open("a", encoding="utf-8") as record:
        record.write('\nstub_h11/__pycache__/__init__.cpython-314.pyc,,\n../../bin/h11,,\n"stub_h11/__init__.py",x,0\n')
    assert look([str(folder.path)]) == []


def test_the_first_place_on_the_path_counts(folder: Folder, tmp_path: Path) -> None:
    other = Folder(tmp_path / "other")
    other.install("h11", "0.1")
    assert look([str(folder.path), str(other.path), "", str(tmp_path / "nothing")]) == []
    assert [one.kind for one in look([str(other.path), str(folder.path)])] == ["mismatch"]


def loaded(monkeypatch: pytest.MonkeyPatch, name: str, version: str | None = None) -> None:
    module = ModuleType(f"stub_{name.replace('-', '_')}")
    if version:
        module.__version__ = version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)


def test_a_library_that_was_upgraded_while_it_was_loaded_wants_a_restart(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The companion lives with it: it goes on with what it has."""
    loaded(monkeypatch, "starlette")
    remember([str(folder.path)])
    assert look([str(folder.path)]) == []
    folder.install("starlette", "1.99.0")
    (found,) = look([str(folder.path)])
    least = BOUNDS["starlette"][0]
    assert found.sentence() == f"Restart Sublime Text: starlette {least} is loaded, but 1.99.0 is installed."
    assert not found.stops


def test_a_library_that_another_package_has_loaded_tells_its_version_itself(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded(monkeypatch, "starlette", "1.1.0")
    (found,) = look([str(folder.path)])
    assert "starlette 1.1.0 is loaded" in found.what


def test_a_core_that_is_loaded_and_not_pydantics_own_stops_the_companion(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded(monkeypatch, "pydantic-core", "2.1.0")
    (found,) = look([str(folder.path)])
    assert found.kind == "loaded"
    assert found.stops


def test_a_library_that_is_on_its_way_out_of_the_modules_is_not_loaded(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "stub_starlette", None)
    remember([str(folder.path)])
    folder.install("starlette", "1.99.0")
    assert look([str(folder.path)]) == []


def test_what_stops_the_companion_is_raised_and_what_does_not_is_told(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(folder.path)])
    assert guard.check() is None
    loaded(monkeypatch, "starlette", "1.1.0")
    told = guard.check()
    assert told
    assert told.kind == "loaded"
    folder.install("h11", "0.1")
    with pytest.raises(LibraryError, match="h11") as raised:
        guard.check()
    assert trouble_of(raised.value) is raised.value.trouble


def test_the_library_of_a_module_that_can_not_be_imported_is_the_one_to_repair() -> None:
    found = trouble_of(ImportError("no", name="typing_extensions"))
    assert found.libraries == ("typing-extensions",)
    assert found.sentence() == f"The library “typing_extensions” is broken; {REPAIR}"
    assert (
        trouble_of(ImportError("no", name="no_such.module")).sentence() == f"The library “no_such” is missing; {REPAIR}"
    )


def test_a_sentence_takes_another_remedy() -> None:
    assert Trouble("missing", ("a",), "A is gone").sentence("do this") == "A is gone; do this."


def test_what_package_control_is_to_install_anew_is_forgotten(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(folder.path)])
    shutil.copytree(next(folder.path.glob("uvicorn-*")), folder.path / "uvicorn-0.1.dist-info")
    assert uninstall(["h11", "uvicorn", "nothing"]) == ([], [])
    assert set(BOUNDS) - installed(BOUNDS).keys() == {"h11", "uvicorn"}
    assert (folder.path / "stub_h11").is_dir()


def native(folder: Folder, name: str) -> Path:
    path = folder.path / f"stub_{name}/_native.pyd"
    path.write_bytes(b"")
    with (next(folder.path.glob(f"{name}-*")) / "RECORD").open("a", encoding="utf-8") as record:
        record.write(f"\nstub_{name}/_native.pyd,sha256=x,0\n")
    return path


def test_a_file_that_can_not_be_replaced_is_in_use(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Windows answers for a module that is loaded."""
    monkeypatch.setattr(sys, "path", [str(folder.path)])
    path = native(folder, "psutil")
    plain = open

    def refuse(file: str, mode: str = "r", *args: object, **more: object) -> object:
        if file == str(path) and "+" in mode:
            raise PermissionError(13, "used by another process")
        return plain(file, mode, *args, **more)  # type: ignore[call-overload]

    monkeypatch.setattr("companion.libraries.guard.open", refuse, raising=False)
    assert uninstall(["psutil", "h11"]) == (["psutil"], [])


def test_what_can_not_be_forgotten_is_told(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(folder.path)])

    def refuse(path: str) -> None:
        raise PermissionError(13, "no", path)

    monkeypatch.setattr(shutil, "rmtree", refuse)
    assert uninstall(["h11"]) == ([], ["h11"])


def test_only_the_library_that_made_the_start_fail_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package may have imported the others meanwhile, and would get them a second time."""
    for name in ("h11", "h11._events", "starlette", "companion.made_up", f"{COPY}.made_up"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    guard.forget(
        {"h11", "h11._events", "starlette", "companion.made_up", f"{COPY}.made_up"}, ImportError("no", name="h11")
    )
    assert not {"h11", "h11._events", "companion.made_up", f"{COPY}.made_up"} & sys.modules.keys()
    assert "starlette" in sys.modules


def test_the_guard_needs_the_standard_library_alone_and_little_of_it(root: Path) -> None:
    """It runs at each start, before anything is imported."""
    program = """
import sys
sys.path.insert(0, sys.argv[1])
from companion.libraries import guard
heavy = {"asyncio", "email", "importlib.metadata", "json", "zipfile"} & sys.modules.keys()
assert not heavy, heavy
"""
    run = [sys.executable, "-I", "-S", "-c", program, str(root)]
    subprocess.run(run, check=True, timeout=180)


def test_a_port_that_can_not_be_opened_is_no_matter_of_the_libraries(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("socket.socket.bind", refuse)
    with pytest.raises(PermissionError) as caught:
        endpoint.listen()
    assert guard.is_of_machine(caught.value)
    assert not guard.is_of_machine(PermissionError(errno.EACCES, "Permission denied"))
