"""Sockets, files and programs of the system, and the package itself."""

from __future__ import annotations

import os
import socket
import sys
import threading
import unicodedata
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

import sublime

from .editor_case import EditorCase, Steps, loaded, text_of, until

START = 120_000
"""Milliseconds in which the libraries are loaded, also on a busy machine."""
TEXT = "a text of the test\n"


class TestSystem(EditorCase):
    """What the system does, asked on another thread, since it may take its time."""

    def apart(self, look: Callable[[], Any]) -> Generator[Any, Any, Any]:
        """What `look` returns."""
        found: Future[Any] = Future()

        def work() -> None:
            try:
                found.set_result(look())
            except Exception as error:  # noqa: BLE001 - it is the test's
                found.set_exception(error)

        threading.Thread(target=work, name="real-editor", daemon=True).start()
        yield {"condition": found.done, "timeout": 30_000}
        return found.result()

    def test_a_duplicate_of_a_socket_serves_after_the_first_one_is_closed(self) -> Steps:
        def served() -> list[bytes]:
            with loaded("server.endpoint").listen() as first:
                port: int = first.getsockname()[1]
                before = socket.create_connection(("127.0.0.1", port), timeout=1)
                second = first.dup()
            with second, before, socket.create_connection(("127.0.0.1", port), timeout=1) as after:
                second.settimeout(1)
                return [_answer(second, client) for client in (before, after)]

        self.assertEqual((yield from self.apart(served)), [b"x", b"x"])

    def test_a_port_can_be_listened_at_again_at_once(self) -> Steps:
        def ports() -> tuple[int, int]:
            listen = loaded("server.endpoint").listen
            with listen() as first:
                port: int = first.getsockname()[1]
                with socket.create_connection(("127.0.0.1", port), timeout=1) as client:
                    first.settimeout(1)
                    # Who closes first keeps the port for a while, in the state TIME_WAIT.
                    first.accept()[0].close()
                    client.recv(1)
            with listen(port) as second:
                return port, second.getsockname()[1]

        before, after = yield from self.apart(ports)
        self.assertEqual(before, after)

    def test_a_file_that_is_open_can_be_replaced_and_its_view_follows(self) -> Steps:
        view = self.open("replaced.txt", "old\n")
        yield until(lambda: not view.is_loading(), "it did not load")
        path = view.file_name() or ""
        before = os.stat(path).st_ino

        def replace() -> str:
            files = loaded("platforms.files")
            with open(path, encoding="utf-8"), files.place(files.resolved(path)) as at:
                at.replace(TEXT.encode())
            return "in place" if os.stat(path).st_ino == before else "by a new file"

        print(f"it was written {(yield from self.apart(replace))}")
        yield until(lambda: text_of(view) == TEXT, "the view has the old text")

    def test_a_folder_has_one_spelling(self) -> Steps:
        made = os.path.join(self.folder, "Spelling é")
        others = {"case": os.path.join(self.folder, "SPELLING é"), "NFD": unicodedata.normalize("NFD", made)}

        def spellings() -> dict[str, str]:
            os.mkdir(made)
            found = {name: path for name, path in others.items() if os.path.isdir(path)}
            spelled = {name: loaded("platforms.paths").own_spelling(path) for name, path in found.items()}
            own = loaded("platforms.paths").own_spelling(made)
            real = [name for name, path in found.items() if os.path.realpath(path) != os.path.realpath(made)]
            print(f"names that differ in {list(found)} are one; realpath keeps {real} apart")
            return {name: path for name, path in spelled.items() if path != own}

        self.assertEqual((yield from self.apart(spellings)), {})

    def test_the_login_shell_tells_its_path(self) -> Steps:
        def environment() -> dict[str, str]:
            return loaded("clis.environment").read_login_environment()

        login = yield from self.apart(environment)
        self.assertTrue(login.get("PATH"))
        if sys.platform != "win32":
            own = os.environ.get("PATH", "").split(os.pathsep)
            print(f"only in that of the shell: {sorted(set(login['PATH'].split(os.pathsep)) - set(own))}")
        resolve = loaded("platforms.programs").resolve
        for name in ("node", *(family.launch.key for family in loaded("clis.families").FAMILIES)):
            print(f"{name}: {resolve([name], login) or 'not found'}")

    def test_there_is_a_program_for_notifications(self) -> Steps:
        name = loaded("sublime_text.messenger").notification(sublime.platform(), "")[0][0]
        found = yield from self.apart(lambda: loaded("platforms.programs").find(name, os.environ))
        if found is None:
            self.skipTest(f"{name} was not found: nothing is shown while the editor is behind other windows")


class TestPackage(EditorCase):
    """The package in this editor."""

    def test_the_libraries_are_there_and_the_companion_runs(self) -> Steps:
        answers: list[object] = []
        loaded("sublime_text.package").adapter().ask(lambda companion: companion, answers.append)
        yield {"condition": lambda: answers, "timeout": START, "timeout_message": "it did not answer"}


def _answer(listener: socket.socket, client: socket.socket) -> bytes:
    connection, _ = listener.accept()
    with connection:
        connection.sendall(b"x")
    client.settimeout(1)
    return client.recv(1)
