"""What Python 3.8, for which some of the suites of scripts/fidelity are written, had and newer versions do not."""

from __future__ import annotations

import inspect
import unittest

for _old, _new in {"assertEquals": "assertEqual", "assertRegexpMatches": "assertRegex"}.items():
    if not hasattr(unittest.TestCase, _old):
        setattr(unittest.TestCase, _old, getattr(unittest.TestCase, _new))
if not hasattr(inspect, "getargspec"):
    inspect.getargspec = lambda function: inspect.getfullargspec(function)[:4]  # type: ignore[attr-defined]
