"""A program with two packages in the editor of headless/: this one, and a neighbour that uses the same libraries.

`neighbour.py FOLDER first|meanwhile|settings` prints as JSON what went wrong for the neighbour: errors, and what is
different in the process. With `first` the neighbour has imported all libraries before this package comes, with
`meanwhile` it imports them on several threads while this package loads, and with `settings` it changes its mind about
the garbage collector meanwhile.
"""

from __future__ import annotations

import asyncio
import decimal
import faulthandler
import gc
import http.client
import importlib
import json
import locale
import logging
import multiprocessing
import os
import random
import signal
import socket
import ssl
import sys
import textwrap
import threading
import time
import tracemalloc
import typing
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from headless import modules

modules.install()

from headless.app import Application

LIMIT = 120.0
OURS = ("QwenCompanion", "_qwen_companion_")
LIBRARIES = (
    *("anyio", "annotated_types", "click", "h11", "httpcore2", "httpx2", "idna", "mcp", "mcp_types", "opentelemetry"),
    *("psutil", "pydantic", "pydantic_core", "python_multipart", "sse_starlette", "starlette", "truststore"),
    *("typing_extensions", "typing_inspection", "uvicorn", "wsproto"),
)
NAMES = {
    "mcp": [
        "from mcp import ClientSession", "from mcp.server import MCPServer", "import mcp.client.session",
        "import uvicorn", "from uvicorn.protocols.http.h11_impl import H11Protocol", "import h11, psutil",
    ],
    "pydantic": ["import pydantic", "from pydantic import BaseModel, TypeAdapter", "import pydantic_core"],
    "starlette": ["from starlette.applications import Starlette", "import anyio", "import sse_starlette"],
}  # fmt: skip
"""What the neighbour imports on a thread each.

The SDK imports uvicorn as well: on two threads of the neighbour's own, Python finds a deadlock without this package.
"""
NEIGHBOUR = """
import gc, logging, threading, typing

errors, models, alias = [], [], typing.List[int]
heard = []

class Handler(logging.Handler):
    def emit(self, record):
        heard.append(record.getMessage())

def only(record):
    return True

def plugin_loaded():
    for name, level in {"mcp": logging.INFO, "uvicorn": logging.ERROR, "uvicorn.access": logging.DEBUG}.items():
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.addHandler(Handler())
        logger.addFilter(only)
    logging.getLogger("mcp.server").propagate = False
    gc.callbacks.append(lambda phase, info: None)
    gc.set_threshold(650, 9, 8)

def imports(statements):
    try:
        for statement in statements:
            exec(statement, {})
    except BaseException as error:
        errors.append(f"{statements}: {error!r}")

def defines():
    import pydantic
    for number in range(40):
        model = pydantic.create_model(f"Model{number}", here=(int, number), next_one=(str, ""))
        if not model.__pydantic_complete__ or dict(model.model_config):
            errors.append(f"{model}: {model.model_config}, {model.__pydantic_complete__}")
        models.append(model)

def threads(names):
    started = [threading.Thread(target=imports, args=(each,)) for each in names.values()]
    started.append(threading.Thread(target=lambda: (imports(names["pydantic"]), defines())))
    for thread in started:
        thread.start()
    return started
"""


def classes() -> dict[str, dict[str, int]]:
    """The attributes of each class of the libraries and of what of Python they might change, but for caches."""
    tops = {*LIBRARIES, "logging", "threading", "asyncio", "socket", "ssl", "json", "http", "selectors", "typing"}
    found: dict[str, dict[str, int]] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in tops or ("." in name and name.startswith("pydantic.")):
            continue
        for called, each in list(vars(module).items()):
            if isinstance(each, type) and str(each.__module__).partition(".")[0] in tops:
                own = {key: id(value) for key, value in vars(each).items() if not key.startswith(("__", "_abc"))}
                found[f"{name}.{called}"] = own
    return found


def loggers() -> dict[str, object]:
    """The state of each logger that is not ours and not as it was made."""
    found: dict[str, object] = {}
    for name, logger in {**logging.root.manager.loggerDict, "root": logging.root}.items():
        if isinstance(logger, logging.Logger) and not name.startswith(OURS):
            handlers = [id(each) for each in logger.handlers if not isinstance(each, logging.NullHandler)]
            state = (logger.level, logger.propagate, logger.disabled, handlers, list(map(id, logger.filters)))
            if state != (0, True, False, [], []):
                found[name] = state
    return found


