"""The process: JSON lines in and out, the console, and the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = """
import os, sys, threading, time, sublime, sublime_plugin
class L(sublime_plugin.EventListener):
    def on_exit(self):
        open(os.environ["EXIT_FILE"], "w").write("left")
def plugin_loaded():
    print("hello from", __package__)
    os.write(1, b"not JSON at all\\n")
    threading.Thread(target=time.sleep, args=(60,)).start()
class BlockCommand(sublime_plugin.WindowCommand):
    def run(self): time.sleep(0.2)
"""


class Driver:
    def __init__(self, tmp_path: Path) -> None:
        package = tmp_path / "Sample"
        package.mkdir()
        (package / "plugin.py").write_text(PLUGIN)
        self.exit_file = tmp_path / "left"
        environment = {
            **os.environ,
            "HOME": str(tmp_path / "home"),
            "PYTHONPATH": str(ROOT),
            "EXIT_FILE": str(self.exit_file),
        }
        environment["APPDATA"] = environment["LOCALAPPDATA"] = str(tmp_path / "home")
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headless", "--folder", str(tmp_path), "--package", str(package)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=environment,
            cwd=tmp_path,
        )
        self.events: list[dict[str, Any]] = []
        self._id = 0
        self.ready = self.wait_for(lambda m: m.get("event") == "ready")

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if wanted(message):
                return message
            self.events.append(message)
        raise AssertionError("the editor has ended")

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, do: str, **arguments: Any) -> Any:
        self._id += 1
        self.send(json.dumps({"id": self._id, "do": do, **arguments}))
        answer = self.wait_for(lambda m: m.get("id") == self._id)
        if not answer["ok"]:
            raise LookupError(answer["error"])
        return answer["result"]


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    started = Driver(tmp_path)
    with started.process:
        yield started
        started.process.kill()


def test_the_editor_is_driven_by_requests(driver: Driver, tmp_path: Path):
    (window,) = driver.ready["windows"]
    assert window["folders"] == [str(tmp_path)]
    assert any(event.get("text") == "hello from Sample" for event in driver.events)
    file = tmp_path / "ä.txt"
    file.write_bytes(b"one\r\n")
    view = driver.ask("open_file", path=str(file))["view"]
    driver.ask("select", view=view, regions=[[0, 3]])
    driver.ask("insert", view=view, text="zwölf")
    told = driver.ask("state", text=True)["windows"][0]["views"][-1]
    assert (told["text"], told["dirty"], told["selection"], told["file"]) == ("zwölf\n", True, [[5, 5]], str(file))
    driver.ask("save", view=view)
    assert file.read_bytes() == "zwölf\r\n".encode()
    second = driver.ask("new_window", folders=[])["window"]
    driver.ask("set_folders", window=second, folders=["/a"])
    assert [w["folders"] for w in driver.ask("state")["windows"]] == [[str(tmp_path)], ["/a"]]
    driver.ask("close_window", window=second)
    driver.ask("close_view", view=view)
    (untitled,) = driver.ask("state")["windows"][0]["views"]
    assert (untitled["file"], untitled["size"]) == (None, 0)


def test_nonsense_gets_an_error_and_the_loop_goes_on(driver: Driver):
    driver.send("nonsense")
    assert driver.wait_for(lambda m: m.get("ok") is False)["id"] is None
    for wrong in ({"do": "fly"}, {"do": "focus", "view": 99}, {"do": "open_file"}, {"do": "_view"}, {"do": "handle"}):
        with pytest.raises(LookupError):
            driver.ask(**wrong)
    assert driver.ask("state")["windows"]


def test_a_blocked_ui_thread_is_measured(driver: Driver):
    driver.ask("stall", reset=True)
    assert driver.ask("stall")["stall_ms"] < 150
    driver.ask("command", name="block")
    assert driver.ask("stall", reset=True)["stall_ms"] >= 200
    assert driver.ask("stall")["stall_ms"] < 150


@pytest.mark.parametrize(
    "how",
    ["quit", "eof", pytest.param("sigterm", marks=pytest.mark.skipif(sys.platform == "win32", reason="no signals"))],
)
def test_every_way_out_calls_on_exit_and_ends_soon(driver: Driver, how: str):
    assert driver.process.stdin is not None
    if how == "quit":
        driver.ask("quit")
    elif how == "eof":
        driver.process.stdin.close()
    else:
        driver.process.send_signal(signal.SIGTERM)
    assert driver.process.wait(60) == 0
    assert driver.exit_file.read_text() == "left"


def test_a_picture_of_a_window_stands_by_itself(driver: Driver, tmp_path: Path):
    file = tmp_path / "a.py"
    file.write_text('def f():\n    return "<text>"\n')
    driver.ask("open_file", path=str(file))
    for scheme in ("dark", "light"):
        target = tmp_path / f"{scheme}.html"
        driver.ask("render", path=str(target), scheme=scheme)
        page = target.read_text(encoding="utf-8")
        assert "a.py" in page
        assert "&lt;text&gt;" in page
        assert "<script" not in page
        assert "http" not in page
        assert {"dark": "#303841", "light": "#fbffff"}[scheme] in page
