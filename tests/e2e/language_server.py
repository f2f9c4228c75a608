"""An editor with the real package LSP and a real language server, pyright, as it is pinned in tests/npm.

The package comes from the archive that scripts/fidelity uses; nothing of it is in this repository.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .chatting import write_settings
from .editor import Editor
from .qwen import PROJECT, Home, node, node_modules

_SHARED = Path("shared", "fidelity", "packages")
ARCHIVES = Path(os.environ.get("FIDELITY_PACKAGES") or PROJECT.parent / _SHARED)
#: What stands in for libraries that Package Control installs for the packages.
LIBRARIES = PROJECT / "scripts" / "fidelity.d"


def archive(name: str) -> Path:
    """Another package's archive; it may be missing."""
    return ARCHIVES / f"{name}.zip"


def unpacked(home: Home, name: str) -> Path:
    """Another package's folder, of the name that it is loaded by."""
    folder = home.root / "other packages" / name
    with zipfile.ZipFile(archive(name)) as file:
        file.extractall(folder)
    return folder


def with_lsp(home: Home, server: Sequence[str] = (), **chosen: Any) -> Editor:
    """Start an editor whose LSP starts a server for Python, else pyright, and that offers agents its tools.

    `chosen` are further settings of this package.
    """
    user = home.home / ".config" / "sublime-text" / "Packages" / "User"
    user.mkdir(parents=True, exist_ok=True)
    pyright = [str(node()), str(node_modules() / "pyright" / "langserver.index.js"), "--stdio"]
    clients = {"pyright": {"enabled": True, "command": list(server) or pyright, "selector": "source.python"}}
    (user / "LSP.sublime-settings").write_text(json.dumps({"clients": clients}), encoding="utf-8")
    return offered(home, unpacked(home, "LSP"), **chosen)


def offered(home: Home, *also: Path, **chosen: Any) -> Editor:
    """Start an editor with other packages, which offers agents its tools."""
    write_settings(home, agents_use_editor=True, **chosen)
    path = os.pathsep.join([str(PROJECT), str(LIBRARIES)])
    # Programs that the packages start run without what stands in for their libraries.
    return Editor(home, [home.workspace], also=also, variables={"PYTHONPATH": path})
