"""An agent's terminals: commands that it has the editor run, each in a process group of its own.

Output is kept up to a limit, from its end, without colours. A cancel kills what runs.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ...json_text import as_text
from ...platforms import programs
from ..children import end_group
from ..wire import objects, texts
from . import decoder, extensions
from .decoder import Printed
from .errors import INTERNAL_ERROR, INVALID_PARAMS, RequestError
from .process import Child, Printing, resume_child, signal_name, start_child
from .tool_calls import is_over

if TYPE_CHECKING:
    from .client import AcpAgent

NEWS_DELAY = 0.1
"""Seconds within which what a terminal prints is shown at once."""

_IS_OVER = "isOver"
"""What we add to a tool call that has ended."""


MAX_OUTPUT = 1024 * 1024
"""Bytes of output that are kept at most, whatever an agent asks for."""
MAX_TERMINALS = 32
"""Terminals at once."""
MAX_OWN = 200
"""Terminals that an agent runs itself whose output is remembered."""


class AgentTerminal:
    """A command that runs or has run. `on_output` is called when it has printed something or has ended."""

    def __init__(self, process: Child, printing: Printing, on_output: Callable[[], object]) -> None:
        self.is_running = True
        """Whether it, or something that it has started, may still print."""
        self._process = process
        self._printing = printing
        self._on_output = on_output
        self._reading = asyncio.create_task(self._read())

    @property
    def printed(self) -> Printed:
        """What it has printed."""
        return Printed(self._printing.text, self._printing.is_cut, self.is_running)

    @property
    def status(self) -> dict[str, Any] | None:
        """How it has ended, as the protocol has it; None while it runs."""
        code = self._process.returncode
        if code is None:
            return None
        is_signal = code < 0
        return {"exitCode": None if is_signal else code, "signal": signal_name(code) if is_signal else None}

    async def wait(self) -> dict[str, Any]:
        """Wait until it has ended, and all its output is there. What it has left behind may print on."""
        await self._process.wait()
        await self._process.output.settled()
        return self.status or {"exitCode": None, "signal": None}

    async def kill(self) -> None:
        """End it and what it has started."""
        if self.is_running:
            await asyncio.to_thread(end_group, self._process.pid, self._process.started, 0)
        await self.wait()
        # Something that has left the group may keep the pipe open.
        self._process.output.close()
        await asyncio.wait([self._reading])

    async def close(self) -> None:
        """End it, and read no more."""
        await self.kill()
        self._reading.cancel()
        await asyncio.wait([self._reading])
        self.is_running = False
        self._process.close()

    async def hand_over(self) -> dict[str, Any] | None:
        """Let go of it, running as it is. Returns what `take_over` needs; None if that is impossible."""
        self._reading.cancel()
        await asyncio.wait([self._reading])
        if (left := await self._process.hand_over()) is None:
            return None
        unread, errors = left["unread"]
        return {
            "child": {**left, "unread": (self._printing.half + unread, errors)},
            "printing": self._printing.hand_over(),
        }

    async def _read(self) -> None:
        while data := await self._process.output.read():
            self._printing.add(data)
            self._on_output()
        self._printing.end()
        await self._process.wait()
        self.is_running = False
        self._on_output()


class Terminals:
    """The terminals of one chat, and the tool calls that show them."""

    def __init__(self, agent: AcpAgent) -> None:
        self._agent = agent
        self._numbers = itertools.count(1)
        self._open: dict[str, AgentTerminal] = {}
        self._starting = 0
        """How many are being made."""
        self._released: dict[str, Printed] = {}
        self._own: dict[str, Printed] = {}
        """What those have printed that the agent runs itself: the end of each."""
        self.shown_in: dict[str, dict[str, Any]] = {}
        """By terminal: the id and the content of the tool call that shows it."""
        self._fresh: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def create(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `terminal/create`.

        Raises:
            RequestError: it can't be run.
        """
        command, folder = params.get("command"), params.get("cwd") or self._agent.folder
        if not isinstance(command, str) or not command:
            raise RequestError(INVALID_PARAMS, "there is no command")
        if not isinstance(folder, str) or not os.path.isabs(folder):
            raise RequestError(INVALID_PARAMS, "the folder of a terminal must be absolute")
        if len(self._open) + self._starting >= MAX_TERMINALS:
            raise RequestError(INTERNAL_ERROR, "there are too many terminals")
        arguments = list(texts(params.get("args")))
        limit = params.get("outputByteLimit")
        kept = min(limit, MAX_OUTPUT) if type(limit) is int and limit >= 0 else MAX_OUTPUT
        name = f"terminal-{next(self._numbers)}"
        environment = {**self._agent.environment, **_variables(params.get("env"))}
        self._starting += 1
        try:
            # A path is one in the terminal's folder, and a name is one on the PATH.
            named = os.path.join(folder, command) if os.path.dirname(command) else command
            found = await asyncio.to_thread(programs.resolve, [named, *arguments], environment)
            # Some agents give a line for a shell where the protocol has a program and its arguments.
            if found is None and (arguments or "args" in params):
                is_there = await asyncio.to_thread(os.path.isdir, folder)
                why = os.strerror(errno.ENOENT) if is_there else f"there is no folder {folder}"
                raise FileNotFoundError(errno.ENOENT, why)
            process = await start_child(found or command, folder, environment, is_written_to=False)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise RequestError(INTERNAL_ERROR, f"{command[:200]} can't be run: {why}") from None
        finally:
            self._starting -= 1
        self._open[name] = AgentTerminal(process, Printing(kept), partial(self.show_soon, name))
        return {"terminalId": name}

    def printed(self, name: str) -> Printed | None:
        """What a terminal has printed, ours or the agent's, even if it is released; None if there is none."""
        terminal = self._open.get(name)
        return terminal.printed if terminal else self._released.get(name) or self._own.get(name)

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """Answer the other requests: `terminal/output`, `wait_for_exit`, `kill` and `release`.

        Raises:
            RequestError: there is no such terminal.
        """
        name = as_text(params.get("terminalId"))
        terminal = self._open.get(name)
        if terminal is None:
            raise RequestError(INVALID_PARAMS, "there is no such terminal")
        match method:
            case "terminal/output":
                output, is_cut, _ = terminal.printed
                return {"output": output, "truncated": is_cut, "exitStatus": terminal.status}
            case "terminal/wait_for_exit":
                return await terminal.wait()
            case "terminal/kill":
                await terminal.kill()
            case _:
                await self._release(name, terminal)
        return {}

    async def _release(self, name: str, terminal: AgentTerminal) -> None:
        del self._open[name]
        self._released[name] = terminal.printed  # the agent may show it before it has ended
        await terminal.close()
        self._released[name] = terminal.printed
        for old in list(self._released)[:-MAX_TERMINALS]:
            del self._released[old]
        self.show_soon(name)

    def note_own(self, update: Mapping[str, Any]) -> bool:
        """Take in what an update of a tool call says of a terminal of the agent's own; False if it says nothing."""
        if (news := extensions.terminal_news(update)) is None:
            return False
        known = self._own.pop(news.terminal, Printed("", is_cut=False, is_running=True))
        text = known.text + news.text
        is_cut = known.is_cut or len(text) > decoder.MAX_SHOWN
        is_running = known.is_running and not news.has_ended
        self._own[news.terminal] = Printed(text[-decoder.MAX_SHOWN :], is_cut, is_running)
        while len(self._own) > MAX_OWN:
            del self._own[next(iter(self._own))]
        return True

    # Where they are shown

    def noted(self, update: Mapping[str, Any]) -> None:
        """An update may be of a tool call that shows terminals, or no longer does, or is over."""
        call, shown = update.get("toolCallId"), decoder.terminals(update)
        if "content" in update:
            # The content that the agent has put in the place of a terminal stays.
            for terminal in [each for each, by in self.shown_in.items() if by.get("toolCallId") == call]:
                if terminal not in shown:
                    self._forget(terminal)
        for terminal in shown:
            self.shown_in[terminal] = {"toolCallId": call, "content": update.get("content")}
        if is_over(update):
            for by in self.shown_in.values():
                if by.get("toolCallId") == call:
                    by[_IS_OVER] = True
            self._prune()

    def show_soon(self, terminal: str) -> None:
        """A terminal has printed something, or has ended."""
        if terminal in self.shown_in:
            self._fresh.add(terminal)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(NEWS_DELAY, self.show)

    def show(self) -> None:
        """Show now what was printed."""
        self._stop_timer()
        fresh, self._fresh = self._fresh, set()
        for terminal in fresh:
            self._agent.stream.publish(decoder.decode_printed(self.shown_in[terminal], self.printed))
        self._prune()

    def _prune(self) -> None:
        """Forget the terminals that have ended and are shown by calls that are over."""
        for terminal, by in list(self.shown_in.items()):
            if by.get(_IS_OVER) and terminal not in self._fresh:
                printed = self.printed(terminal)
                if printed is None or not printed.is_running:
                    self._forget(terminal)

    def _forget(self, terminal: str) -> None:
        del self.shown_in[terminal]
        self._fresh.discard(terminal)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    # A reload, and the end

    async def hand_over(self) -> dict[str, Any] | None:
        """Let go of all, running as they are. Returns what `take_over` needs; None if one can't be left."""
        self.show()
        left = {name: await terminal.hand_over() for name, terminal in self._open.items()}
        if not all(left.values()):
            return None
        self._open = {}
        return {
            "open": left,
            "released": self._released,
            "own": self._own,
            "next": next(self._numbers),
            "shown_in": self.shown_in,
        }

    async def take_over(self, left: Mapping[str, Any]) -> None:
        """Take what `hand_over` has left."""
        self._numbers = itertools.count(left["next"])
        self.shown_in.update(left["shown_in"])
        # An older version has kept what the agent's own had printed for itself.
        self._released, self._own = (
            {name: Printed(*printed) for name, printed in left.get(some, {}).items()} for some in ("released", "own")
        )
        for name, one in left["open"].items():
            process = await resume_child(one["child"])
            self._open[name] = AgentTerminal(process, Printing(**one["printing"]), partial(self.show_soon, name))

    async def stop(self, name: str) -> bool:
        """End what runs in a terminal. Returns False if nothing does; the agent is told how it has ended."""
        found = self._open.get(name)
        if found is None or not found.is_running:
            return False
        await found.kill()
        return True

    async def kill_all(self) -> None:
        """End what runs; the output stays."""
        await asyncio.gather(*(terminal.kill() for terminal in self._open.values()))

    async def close(self) -> None:
        """End everything, and show nothing more."""
        self._stop_timer()
        terminals, self._open = list(self._open.values()), {}
        await asyncio.gather(*(terminal.close() for terminal in terminals))


def _variables(value: object) -> dict[str, str]:
    """The variables of a request: objects with a name and a value."""
    found: dict[str, str] = {}
    for each in objects(value):
        name, content = each.get("name"), each.get("value")
        if isinstance(name, str) and isinstance(content, str) and name and "=" not in name:
            found[name] = content
    return found
