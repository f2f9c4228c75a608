"""What differs between systems is called in one room, and nothing changes what belongs to the whole editor."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOM = "platforms/"

MODULES = {
    "fcntl": "not on Windows",
    "grp": "not on Windows",
    "msvcrt": "only on Windows",
    "pwd": "not on Windows",
    "resource": "not on Windows",
    "termios": "not on Windows",
    "winreg": "only on Windows",
    "ctypes": "calls the system itself",
    "select": "on Windows only for sockets, and not for empty sets",
}
CALLS = {
    "asyncio.create_subprocess_exec": "see platforms.programs.start",
    "asyncio.create_subprocess_shell": "see platforms.programs.start",
    "os.chmod": "Windows knows only whether a file is read-only",
    "os.fchmod": "the same",
    "os.chown": "not on Windows",
    "os.fork": "not on Windows",
    "os.geteuid": "not on Windows",
    "os.getuid": "not on Windows",
    "os.killpg": "not on Windows",
    "os.kill": "on Windows it ends the process, whatever the signal",
    "os.link": "Windows may need rights that nobody has",
    "os.mkfifo": "not on Windows",
    "os.popen": "see platforms.programs.start",
    "os.rename": "fails on Windows if there is such a file",
    "os.replace": "fails on Windows while another program has the file open; see platforms.files",
    "os.startfile": "only on Windows",
    "os.symlink": "Windows wants rights that few have",
    "os.system": "see platforms.programs.start",
    "shutil.which": "on Windows it looks into the current folder first; see platforms.programs.find",
    "subprocess.call": "see platforms.programs.start",
    "subprocess.check_call": "see platforms.programs.start",
    "subprocess.check_output": "see platforms.programs.run",
    "subprocess.Popen": "takes batch files and names; see platforms.programs.start",
    "subprocess.run": "see platforms.programs.run",
    "tempfile.mkdtemp": "locks a person out if they were an administrator (python/cpython#157876)",
}
METHODS = {
    "add_signal_handler": "not on Windows",
    "dup": "on Windows a listener belongs to the loop that has read from it",
    "symlink_to": "see os.symlink",
    "hardlink_to": "see os.link",
}
KEYWORDS = {
    "creationflags": "only on Windows; see platforms.programs.start",
    "start_new_session": "not on Windows; see platforms.programs.start",
    "mode": "an administrator's folder locks the same person out (python/cpython#157876); see make_private_folder",
}
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("backends/acp/process.py", "os.dup"): "pipes are handed over to the next instance, which Windows does not do",
    ("backends/acp/process.py", "subprocess.Popen"): "it is what platforms.programs.start makes",
    ("changes/places.py", "os.chmod"): "git's objects are read-only, and Windows removes no such file",
    ("snapshots/git.py", "resource"): "Linux limits the memory of git by it, and Windows by a job",
    ("snapshots/copies.py", "os.chmod"): "a file of our own store, which Windows does not remove while it is read-only",
    ("server/http/connections.py", ".dup"): "sockets are handed over to the next instance",
    ("server/doors/websocket.py", ".dup"): "as above; on Windows the connection ends",
}
"""By file and call: why it stands there."""

PROCESS_WIDE = {
    "os.chdir", "os.fchdir", "os.umask", "os.nice", "os.putenv", "os.unsetenv", "os.setuid", "os.setgid", "os.setsid",
    "os.setpgid", "os.setpriority", "locale.setlocale", "signal.signal", "signal.set_wakeup_fd", "signal.siginterrupt",
    "signal.pthread_sigmask", "signal.alarm", "signal.setitimer", "socket.setdefaulttimeout", "time.tzset",
    "resource.setrlimit", "asyncio.set_event_loop_policy", "contextlib.chdir", "sys.setrecursionlimit",
    "sys.setswitchinterval", "threading.stack_size", "faulthandler.enable", "gc.collect", "gc.disable", "gc.enable",
    "gc.freeze", "gc.set_debug", "gc.set_threshold", "gc.unfreeze", "logging.addLevelName", "logging.basicConfig",
    "logging.captureWarnings", "logging.config.dictConfig", "logging.disable", "logging.setLoggerClass",
    "logging.setLogRecordFactory", "warnings.filterwarnings", "warnings.simplefilter", "warnings.resetwarnings",
    "sys.setprofile", "sys.settrace", "threading.setprofile", "threading.settrace", "random.seed",
    "truststore.inject_into_ssl", "decimal.setcontext", "typing._cleanups",
}  # fmt: skip
PERMITTED = {
    ("thread.py", "gc.set_threshold"): "for the second of the import; given back (test_garbage.py)",
}
WRITES = {"clear", "pop", "popitem", "setdefault", "update", "__setitem__", "__delitem__"}
OWNER = "EnvironmentVariables"
"""The one class that changes the environment: terminals inherit the variables of the CLIs."""


@cache
def sources() -> dict[str, ast.Module]:
    """The modules of the package, by their path below `companion`."""
    package = ROOT / "companion"
    paths = {str(path.relative_to(package)).replace("\\", "/"): path for path in package.rglob("*.py")}
    paths["plugin.py"] = ROOT / "plugin.py"
    return {name: ast.parse(path.read_text("utf-8")) for name, path in paths.items()}


def dotted(node: ast.expr) -> str:
    """A name such as "os.environ.get"; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def imported(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for, as far as modules of the standard library are concerned."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def uses(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The names that a module uses, in full, with their nodes."""
    names = imported(tree)
    types = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")]
    in_types = {node for part in types if part for node in ast.walk(part)}
    for node in ast.walk(tree):
        if node not in in_types and isinstance(node, ast.Name | ast.Attribute) and (name := dotted(node)):
            first, dot, rest = name.partition(".")
            yield names.get(first, first) + dot + rest, node


def different(tree: ast.Module) -> set[tuple[str, str]]:
    """What a module calls that a platform lacks or does otherwise, each with the reason."""
    found = {(name, MODULES[name]) for name in imported(tree).values() if name in MODULES}
    found |= {(name, CALLS[name]) for name, _ in uses(tree) if name in CALLS}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        method, name = node.func.attr, dotted(node.func)
        if method in METHODS:
            found.add((name if name == "os.dup" else f".{method}", METHODS[method]))
        makes_folders = method in {"mkdir", "makedirs"}
        found |= {
            (f"{method}({each.arg}=)", KEYWORDS[each.arg])
            for each in node.keywords
            if each.arg in KEYWORDS and (each.arg != "mode" or makes_folders)
        }
        if method == "makedirs" and len(node.args) > 1:
            found.add((f"{method}(mode=)", KEYWORDS["mode"]))
    return found


def changes(tree: ast.AST) -> set[str]:
    """What a module does to the whole process, outside of the class that may."""
    if isinstance(tree, ast.Module):
        rest = [node for node in tree.body if not (isinstance(node, ast.ClassDef) and node.name == OWNER)]
        names = imported(tree)
        tree = ast.Module([*rest], [])
        imports: list[ast.stmt] = [ast.Import([ast.alias(full, name)]) for name, full in names.items()]
        tree.body += imports
    assert isinstance(tree, ast.Module)
    found = {name for name, _ in uses(tree) if name in PROCESS_WIDE}
    found |= {name for name, _ in uses(tree) if name.startswith("os.environ.") and name.split(".")[2] in WRITES}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Subscript)
            and not isinstance(node.ctx, ast.Load)
            and dotted(node.value) == "os.environ"
        ):
            found.add("os.environ[…]")
        if isinstance(node, ast.AugAssign) and dotted(node.target) == "os.environ":
            found.add("os.environ |=")
    return found


