"""The classes and functions that the modules `sublime` and `sublime_plugin` offer."""

from __future__ import annotations
