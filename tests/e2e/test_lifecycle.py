"""An editor that ends while a real Qwen Code is connected to it."""

from __future__ import annotations

from .cli import ESCAPE
from .session import GREET, GREET_BETTER, Session


def _assert_usable(session: Session) -> None:
    """Assert that the CLI accepts the next prompt, and writes a file after a "yes" in the terminal."""
    path = session.home.workspace / "afterwards.py"
    script = session.qwen.ask_to_write(path, GREET)
    session.qwen.wait_question()
    session.qwen.terminal.press("\r")
    session.qwen.wait_done(script)
    assert path.read_text(encoding="utf-8") == GREET


def test_the_cli_stays_usable_when_the_editor_quits_and_connects_again_after_a_restart(own_session: Session) -> None:
    """The open diff is answered as rejected before the server stops, and the discovery files are gone.

    The editor has the same port again, and `/ide enable` finds it.
    """
    session = own_session
    path = session.file("pending.py")
    port = session.editor.lock()["port"]
    session.qwen.ask_to_write(path, GREET_BETTER)
    session.editor.wait_diff(path)
    session.editor.quit()
    session.qwen.wait_idle()
    assert path.read_text(encoding="utf-8") == GREET
    assert session.editor.lock_files() == []
    assert not list(session.home.tmp.rglob("qwen-code-ide-server-*.json"))
    _assert_usable(session)
    session.restart()
    assert session.editor.lock()["port"] == port
    session.qwen.reconnect()
    script = session.qwen.ask_to_write(path, GREET_BETTER)
    session.editor.accept(session.editor.wait_diff(path))
    session.qwen.wait_done(script)
    assert path.read_text(encoding="utf-8") == GREET_BETTER


def test_a_new_editor_takes_over_after_a_crash(own_session: Session) -> None:
    """The leftovers of the crashed editor are cleared, and `/ide enable` finds the new one."""
    session = own_session
    path = session.file("crashed.py")
    session.qwen.ask_to_write(path, GREET_BETTER)
    session.editor.wait_diff(path)
    session.editor.crash()
    (left,) = session.editor.lock_files()
    # The editor no longer answers. The question stays in the terminal, where the person can answer it.
    session.qwen.wait_question()
    session.qwen.terminal.press(ESCAPE)
    session.qwen.wait_idle()
    session.restart()
    session.editor.wait(
        "cleared leftovers", lambda: left not in session.editor.lock_files() and session.editor.lock_files()
    )
    session.qwen.reconnect()
    script = session.qwen.ask_to_write(path, GREET_BETTER)
    session.editor.accept(session.editor.wait_diff(path))
    session.qwen.wait_done(script)
    assert path.read_text(encoding="utf-8") == GREET_BETTER
