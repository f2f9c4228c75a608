"""What Python 3.8, for which some of the suites of scripts/fidelity are written, had and newer versions do not."""

from __future__ import annotations

import inspect
import pathlib
import plistlib
import types
import unittest

for _old, _new in {"assertEquals": "assertEqual", "assertRegexpMatches": "assertRegex"}.items():
    if not hasattr(unittest.TestCase, _old):
        setattr(unittest.TestCase, _old, getattr(unittest.TestCase, _new))
if not hasattr(inspect, "getargspec"):
    inspect.getargspec = lambda function: inspect.getfullargspec(function)[:4]  # type: ignore[attr-defined]
if not hasattr(plistlib, "readPlistFromBytes"):
    plistlib.readPlistFromBytes = plistlib.loads  # type: ignore[attr-defined]
if not hasattr(pathlib.PurePath, "_flavour"):
    _flavour = types.SimpleNamespace(casefold_parts=list)
    pathlib.PurePath._flavour = _flavour  # type: ignore[attr-defined]