def settings() -> dict[str, Any]:
    """What belongs to the whole process, by name: as plain values."""
    umask = os.umask(0)
    os.umask(umask)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        policy = type(asyncio.get_event_loop_policy())
    return {
        "gc": (gc.isenabled(), gc.get_threshold(), list(map(id, gc.callbacks)), gc.get_debug(), gc.get_freeze_count()),
        "loggers": loggers(),
        "logging": (logging.raiseExceptions, logging.root.manager.disable, logging.getLoggerClass()),
        "level names": [logging.getLevelName(level) for level in range(60)],
        "record factory": logging.getLogRecordFactory(),
        "sys.path": list(sys.path),
        "sys.meta_path": list(map(id, sys.meta_path)),
        "sys.path_hooks": list(map(id, sys.path_hooks)),
        "hooks": (sys.excepthook, sys.unraisablehook, sys.displayhook, sys.breakpointhook, threading.excepthook),
        "traces": (sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile()),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval(), threading.stack_size()),
        "warnings": (list(map(str, warnings.filters)), warnings.showwarning),
        "signals": [signal.getsignal(each) for each in signal.valid_signals()],
        "asyncio": policy,
        "socket": (socket.getdefaulttimeout(), socket.socket, ssl.SSLContext, ssl.create_default_context),
        "locale": locale.setlocale(locale.LC_ALL),
        "decimal": (repr(decimal.getcontext()), repr(decimal.DefaultContext)),
        "multiprocessing": multiprocessing.get_start_method(allow_none=True),
        "random": random.getstate(),
        "folder": (os.getcwd(), umask),
        "time": (time.tzname, faulthandler.is_enabled(), tracemalloc.is_tracing()),
        "environment": {name: value for name, value in os.environ.items() if "IDE" not in name},
        "builtins": {name: id(value) for name, value in vars(__builtins__).items() if name != "_"},
    }


def different(then: dict[str, Any], now: dict[str, Any], when: str) -> list[str]:
    return [f"{when}: {name} was {then[name]}, is {now.get(name)}" for name in then if then[name] != now.get(name)]


class Process:
    """An editor with the neighbour in it."""

    def __init__(self, folder: Path) -> None:
        self.app = Application()
        self.app.new_window([str(folder)])
        package = folder / "Neighbour"
        package.mkdir()
        (package / "plugin.py").write_text(textwrap.dedent(NEIGHBOUR), encoding="utf-8")
        self.app.loader.add(str(package), "Neighbour")
        self.neighbour: Any = importlib.import_module("Neighbour.plugin")
        self.app.start()

    def wait(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError
            self.app.loop.turn(0.005)

    def published(self) -> list[Path]:
        return list((Path.home() / ".qwen/ide").glob("*.lock"))

    def converse(self) -> None:
        """Use this package as a CLI does, also with a request that is none."""
        self.wait(self.published)
        found = json.loads(self.published()[0].read_text(encoding="utf-8"))
        talk = threading.Thread(target=_talk, args=(found["port"], found["authToken"]))
        talk.start()
        self.wait(lambda: not talk.is_alive())


def _talk(port: int, token: str) -> None:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    headers = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    connection.request("POST", "/mcp", json.dumps(message), headers | {"content-type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as one:
        one.sendall(b"no request\r\n\r\n")
        assert b"400" in one.recv(1000)


def main(folder: Path, way: str) -> list[str]:
    process = Process(folder)
    neighbour = process.neighbour
    for module in (*LIBRARIES[:-1], "uvicorn.protocols.http.h11_impl") if way == "first" else ():
        importlib.import_module(module)
    os.environ["QWEN_CODE_IDE_SERVER_PORT"] = "1"
    variables = dict(os.environ)
    before, shapes, there = settings(), classes(), dict(sys.modules)
    process.app.loader.add(str(ROOT), "QwenCompanion")
    threads: list[threading.Thread] = []
    if way == "meanwhile":
        process.wait(lambda: any("mcp." in name for name in list(sys.modules)))
        threads = neighbour.threads(NAMES)
    if way == "settings":
        process.wait(lambda: gc.get_threshold() != before["gc"][1])
        gc.disable()
        gc.set_threshold(321, 7, 6)
        before["gc"] = (False, (321, 7, 6), *before["gc"][2:])
    process.converse()
    process.wait(lambda: not any(thread.is_alive() for thread in threads))
    wrong = list(neighbour.errors)
    wrong += different(before, settings(), "while it runs")
    process.app.loader.remove("QwenCompanion")
    process.wait(lambda: not any(thread.name == "qwen-companion" for thread in threading.enumerate()))
    wrong += different(before, settings(), "after it")
    wrong += different(variables, dict(os.environ), "after it")
    wrong += [f"{name} is set" for name in os.environ.keys() - variables]
    wrong += [f"{name} is another module" for name, module in there.items() if sys.modules.get(name) is not module]
    new = {name.partition(".")[0] for name in set(sys.modules) - set(there)}
    allowed = {*LIBRARIES, *sys.stdlib_module_names, "Neighbour", "headless"}
    if way == "meanwhile":
        neighbour.defines()
        wrong += neighbour.errors
    else:
        wrong += different(shapes, classes(), "after it")
        wrong += [f"{name} was imported" for name in new - allowed if not name.startswith((*OURS, "_sysconfig"))]
    if way == "settings":
        wrong += [f"{name} was imported" for name in sys.modules if name.partition(".")[0] == "mcp"]
    if neighbour.alias is not typing.List[int]:  # noqa: UP006 - it is cached, and that is what is looked at
        wrong.append("typing's caches were cleared")
    wrong += [f"heard of ours: {text}" for text in neighbour.heard]
    return wrong


if __name__ == "__main__":
    output, sys.stdout = sys.stdout, sys.stderr
    found = main(Path(sys.argv[1]), sys.argv[2])
    print(json.dumps(found), file=output, flush=True)
    os._exit(0)
