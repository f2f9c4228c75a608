"""`python -m tests.e2e.stopwatch PACKAGE`: the seconds of each step from the README to the first accepted change.

They are the program's alone: a person reads and types in between. The package is a built one.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from .first_change import FirstChange


class Stopwatch:
    """Writes a line for each step, with the seconds since the one before."""

    def __init__(self) -> None:
        self.began = self._last = time.monotonic()
        self.steps = 0

    def step(self, what: str, _seconds: float = 0, _picture: str = "") -> None:
        """A step is done."""
        now = time.monotonic()
        self.steps += 1
        sys.stdout.write(f"{self.steps:3}. {now - self._last:6.1f} s  {what}\n")
        sys.stdout.flush()
        self._last = now

    @property
    def total(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.began


def first_change(package: Path | None, watch: Stopwatch) -> None:
    """Take the README's steps. Raises if one of them does not do what the README says."""
    with FirstChange(watch.step, package) as user:
        watch.step("The editor has started with the package.")
        user.open_folder()
        user.run()
        user.connect()
        proposal = user.ask()
        user.review(proposal)
        user.accept(proposal)
        if user.file.read_text(encoding="utf-8") != user.wanted:
            raise SystemExit("The file does not hold what was accepted.")


def main() -> None:
    watch = Stopwatch()
    first_change(Path(sys.argv[1]) if len(sys.argv) > 1 else None, watch)
    sys.stdout.write(f"     {watch.total:6.1f} s  from nothing to the first accepted change\n")


if __name__ == "__main__":
    main()
