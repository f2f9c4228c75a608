"""What a project names is opened and started at two gates alone: `platforms.files` and `platforms.programs`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from .test_platforms import sources, uses

FILES = ("platforms/files.py",)
PROGRAMS = ("platforms/programs.py",)

OPENS = {
    "_io.open", "anyio.Path", "anyio.open_file", "builtins.open", "bz2.open", "codecs.open",
    "configparser.ConfigParser", "dbm.open", "filecmp.cmp", "fileinput.input", "gzip.open", "io.FileIO", "io.open",
    "io.open_code", "linecache.getline", "linecache.getlines", "logging.FileHandler", "lzma.open", "mmap.mmap",
    "netrc.netrc", "nt.open", "open", "os.link", "os.open", "os.readlink", "os.truncate", "pathlib.Path.open",
    "posix.open", "runpy.run_path", "shelve.open", "shutil.copy", "shutil.copy2", "shutil.copyfile",
    "shutil.copyfileobj", "shutil.copytree", "shutil.make_archive", "shutil.move", "shutil.unpack_archive",
    "sqlite3.connect", "starlette.responses.FileResponse", "tarfile.open", "tokenize.open",
    "xml.etree.ElementTree.parse", "zipfile.ZipFile",
}  # fmt: skip
METHODS = {"read_text", "read_bytes", "write_text", "write_bytes", "copyfile", "extractall"}
OF_AN_OPEN = {"mode", "buffering", "encoding", "errors", "newline"}
"""Arguments that tell the method `open` of a path from others of that name."""
STARTS = {
    "platform.platform", "platform.processor", "uuid.getnode", "uuid.uuid1",  # they run `uname` or `ifconfig`
    "ctypes.util.find_library", "multiprocessing.Process", "os.popen", "os.startfile", "os.system", "pty.spawn",
    "shutil.which", "subprocess.Popen", "subprocess.call", "subprocess.check_call", "subprocess.check_output",
    "subprocess.getoutput", "subprocess.getstatusoutput", "subprocess.run", "webbrowser.open", "webbrowser.get",
    "webbrowser.open_new", "webbrowser.open_new_tab", "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell", "asyncio.windows_utils.Popen",
    "_posixsubprocess.fork_exec", "_winapi.CreateProcess", "anyio.open_process", "anyio.run_process",
    "concurrent.futures.ProcessPoolExecutor", "multiprocessing.Pool", "multiprocessing.get_context", "psutil.Popen",
    "pty.fork",
}  # fmt: skip
FAMILIES = ("os.exec", "os.spawn", "os.posix_spawn", "os.fork")
START_METHODS = {"subprocess_exec", "subprocess_shell"}
"""Of an event loop."""
COMMANDS = {"exec", "build", "open_url", "open_dir"}
"""Of the editor, which start a program."""

OPENED_HERE = {
    "changes/journal.py": "the journal, in a store of ours",
    "changes/places.py": "the stores, in the person's cache folder",
    "changes/state.py": "the round, in a store of ours",
    "changes/saves.py": "what was told, in a store of ours",
    "provenance/log.py": "the log, in the folder of the stores",
    "snapshots/copies.py": "the copies, in a store of ours",
    "snapshots/git.py": "three files in a temporary folder of ours",
    "snapshots/project.py": "a copy of the index, in a store of ours",
    "snapshots/store.py": "the store",
    "snapshots/store_index.py": "whether git may read a file, without reading it or waiting",
    "clis/mcp_configuration.py": "our script, in the person's data folder",
    "libraries/guard.py": "our libraries, in the editor's folder",
    "backends/daemon/private.py": "a temporary file of ours",
    "platforms/programs.py": "where a link or a descriptor of a process in /proc leads, and nothing is read there",
    "platforms/paths.py": "a folder, and nothing else",
    "registry/archives.py": "an agent's archive, in a folder of ours",
    "registry/registry.py": "downloads, in a folder of ours",
    "sublime_text/chat/prompt.py": "a picture, in a folder of ours",
}
"""Modules that open only what is ours, and what that is."""
STARTED_HERE = {
    "backends/acp/process.py": "the class that platforms.programs makes",
}
BY_THE_EDITOR = {
    "sublime_text/places.py": "the gate: after a look at the type and the size; also beside, for whoever follows",
    "sublime_text/review/written.py": "after that look, or what is open already",
}
"""Modules that have the editor open a file."""


PARSERS = {
    "json.load", "json.loads", "json.JSONDecoder", "pydantic_core.from_json", "pydantic.TypeAdapter.validate_json",
}  # fmt: skip
PARSED_HERE = {
    "backends/acp/peer.py": "an id, of at most 64 characters",
    "backends/daemon/transport.py": "the pages of a history, each item by itself, on a thread of its own",
    "changes/journal.py": "the journal, in a store of ours",
    "changes/places.py": "a name in a store of ours",
    "changes/state.py": "the round, in a store of ours",
    "changes/saves.py": "what was told, in a store of ours",
    "chats/tasks.py": "the record of a chat, which is ours",
    "provenance/log.py": "the log, which is ours",
    "server/doors/claude.py": "after json_text.check",
    "server/http/app.py": "after json_text.check, which App does for each body",
    "status/survey.py": "a part of a lock file of at most 64 KB",
}
"""Modules that parse JSON elsewhere than at the gate, and why its parts need not be counted there."""


def calls(tree: ast.Module, names: set[str], methods: set[str], families: tuple[str, ...] = ()) -> Iterator[str]:
    """The functions of the standard library that a module uses, and methods of these names."""
    used = [(name, node) for name, node in uses(tree) if isinstance(getattr(node, "ctx", None), ast.Load)]
    full = {node: name for name, node in used}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[of, ast.Constant(value=name), *_]) if of in full:
                used.append((f"{full[of]}.{name}", node))
            case ast.Attribute(attr=name) if name in methods:
                yield f".{name}"
            case _:
                pass
    yield from (name for name, _ in used if name in names or name.startswith(families or ("\0",)))


def opened(tree: ast.Module) -> set[str]:
    return {*calls(tree, OPENS, METHODS), *(".open" for node in ast.walk(tree) if _opens_a_path(node))}


def _opens_a_path(node: ast.AST) -> bool:
    """Whether a method `open` is called that, as far as its words tell, is a path's."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call() | ast.BinOp() as of, attr="open")):
            return isinstance(of, ast.BinOp) or ast.unparse(of.func).rpartition(".")[2] in {"Path", "joinpath"}
        case ast.Call(func=ast.Attribute(attr="open"), args=[ast.Constant(value=str(mode))]):
            return set(mode) <= {*"rwaxbt+"}
        case ast.Call(func=ast.Attribute(attr="open"), keywords=keywords):
            return any(each.arg in OF_AN_OPEN for each in keywords)
    return False


