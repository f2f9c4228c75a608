"""The modules `sublime`, `sublime_plugin` and `sublime_types`, put where `import` finds them."""

from __future__ import annotations

import importlib
import os
import ssl
import sys

NAMES = ("sublime_types", "sublime_api", "sublime", "sublime_plugin")


def install() -> None:
    """Let `import sublime` and its like find the stand-in's modules.

    As the editor's host does, name the certificates to trust in the environment, which child processes inherit.
    """
    for name in NAMES:
        sys.modules[name] = importlib.import_module(f"headless.modules.{name}")
    certificates = ssl.get_default_verify_paths().cafile
    if certificates is not None:
        os.environ.setdefault("SSL_CERT_FILE", certificates)
