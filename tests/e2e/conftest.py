"""The end-to-end room: real clients of the companion, each in a process of its own, against the headless editor.

A missing program is a failure, never a skip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .editor import Editor
from .qwen import Home, MissingError, node, node_modules, pinned_command
from .session import GREET, Session


@pytest.fixture(scope="session")
def programs() -> None:
    """Fails with one sentence when Node or the CLI is missing."""
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


@pytest.fixture(scope="module")
def _shared(programs: None) -> Iterator[Callable[[], Session]]:
    current: Session | None = None

    def get() -> Session:
        nonlocal current
        if current is not None and not current.calm():
            current.close()
            current = None
        if current is None:
            current = Session.start()
        return current

    yield get
    if current is not None:
        current.close()


@pytest.fixture
def session(_shared: Callable[[], Session]) -> Session:
    """The module's session; a new one when a test before has left it in disorder."""
    return _shared()


@pytest.fixture
def own_session(programs: None) -> Iterator[Session]:
    """A session for a test that ends the editor or the CLI."""
    session = Session.start()
    yield session
    session.close()


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    """An editor without a CLI, for clients that are no CLI."""
    home = Home.make()
    home.write("greet.py", GREET)
    home.write("other.txt", "one\ntwo\nthree\n")
    try:
        editor = Editor(home, [home.workspace])
        try:
            editor.lock()
            yield editor
        finally:
            editor.kill()
    finally:
        home.remove()
