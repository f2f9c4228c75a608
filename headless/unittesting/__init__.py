"""A stand-in for the package UnitTesting: its test cases, and a runner for them."""

from __future__ import annotations
