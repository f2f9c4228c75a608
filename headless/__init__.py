"""A stand-in for Sublime Text 4's plugin host: its plugin API without the editor."""

from __future__ import annotations