def test_what_differs_between_systems_is_called_in_the_room_for_that():
    outside = {
        f"{name}: {call}, {why}"
        for name, tree in sources().items()
        if not name.startswith(ROOM)
        for call, why in different(tree)
        if (name, call) not in EXCEPTIONS
    }
    assert sorted(outside) == []


def test_each_exception_is_still_needed():
    trees = sources()
    used = {(name, call) for name, tree in trees.items() for call, _ in different(tree)}
    assert [each for each in EXCEPTIONS if each not in used] == []


def test_nothing_changes_what_belongs_to_the_whole_process():
    """The editor and its other packages have it too: a file of another thread got 0666 (docs/dev/architecture.md)."""
    found = {(name, changed) for name, tree in sources().items() for changed in changes(tree)}
    assert found == PERMITTED.keys()


def test_the_collector_is_paused_around_the_import_and_nothing_else():
    pause = "no_collection"
    named = {
        name: sum(isinstance(node, ast.alias | ast.Name) and pause in ast.unparse(node) for node in ast.walk(tree))
        for name, tree in sources().items()
    }
    assert {name: times for name, times in named.items() if times} == {"thread.py": 1}
    around = [node for node in ast.walk(sources()["thread.py"]) if isinstance(node, ast.With)]
    [paused] = [node for node in around if pause in ast.unparse(node.items[0])]
    assert [type(each) for each in paused.body] == [ast.ImportFrom]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import shutil\nshutil.which('qwen')", "shutil.which"),
        ("from shutil import which as find\nfind('qwen')", "shutil.which"),
        ("import os as system\nsystem.replace(a, b)", "os.replace"),
        ("import subprocess\nrun = subprocess.run", "subprocess.run"),
        ("import fcntl", "fcntl"),
        ("listener.dup()", ".dup"),
        ("path.mkdir(mode=0o700)", "mkdir(mode=)"),
        ("os.makedirs(path, 0o700)", "makedirs(mode=)"),
        ("text.replace('a', 'b')", None),
    ],
)
def test_the_check_of_the_platforms_finds_it(code: str, found: str | None):
    assert [call for call, _ in different(ast.parse(code))] == ([found] if found else [])


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("import os\nos.umask(0)", True),
        ("from os import chdir\nchdir('/')", True),
        ("import os\nos.environ['A'] = 'b'", True),
        ("import os\ndel os.environ['A']", True),
        ("import os\nos.environ.update(a)", True),
        ("import os\nos.environ |= {}", True),
        ("import locale\nlocale.setlocale(locale.LC_ALL, '')", True),
        ("import signal\nsignal.signal(signal.SIGINT, f)", True),
        ("import os\na = os.environ['A'], os.environ.get('B'), {**os.environ}", False),
        ("import os\nclass EnvironmentVariables:\n    def set(self):\n        os.environ.update(a)", False),
    ],
)
def test_the_check_of_the_process_finds_it(code: str, is_found: bool):
    assert bool(changes(ast.parse(code))) == is_found


def test_only_one_class_may_change_the_environment():
    owners = [name for name, tree in sources().items() for node in tree.body
              if isinstance(node, ast.ClassDef) and node.name == OWNER]  # fmt: skip
    assert owners == ["clis/discovery.py"]
    assert sys.platform
