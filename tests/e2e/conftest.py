"""Fixtures of the end-to-end tests: real clients of the companion, each in its own process, with the headless editor.

A missing program is a failure, never a skip.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from . import gemini
from .chatting import Chatting, Room
from .clis import pinned
from .daemon import NEWEST_FIRST
from .editor import Editor
from .gemini import Gemini
from .qwen import Home, MissingError, Qwen, node, node_modules, pinned_command
from .session import GREET, CliSession, GeminiSession, Session

#: Files that take minutes. A process that got one of them last would go on alone when the others are done.
LONGEST = {f"test_{name}.py" for name in ("changes", "doors", "each_cli", "elsewhere", "run_command", "status", "why")}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the longest files begin first."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the CLI shows to the report of a failure."""
    report = yield
    if report.failed:
        for value in item.funcargs.values():
            if isinstance(value, CliSession):
                report.sections.append(("Screen of the CLI", value.cli.terminal.text()))
    return report


@pytest.fixture(scope="session")
def programs() -> None:
    """Fails with one sentence if Node or the CLI is missing."""
    try:
        pinned_command()
    except MissingError as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(scope="session")
def node_program() -> Path:
    """Node, with the MCP SDK installed beside it."""
    try:
        program = node()
    except MissingError as missing:
        pytest.fail(str(missing), pytrace=False)
    if not (node_modules() / "@modelcontextprotocol" / "sdk").is_dir():
        pytest.fail("The MCP SDK for Node is missing: scripts/setup installs it from tests/npm.", pytrace=False)
    return program


S = TypeVar("S", bound=CliSession[Any])


class Shared(Generic[S]):
    """A session for many tests. A new one replaces it if a test has left it unusable."""

    def __init__(self, start: Callable[[], S]) -> None:
        self._start = start
        self._current: S | None = None

    def get(self) -> S:
        if self._current is not None and not self._current.calm():
            self.close()
        if self._current is None:
            self._current = self._start()
        return self._current

    def close(self) -> None:
        if self._current is not None:
            self._current.close()
            self._current = None


@pytest.fixture(scope="module")
def _shared(programs: None) -> Iterator[Shared[Session]]:
    with closing(Shared(lambda: Session.begin(Qwen))) as shared:
        yield shared


@pytest.fixture
def session(_shared: Shared[Session]) -> Session:
    """The module's session with a Qwen Code."""
    return _shared.get()


@pytest.fixture
def own_session(programs: None) -> Iterator[Session]:
    """A session for a test that ends the editor or the CLI."""
    with closing(Session.begin(Qwen)) as session:
        yield session


@pytest.fixture(scope="session")
def gemini_program() -> None:
    """Fails with one sentence if Node or the Gemini CLI is missing."""
    try:
        pinned("gemini", gemini.NEWEST)
    except MissingError as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(scope="module")
def _shared_gemini(gemini_program: None) -> Iterator[Shared[GeminiSession]]:
    with closing(Shared(lambda: GeminiSession.begin(Gemini))) as shared:
        yield shared


@pytest.fixture
def gemini_session(_shared_gemini: Shared[GeminiSession]) -> GeminiSession:
    """The module's session with a Gemini CLI."""
    return _shared_gemini.get()


@pytest.fixture
def own_gemini_session(gemini_program: None) -> Iterator[GeminiSession]:
    """A session for a test that ends the editor or the CLI."""
    with closing(GeminiSession.begin(Gemini)) as session:
        yield session


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    """An editor without a CLI, for other clients."""
    with Home.make() as home:
        home.write("greet.py", GREET)
        home.write("other.txt", "one\ntwo\nthree\n")
        with Editor(home, [home.workspace]) as editor:
            editor.lock()
            yield editor


@pytest.fixture(scope="module", params=NEWEST_FIRST)
def room(programs: None, request: pytest.FixtureRequest) -> Iterator[Room]:
    """An editor whose chats use a running daemon."""
    with closing(Room(request.param)) as room:
        yield room


@pytest.fixture
def chat(room: Room) -> Iterator[Chatting]:
    """A window of its own with a new conversation."""
    with closing(room.new_window()) as chat:
        chat.wait_live()
        yield chat
