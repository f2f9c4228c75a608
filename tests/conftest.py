from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# No deadline, since a busy machine is slow. Derandomized, so that every run tries the same examples.
# "fast", for `scripts/test --fast` and `--without-clis`, tries fewer.
hypothesis.settings.register_profile("tests", deadline=None, derandomize=True)
hypothesis.settings.register_profile("fast", deadline=None, derandomize=True, max_examples=15)
hypothesis.settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    with contextlib.suppress(ValueError):  # headless/tests may have added it
        parser.addoption("--all", action="store_true", help="run the long tests too")
    parser.addoption("--record-agents", action="store_true", help="keep what the agents of tests/agents can do")
    parser.addoption("--without-fast-path", action="store_true", help="let the SDK answer every request of a CLI")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--without-fast-path"):
        from companion.server.http import app  # noqa: PLC0415 - most tests need no server

        app.FAST = False  # pyright: ignore[reportConstantRedefinition]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--without-fast-path"):
        for item in items:
            if item.get_closest_marker("fast_path"):
                item.add_marker(pytest.mark.skip("it is about the fast path itself"))
    if config.getoption("--all"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a report name a file that isn't UTF-8: xdist sends reports as UTF-8, and would end with all tests."""
    report = yield
    report.sections = [(name, _sendable(text)) for name, text in report.sections]
    if report.longrepr and (shown := str(report.longrepr)) != _sendable(shown):
        report.longrepr = _sendable(shown)
    return report


def _sendable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine on a loop of its own, inside the async contexts that its fixtures are."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    from .agent_talk import run  # noqa: PLC0415 - most tests need no loop

    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    run(_inside(given, pyfuncitem.obj))
    return True


async def _inside(given: dict[str, Any], test: Callable[..., Awaitable[None]]) -> None:
    async with contextlib.AsyncExitStack() as contexts:
        for name, value in given.items():
            if isinstance(value, contextlib.AbstractAsyncContextManager):
                given[name] = await contexts.enter_async_context(value)
        await test(**given)


@pytest.fixture(autouse=True)
def valid_messages(request: pytest.FixtureRequest) -> Iterator[None]:
    """What our client sends to an agent is valid by the schema of the protocol, in every test."""
    module = sys.modules.get("companion.backends.acp.peer")
    if module is None:
        yield
        return
    from .valid_messages import watched  # noqa: PLC0415 - most tests need no schema

    is_recorded = bool(request.config.getoption("--record-agents"))
    with watched(module.Peer, keeps_shapes=is_recorded) as found:
        yield
    if is_recorded:
        request.node.user_properties.append(("wire", sorted(found.shapes)))
    assert found.problems == []


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the package."""
    return Path(__file__).resolve().parents[1]
