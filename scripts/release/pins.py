"""Which libraries a release needs, at which versions and for which platforms."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from . import ReleaseError

BUILD = ">=4205"
"""The builds of Sublime Text that have the plugin host for Python 3.14."""
PYTHON = "3.14"

FROM_CHANNEL = frozenset({"annotated-types", "anyio", "idna", "typing-extensions", "typing-inspection"})
"""Those that Package Control's default channel keeps up to date. An entry of ours would freeze them for everyone."""

PLATFORMS = {
    "linux-arm64": ("manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "linux-x64": ("manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "osx-arm64": ("macosx_11_0_arm64",),
    "osx-x64": ("macosx_10_12_x86_64",),
    "windows-arm64": ("win_arm64",),
    "windows-x64": ("win_amd64",),
}
"""From Package Control's names of the platforms to the tags of the wheels for the oldest system that each may be."""


@dataclass(frozen=True)
class Pin:
    """A library at one version."""

    name: str
    version: str
    hashes: tuple[str, ...]
    """Of all its files, as sha256 in hex."""

    @property
    def line(self) -> str:
        """As a line of a requirement file, for every platform."""
        return " ".join([f"{self.name}=={self.version}", *(f"--hash=sha256:{digest}" for digest in self.hashes)])


def needed(root: Path) -> list[Pin]:
    """The libraries of dependencies.json, as requirements/runtime.txt pins them.

    Raises ReleaseError for one that is not pinned.
    """
    pins = read(root / "requirements" / "runtime.txt")
    declared: dict[str, dict[str, list[str]]] = json.loads((root / "dependencies.json").read_text(encoding="utf-8"))
    names = [canonicalize_name(name) for name in declared["*"][BUILD]]
    if missing := [name for name in names if name not in pins]:
        raise ReleaseError(f"requirements/runtime.txt has no pin for {', '.join(missing)}; run scripts/lock.")
    return [pins[name] for name in names]


def read(path: Path) -> dict[str, Pin]:
    """The pins of a requirement file by name."""
    text = re.sub(r"\\\n", " ", re.sub(r"#.*", "", path.read_text(encoding="utf-8")))
    pins: dict[str, Pin] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        requirement = Requirement(line.partition("--hash")[0])
        (version,) = (one.version for one in requirement.specifier)
        name = canonicalize_name(requirement.name)
        pins[name] = Pin(name, version, tuple(re.findall(r"--hash=sha256:(\w+)", line)))
    return pins
