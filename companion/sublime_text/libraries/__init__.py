"""The libraries in Sublime Text: what a person reads of them, and how Package Control is asked to install them.

It may import `companion.libraries` and the panels. Begin at `libraries.py`.
"""
