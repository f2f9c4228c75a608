"""Packages whose `__init__` waits. Each test runs in a process of its own, since modules stay imported."""

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


@pytest.mark.parametrize("package", ["mcp", "mcp.server"])
@pytest.mark.parametrize("order", ["names", "star", "module first"])
def test_every_public_name_of_the_sdk_can_be_imported_behind_it(root: Path, package: str, order: str) -> None:
    program = f"""
        import importlib, sys
        from companion.libraries.lazy import put_off
        put_off()
        import mcp.server.lowlevel, mcp.server.streamable_http_manager
        assert "cryptography" not in sys.modules and "mcp.client" not in sys.modules
        if {order!r} == "names":
            exec("from {package} import __all__ as names")
            for name in names:
                exec(f"from {package} import {{name}}")
        elif {order!r} == "star":
            exec("from {package} import *")
            names = __import__("sys").modules[{package!r}].__all__
        else:
            module = importlib.import_module({package!r})
            names = [name for name in dir(module) if not name.startswith("_")]
            assert all(getattr(module, name) is not None for name in names)
        module = sys.modules[{package!r}]
        assert type(module) is type(sys) and len(names) >= 6
        print(module.__name__, module.__file__, sorted(module.__all__))
    """
    plain = f"""
        import {package} as module
        print(module.__name__, module.__file__, sorted(module.__all__))
    """
    assert run(root, program) == run(root, plain)


def test_a_package_that_is_imported_already_is_left_as_it_is(root: Path) -> None:
    run(
        root,
        """
        import sys, mcp
        was = dict(sys.modules)
        from companion.libraries.lazy import put_off
        put_off()
        assert all(sys.modules[name] is module for name, module in was.items())
        assert type(mcp) is type(sys) and type(mcp.server) is type(sys)
        """,
    )


def test_it_outlives_the_package_that_put_it_off(root: Path) -> None:
    """A reload or the removal of this package changes nothing for another plugin."""
    run(
        root,
        """
        import gc, sys
        from companion.libraries.lazy import put_off
        put_off()
        mcp = sys.modules["mcp"]
        for name in [name for name in sys.modules if name.startswith("companion")]:
            del sys.modules[name]
        del put_off
        gc.collect()
        from companion.libraries.lazy import put_off as again  # the next instance
        again()
        assert sys.modules["mcp"] is mcp
        for name in [name for name in sys.modules if name.startswith("companion")]:
            del sys.modules[name]
        del again
        sys.path = [path for path in sys.path if path]
        gc.collect()
        from mcp import ClientSession
        from mcp.server import MCPServer
        assert ClientSession.__module__ == "mcp.client.session" and MCPServer
        """,
    )


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    """A package `big`, which counts how often it is run, and its child `big.part`."""
    for folder, text in {
        "big": "import builtins\nbuiltins.runs = getattr(builtins, 'runs', 0) + 1\nNAME = 1\n__all__ = ['NAME']\n",
        "big/part": "OTHER = 2\n",
        "broken": "import builtins\nbuiltins.runs = getattr(builtins, 'runs', 0) + 1\nraise ValueError('broken')\n",
    }.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text(text, encoding="utf-8")
    (tmp_path / "big/leaf.py").write_text("LEAF = 3\n", encoding="utf-8")
    return tmp_path


def test_a_package_waits_while_its_modules_are_imported_and_while_tools_look_at_it(root: Path, libraries: Path) -> None:
    run(
        root,
        """
        import builtins, inspect, sys
        sys.path.append(sys.argv[1])
        from companion.libraries.lazy import put_off
        put_off(("big", "big.part"))
        import big.leaf
        assert big.leaf.LEAF == 3
        for name in ("__wrapped__", "__warningregistry__", "__class_getitem__"):
            assert not hasattr(big, name)
        inspect.getmodule(run := lambda: 0)
        assert repr(big).startswith("<module 'big' from")
        assert not hasattr(builtins, "runs")
        assert big.NAME == 1 and big.part.OTHER == 2
        assert not hasattr(big, "NOTHING")
        assert builtins.runs == 1
        """,
        libraries,
    )


def test_many_threads_that_ask_at_once_run_it_once(root: Path, libraries: Path) -> None:
    run(
        root,
        """
        import builtins, sys, threading
        sys.path.append(sys.argv[1])
        from companion.libraries.lazy import put_off
        put_off(("big",))
        import big
        sys.setswitchinterval(1e-4)
        told = []
        threads = [threading.Thread(target=lambda: told.append(big.NAME)) for _ in range(20)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert told == [1] * 20 and builtins.runs == 1
        """,
        libraries,
    )


def test_everybody_hears_of_a_package_that_is_broken(root: Path, libraries: Path) -> None:
    run(
        root,
        """
        import builtins, sys
        sys.path.append(sys.argv[1])
        from companion.libraries.lazy import put_off, take_back
        put_off(("broken",))
        import broken
        for _ in range(2):
            try:
                broken.NAME
            except ValueError as error:
                assert str(error) == "broken"
            else:
                raise AssertionError
        assert builtins.runs == 2
        take_back(("broken",))
        assert "broken" not in sys.modules
        """,
        libraries,
    )


def test_a_package_that_is_missing_is_for_its_importer_to_complain_about(root: Path) -> None:
    run(
        root,
        """
        import sys
        from companion.libraries.lazy import put_off, take_back
        put_off(("nothing_of_this_name", "nothing_of_this_name.part"))
        assert "nothing_of_this_name" not in sys.modules
        take_back(("nothing_of_this_name",))
        try:
            import nothing_of_this_name
        except ModuleNotFoundError:
            pass
        """,
    )


def test_the_models_of_the_sdk_are_built_when_they_are_used(root: Path) -> None:
    run(
        root,
        """
        from companion.libraries.lazy import models_later, put_off
        put_off()
        with models_later():
            import mcp.server.streamable_http_manager
        from pydantic import BaseModel
        from mcp_types import Implementation
        assert Implementation.__pydantic_complete__ is False
        assert Implementation.model_validate({"name": "a", "version": "1"}).name == "a"
        assert Implementation.__pydantic_complete__ is True
        assert "defer_build" not in BaseModel.model_config

        class Mine(BaseModel):
            number: int

        assert Mine.__pydantic_complete__ is True
        """,
    )