def started(tree: ast.Module) -> set[str]:
    return {*calls(tree, STARTS, START_METHODS, FAMILIES), *_commands(tree, COMMANDS)}


def _commands(tree: ast.Module, names: set[str]) -> Iterator[str]:
    """The commands of the editor of these names that a module runs."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="run_command"), args=[ast.Constant(value=str(name)), *_]):
                yield from {name} & names
            case _:
                pass


def opened_by_the_editor(tree: ast.Module) -> set[str]:
    return set(calls(tree, set(), {"open_file"}))


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


def test_the_editor_opens_files_that_were_looked_at():
    found = {name: opened_by_the_editor(tree) for name, tree in sources().items()}
    assert around(found, (), BY_THE_EDITOR) == {}
    assert [name for name in BY_THE_EDITOR if not found.get(name)] == []


def test_the_parts_of_what_others_have_written_are_counted_before_it_is_parsed():
    found = {name: {*calls(tree, PARSERS, {"validate_json"})} for name, tree in sources().items()}
    assert around(found, ("json_text.py",), PARSED_HERE) == {}
    assert [name for name in PARSED_HERE if not found.get(name)] == []


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
        ("import os\ngetattr(os, 'open')(path, 0)", {"os.open"}),
        ("import builtins\nbuiltins.open(path)", {"builtins.open"}),
        ("Path(path).open()", {".open"}),
        ("(folder / name).open()", {".open"}),
        ("path.open('rb')", {".open"}),
        ("path.open(encoding='utf-8')", {".open"}),
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
        ("import subprocess\ngetattr(subprocess, 'run')(['git'])", {"subprocess.run"}),
        ("import psutil\npsutil.Popen(['git'])", {"psutil.Popen"}),
        ("window.run_command('exec', {'cmd': ['git']})", {"exec"}),
        ("import subprocess\nsubprocess.DEVNULL\nprograms.run(words)", set()),
    ],
)
def test_the_check_of_programs_finds_it(code: str, found: set[str]):
    assert started(ast.parse(code)) == found
