"""Keeps what each agent can do, in results.json, from which the table of docs/agents.md is made."""

from __future__ import annotations

import re

import pytest

from .results import Results

_CASE = re.compile(r"tests/agents/test_\w+\.py::test_(\w+)\[(\w+)\]$")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record-agents", default=False) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Results.read()), "agents-recorder")


class Recorder:
    """Takes note of the outcome of each test of an agent. It runs where the reports of all workers arrive."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not (case := _CASE.search(report.nodeid)):
            return
        step, agent = case[1], case[2]
        for name, value in report.user_properties if report.when == "teardown" else ():
            if name == "wire" and isinstance(value, list):
                self._results.note_wire(agent, value)
        if report.when != "call" and report.passed:
            return
        if report.failed:
            outcome = "fails"
        elif report.skipped:
            _, _, why = report.longrepr if isinstance(report.longrepr, tuple) else ("", 0, str(report.longrepr))
            outcome = why.removeprefix("Skipped: ")
        else:
            outcome = "works"
        self._results.note(agent, step, outcome)

    def pytest_sessionfinish(self) -> None:
        self._results.write()
