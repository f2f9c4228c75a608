"""The versions of the CLIs that are pinned in tests/npm."""

from __future__ import annotations

import json
from pathlib import Path

from .qwen import PROJECT, MissingError, node, pinned_command

CLIS = PROJECT / "tests" / "npm" / "clis"
PACKAGES = {
    "qwen": "@qwen-code/qwen-code",
    "gemini": "@google/gemini-cli",
    # Agents of which only the handshake is tried: they need an account to answer.
    "claude-agent-acp": "@agentclientprotocol/claude-agent-acp",
    "auggie": "@augmentcode/auggie",
}


def _depends(folder: Path, package: str) -> str:
    return json.loads((folder / "package.json").read_text(encoding="utf-8"))["dependencies"][package]


#: Installed in tests/npm itself, not below tests/npm/clis. `scripts/latest` raises it.
NEWEST_QWEN = _depends(CLIS.parent, PACKAGES["qwen"])
#: In a container, old versions connect to another host than the one that the editor listens on. Tests may run in one.
NOT_IN_A_CONTAINER = f"--require={Path(__file__).with_name('not_in_a_container.cjs')}"


def version_of(family: str, version: str) -> str:
    """The version that is in the folder of a pinned one: `scripts/latest` puts a newer one there."""
    return version if family == "qwen" else _depends(CLIS / f"{family}-{version}", PACKAGES[family])


def pinned(family: str, version: str) -> list[str]:
    """The command that runs a pinned version of "qwen" or "gemini".

    Raises:
        MissingError: the CLI or Node is missing.
    """
    folder = CLIS / f"{family}-{version}"
    if (family, version) == ("qwen", NEWEST_QWEN):
        return pinned_command()
    package = folder / "node_modules" / PACKAGES[family]
    if not (package / "package.json").is_file():
        raise MissingError(f"{PACKAGES[family]} {version} is missing: scripts/setup --all installs it.")
    (entry,) = json.loads((package / "package.json").read_text(encoding="utf-8"))["bin"].values()
    return [str(node()), str(package / entry)]
