"""Runs the probes, one after another, in a scratch window that is opened and closed for them."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import sublime

from ..assumptions import ASSUMPTIONS
from . import places, screen, system, texts
from .bench import PATIENCE, Bench, Probe, ProbeResult, Steps, Wait
from .scratch import ScratchWindow, close

PROBES: tuple[Probe, ...] = tuple(
    probe for module in (texts, screen, places, system) for name, probe in vars(module).items() if name in ASSUMPTIONS
)
"""Each has the name of its assumption."""
STEP = 10
"""Milliseconds between two looks at a condition."""
WINDOW_LIMIT = 2.0
"""Seconds to wait for the scratch window."""
LIMIT = 10.0
"""Seconds for all probes. Those that are left then are not tried."""


@dataclass
class Outcome:
    """What a check found."""

    findings: dict[str, ProbeResult] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    """The probes that failed or were not tried, each with the reason."""
    failed: str = ""
    """Why the check as a whole failed; "" if it did not."""
    seconds: float = 0.0

    @property
    def answers(self) -> dict[str, bool]:
        """What is known now."""
        return {name: finding.holds for name, finding in self.findings.items()}


class EditorCheck:
    """One check, from its window to its outcome. Lives on the UI thread. `done` is called once."""

    def __init__(self, scratch: ScratchWindow, front: sublime.Window, done: Callable[[Outcome], object]) -> None:
        self.bench: Bench | None = None
        """There while the probes run."""
        self._scratch = scratch
        self._front = front
        self._done = done
        self._outcome = Outcome()
        self._started = time.monotonic()
        self._left = list(PROBES)
        self._folder = tempfile.mkdtemp(prefix="qwen-companion-check-")

    def start(self) -> None:
        """Open the window and begin."""
        self._guarded("opening the scratch window", self._open)

    def answered(self) -> None:
        """The companion has answered."""
        if self.bench:
            self.bench.libraries = True

    def _open(self) -> None:
        self._scratch.open()
        self._look_for_window()

    def _look_for_window(self) -> None:
        window = self._scratch.found()
        if window:
            self.bench = Bench(window, self._front, self._folder)
            self._next()
        elif time.monotonic() - self._started > WINDOW_LIMIT:
            self._end("the scratch window did not open")
        else:
            sublime.set_timeout(lambda: self._guarded("opening the scratch window", self._look_for_window), STEP)

    def _next(self) -> None:
        bench = self.bench
        if not self._left:
            self._end()
        elif bench is None or not bench.window.is_valid():
            self._skip_rest("the scratch window was closed")
        elif time.monotonic() - self._started > LIMIT:
            self._skip_rest("there was no time left")
        else:
            probe = self._left.pop(0)
            self._step(probe.__name__, probe(bench))

    def _skip_rest(self, why: str) -> None:
        self._outcome.failures.update({probe.__name__: why for probe in self._left})
        self._end()

    def _step(self, name: str, steps: Steps) -> None:
        try:
            wait = next(steps)
        except StopIteration as end:
            self._outcome.findings[name] = end.value
            self._after_probe()
        except Exception as error:  # noqa: BLE001 - whatever the editor raises is a finding
            self._outcome.failures[name] = _where(error)
            self._after_probe()
        else:
            self._wait(name, steps, wait, time.monotonic())

    def _wait(self, name: str, steps: Steps, wait: Wait, since: float) -> None:
        if isinstance(wait, int):
            sublime.set_timeout(lambda: self._step(name, steps), wait)
            return
        try:
            is_over = bool(wait()) or (time.monotonic() - since) * 1000 > PATIENCE
        except Exception as error:  # noqa: BLE001 - whatever the editor raises is a finding
            self._outcome.failures[name] = _where(error)
            self._after_probe()
            return
        if is_over:
            self._step(name, steps)
        else:
            sublime.set_timeout(lambda: self._wait(name, steps, wait, since), STEP)

    def _after_probe(self) -> None:
        bench = self.bench
        if bench and bench.window.is_valid():
            for view in bench.window.views():
                view.set_scratch(True)
                view.close()
            bench.events.clear()
        # At a later turn, so that a long check leaves the editor free in between.
        sublime.set_timeout(lambda: self._guarded("running the probes", self._next))

    def _guarded(self, what: str, call: Callable[[], object]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - the person is told
            self._end(f"{what}: {_where(error)}")

    def _end(self, failed: str = "") -> None:
        self._left = []
        self._outcome.failed = failed
        self._outcome.seconds = time.monotonic() - self._started
        bench, self.bench = self.bench, None
        self._scratch.give_up()
        if bench:
            close(bench.window)
        if self._front.is_valid():
            self._front.bring_to_front()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._done(self._outcome)


def _where(error: Exception) -> str:
    """An error, with the line of the package that it came from."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    at = f" ({trace.tb_frame.f_code.co_name}, line {trace.tb_lineno})" if trace else ""
    return f"{type(error).__name__}: {error}{at}"
