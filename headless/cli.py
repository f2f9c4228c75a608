"""The console command `headless-sublime`: `test` runs a package's tests, `run` starts an editor for a driver."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from headless import __main__ as editor
from headless.unittesting import __main__ as tests

COMMANDS = {"test": tests.main, "run": editor.main}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the first argument names, with the other arguments."""
    parser = argparse.ArgumentParser(
        prog="headless-sublime", description="Sublime Text's plugin host without Sublime Text."
    )
    parser.add_argument(
        "command", choices=COMMANDS, help="test: run a package's tests; run: an editor driven by JSON lines"
    )
    given = list(sys.argv[1:] if arguments is None else arguments)
    COMMANDS[parser.parse_args(given[:1]).command](given[1:])


if __name__ == "__main__":
    main()
