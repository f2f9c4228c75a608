"""What a project names is opened and started at two gates alone: `platforms.files` and `platforms.programs`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from .test_platforms import sources, uses

FILES = ("platforms/files.py",)
PROGRAMS = ("platforms/programs.py",)

OPENS = {
    "bz2.open", "codecs.open", "fileinput.input", "gzip.open", "io.FileIO", "io.open", "io.open_code",
    "linecache.getline", "linecache.getlines", "lzma.open", "mmap.mmap", "open", "os.open", "os.readlink",
    "pathlib.Path.open", "shelve.open", "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copyfileobj",
    "shutil.copytree", "shutil.make_archive", "shutil.move", "sqlite3.connect", "tarfile.open", "tokenize.open",
    "zipfile.ZipFile",
}  # fmt: skip
METHODS = {"read_text", "read_bytes", "write_text", "write_bytes", "copyfile", "extractall"}
STARTS = {
    "platform.platform", "platform.processor", "uuid.getnode", "uuid.uuid1",  # they run `uname` or `ifconfig`
    "ctypes.util.find_library", "multiprocessing.Process", "os.popen", "os.startfile", "os.system", "pty.spawn",
    "shutil.which", "subprocess.Popen", "subprocess.call", "subprocess.check_call", "subprocess.check_output",
    "subprocess.getoutput", "subprocess.getstatusoutput", "subprocess.run", "webbrowser.open", "webbrowser.get",
    "webbrowser.open_new", "webbrowser.open_new_tab", "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell", "asyncio.windows_utils.Popen",
}  # fmt: skip
FAMILIES = ("os.exec", "os.spawn", "os.posix_spawn", "os.fork")
START_METHODS = {"subprocess_exec", "subprocess_shell"}
"""Of an event loop."""

OPENED_HERE = {
    "changes/journal.py": "the journal, in a store of ours",
    "changes/places.py": "the stores, in the person's cache folder",
    "changes/state.py": "the round, in a store of ours",
    "snapshots/copies.py": "the copies, in a store of ours",
    "snapshots/files.py": "where a link leads, and a new file beside the one that an undo replaces",
    "snapshots/merging.py": "three files in a temporary folder of ours",
    "snapshots/project.py": "a copy of the index, in a store of ours",
    "snapshots/store.py": "the store",
    "snapshots/store_index.py": "whether git may read a file, without reading it or waiting",
    "clis/mcp_configuration.py": "our script, in the person's data folder",
    "libraries/installed.py": "our libraries, in the editor's folder",
    "libraries/repair.py": "our libraries, in the editor's folder",
    "backends/daemon/process/launch.py": "a temporary file of ours",
    "platforms/open_folders.py": "where a link leads, and nothing is read there",
    "platforms/spelling.py": "a folder, and nothing else",
    "registry/archives.py": "an agent's archive, in a folder of ours",
    "registry/registry.py": "downloads, in a folder of ours",
    "sublime_text/chat/clipboard.py": "a picture, in a folder of ours",
}
"""Modules that open only what is ours, and what that is."""
STARTED_HERE = {
    "backends/acp/child.py": "the class that platforms.programs makes",
}


def calls(tree: ast.Module, names: set[str], methods: set[str], families: tuple[str, ...] = ()) -> Iterator[str]:
    """The functions of the standard library that a module uses, and methods of these names."""
    for name, node in uses(tree):
        if not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        if name in names or name.startswith(families or ("\0",)):
            yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in methods:
            yield f".{node.attr}"


def opened(tree: ast.Module) -> set[str]:
    return set(calls(tree, OPENS, METHODS))


def started(tree: ast.Module) -> set[str]:
    return set(calls(tree, STARTS, START_METHODS, FAMILIES))


def around(found: dict[str, set[str]], gate: tuple[str, ...], here: dict[str, str]) -> dict[str, set[str]]:
    return {name: what for name, what in found.items() if what and name not in (*gate, *here)}


def test_each_file_is_opened_at_the_gate_or_is_one_of_ours():
    found = {name: opened(tree) for name, tree in sources().items()}
    assert around(found, FILES, OPENED_HERE) == {}
    assert [name for name in OPENED_HERE if not found.get(name)] == []


def test_each_program_is_found_and_started_at_the_gate():
    found = {name: started(tree) for name, tree in sources().items()}
    assert around(found, PROGRAMS, STARTED_HERE) == {}
    assert [name for name in STARTED_HERE if not found.get(name)] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("open(path)", {"open"}),
        ("import io\nio.open(path)", {"io.open"}),
        ("from os import open as look\nlook(path, 0)", {"os.open"}),
        ("import codecs\ncodecs.open(path)", {"codecs.open"}),
        ("Path(path).read_text()", {".read_text"}),
        ("read = path.read_bytes", {".read_bytes"}),
        ("path.write_bytes(data)", {".write_bytes"}),
        ("from shutil import copy2\ncopy2(a, b)", {"shutil.copy2"}),
        ("import os\nos.readlink(path)", {"os.readlink"}),
        ("reviews.open(path)\nself.open()\nos.open_later()", set()),
        ("def open(self) -> None: ...", set()),
    ],
)
def test_the_check_of_files_finds_it(code: str, found: set[str]):
    assert opened(ast.parse(code)) == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import subprocess as s\ns.run(['git'])", {"subprocess.run"}),
        ("from subprocess import Popen\nclass Own(Popen): ...", {"subprocess.Popen"}),
        ("import os\nos.execvp('git', [])", {"os.execvp"}),
        ("import os\nos.posix_spawnp('git', [], {})", {"os.posix_spawnp"}),
        ("import asyncio\nasyncio.create_subprocess_exec('git')", {"asyncio.create_subprocess_exec"}),
        ("loop.subprocess_exec(protocol, 'git')", {".subprocess_exec"}),
        ("import shutil\nshutil.which('git')", {"shutil.which"}),
        ("import webbrowser\nwebbrowser.open(address)", {"webbrowser.open"}),
        ("import subprocess\nsubprocess.DEVNULL\nprograms.run(words)", set()),
    ],
)
def test_the_check_of_programs_finds_it(code: str, found: set[str]):
    assert started(ast.parse(code)) == found
