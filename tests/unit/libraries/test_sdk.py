"""The copy of the SDK's modules that is the package's own. Each test runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def run(root: Path, program: str, *path: Path) -> str:
    """What a program prints that can import this package and what is in `path`."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program), *map(str, path)],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_copy_needs_neither_the_client_nor_what_that_needs(root: Path) -> None:
    run(
        root,
        """
        import sys
        from companion.libraries import sdk
        tops = {name.partition(".")[0] for name in sys.modules}
        assert not tops & {"mcp", "cryptography", "cffi", "jwt", "pywintypes"}, tops
        assert not [name for name in sys.modules if name.startswith("_qwen_companion_mcp.client")]
        """,
    )


def test_the_sdk_that_others_import_is_another_one_and_whole(root: Path) -> None:
    run(
        root,
        """
        import sys
        from companion.libraries import sdk
        import mcp, mcp.server.lowlevel
        assert all(hasattr(mcp, name) for name in mcp.__all__)
        assert all(hasattr(mcp.server, name) for name in mcp.server.__all__)
        assert mcp.server.Server is mcp.server.lowlevel.Server is not sdk.Server
        copied = {name.replace("_qwen_companion_mcp", "mcp"): module for name, module in sys.modules.items()
                  if name.startswith("_qwen_companion_mcp")}
        assert len(copied) > 30
        for name, module in copied.items():
            assert module.__file__ == sys.modules[name].__file__
            for value in vars(module).values():
                assert not str(getattr(value, "__module__", "")).startswith("mcp."), (name, value)
        """,
    )


def test_the_copy_has_what_others_imported_before_it_too(root: Path) -> None:
    """The libraries below the SDK are shared, so that a message is of the same class on both sides."""
    run(
        root,
        """
        import mcp.server.lowlevel, mcp_types, starlette.requests
        from companion.libraries import sdk
        copied = vars(__import__("sys").modules[sdk.Server.__module__])
        assert copied["types"] is mcp_types
        assert copied["Starlette"] is vars(mcp.server.lowlevel.server)["Starlette"]
        """,
    )


def test_the_next_instance_goes_on_with_the_copy(root: Path) -> None:
    run(
        root,
        """
        import gc, sys
        from companion.libraries import sdk
        server = sdk.Server
        for name in [name for name in sys.modules if name.startswith("companion")]:
            del sys.modules[name]
        del sdk
        gc.collect()
        from companion.libraries import sdk
        assert sdk.Server is server
        """,
    )


def test_two_instances_that_load_at_the_same_time_load_one_copy(root: Path) -> None:
    run(
        root,
        """
        import importlib.util, sys, threading
        sys.setswitchinterval(1e-4)
        spec = importlib.util.find_spec("companion.libraries.sdk")
        found = []
        def load():
            instance = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(instance)
            found.append(instance.Server)
        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert len(found) == 4 and len(set(found)) == 1
        """,
    )


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """An SDK of which a module imports in all the ways that there are."""
    for name, text in {
        "__init__": "raise RuntimeError('never')",
        "server/__init__": "raise RuntimeError('never')",
        "shared/__init__": "from .parts import PART\nfrom . import other\n",
        "shared/parts": "PART = 1\n",
        "shared/other": "from mcp.shared.parts import PART\n",
        "server/broken": "raise ValueError('broken')",
        "server/half": "from mcp.server import nothing",
        "server/all": """
            import json as j, os.path
            import mcp.shared.parts as parts
            import mcp.shared.other
            from mcp import shared
            from mcp.shared import PART, other as another
            from mcp.server import lowlevel
            from ..shared.parts import PART as SAME
            from .lowlevel import *
            def late():
                from mcp.server.late import LATE
                return LATE
            assert j.dumps and os.path.join and parts is shared.parts is mcp.shared.parts
            assert another.PART == PART == SAME == WELL
        """,
        "server/lowlevel": "WELL = 1\n",
        "server/late": "LATE = 2\n",
    }.items():
        path = tmp_path / "mcp" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return tmp_path


def test_every_kind_of_import_in_a_module_of_the_copy_means_the_copy(root: Path, library: Path) -> None:
    for name in ("context", "streamable_http_manager"):
        (library / f"mcp/server/{name}.py").write_text("", encoding="utf-8")
    names = {"context": "ServerRequestContext", "streamable_http_manager": "StreamableHTTPSessionManager"}
    for name, one in {**names, "lowlevel": "Server"}.items():
        with (library / f"mcp/server/{name}.py").open("a", encoding="utf-8") as file:
            file.write(f"{one} = 1\n")
    (library / "mcp/shared/exceptions.py").write_text("MCPError = 1\n", encoding="utf-8")
    run(
        root,
        """
        import sys
        sys.path.insert(0, sys.argv[1])
        import companion.libraries.sdk as sdk
        from companion.libraries import guard
        load, copy = sdk._load, "_qwen_companion_mcp"
        assert load(f"{copy}.server.all").late() == 2
        assert not [name for name in sys.modules if name.partition(".")[0] == "mcp"]
        for name, kind in {"broken": ValueError, "half": ImportError, "none": ModuleNotFoundError}.items():
            for _ in range(2):
                try:
                    load(f"{copy}.server.{name}")
                except kind as error:
                    assert guard.culprit(error) == "mcp", guard.culprit(error)
                else:
                    raise AssertionError(name)
            assert f"{copy}.server.{name}" not in sys.modules
        """,
        library,
    )


def test_an_sdk_that_is_missing_is_named(root: Path) -> None:
    run(
        root,
        """
        import sys
        from importlib.machinery import PathFinder
        find = PathFinder.find_spec
        PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] == "mcp" else find(name, *more)
        try:
            from companion.libraries import sdk
        except ModuleNotFoundError as error:
            assert error.name == "mcp"
        else:
            raise AssertionError
        assert not [name for name in sys.modules if "_mcp" in name]
        """,
    )


@pytest.mark.parametrize(
    "neighbour",
    [
        "sys.modules['mcp'] = types.ModuleType('mcp')",
        "sys.modules['mcp'] = None",
        "sys.path.insert(0, sys.argv[1]); import mcp; del sys.path[0]",
    ],
)
def test_what_another_package_has_loaded_under_that_name_is_not_taken(
    root: Path, tmp_path: Path, neighbour: str
) -> None:
    """Such as a stand-in, another version of its own, or a plugin that is called “mcp”."""
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("__version__ = '0'\n", encoding="utf-8")
    run(
        root,
        f"""
        import sys, types
        {neighbour}
        theirs = sys.modules["mcp"]
        from companion.libraries import guard, sdk
        assert sdk.Server.__module__.startswith("_qwen_companion_mcp.")
        assert sys.modules["mcp"] is theirs
        place = guard.places(RuntimeError())["mcp"]
        assert place and place[0] != sys.argv[1] + "/mcp", place
        """,
        tmp_path,
    )
