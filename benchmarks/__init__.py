"""Measures how fast the package is in the headless editor. `python -m benchmarks` prints the figures."""
