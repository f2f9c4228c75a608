"""Run the benchmarks, each in a process and a home of its own: `python -m benchmarks [--json] [--check] [NAME…]`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile

from .editor import ROOT
from .limits import exceeded

NAMES = ("start", "server", "review", "windows", "chat", "acp", "changes", "written", "why", "problems", "peer")
SELF = "--in-this-process"


def measure(name: str) -> dict[str, float]:
    """Run one benchmark in a process of its own, and return its figures."""
    with tempfile.TemporaryDirectory() as home:
        folders = {"HOME": home, "USERPROFILE": home, "TMPDIR": home, "XDG_CONFIG_HOME": os.path.join(home, ".config")}
        environment = {key: value for key, value in os.environ.items() if key != "QWEN_HOME"} | folders
        command = [sys.executable, "-m", "benchmarks", SELF, name]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=False, timeout=1200)
        if done.returncode:
            sys.exit(f"The benchmark “{name}” could not run: it ended with {done.returncode}.")
        return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print the figures, one on each line, or as one JSON object of names and numbers with --json.

    With --check, name the figures that are over their limits, and exit with 1 if there are any.
    """
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(NAMES)}; without a name, all")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a figure is over its limit")
    parser.add_argument(SELF, dest="inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if options.inside:
        output, sys.stdout = sys.stdout, sys.stderr
        print(json.dumps(importlib.import_module(f"benchmarks.{options.names[0]}").figures()), file=output, flush=True)
        return
    figures: dict[str, float] = {}
    for name in options.names or NAMES:
        figures |= {key: round(value, 3) for key, value in measure(name).items()}
    if options.json:
        print(json.dumps(figures))
    else:
        for key, value in figures.items():
            print(f"{key:24} {value:10.3f}")
    if options.check and (over := exceeded(figures)):
        sys.exit("\n".join(over))


main()
