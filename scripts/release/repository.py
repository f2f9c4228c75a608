"""Describes a release to Package Control: repository.json (schema 4.0.0), and the entries for the default channels."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pip._internal.models.index import PyPI

from companion.settings import PROJECT

from .pins import BUILD, FROM_CHANNEL, PLATFORMS, PYTHON
from .wheels import Wheel

NAME = "QwenCompanion"
DESCRIPTION = "The IDE companion of Qwen Code and Gemini CLI: diffs, context and a chat"
LABELS = ["ai", "chat", "diff", "gemini", "mcp", "qwen"]
IN_CHANNEL = frozenset({"psutil", "pydantic", "pydantic-core"})
"""Those that the default channel has as well, but not in the version or for the platforms that are needed."""
PSUTIL_FOR_3_3 = {
    "version": "5.6.7",
    "date": "2019-12-10 08:04:35",
    "url": "https://codeload.github.com/packagecontrol/psutil/zip/v5.6.7",
    "sublime_text": BUILD,
    "python_versions": ["3.3"],
    "platforms": ["osx-x64", "windows", "linux"],
}
"""The channel's own release for the old plugin host (packagecontrol/channel), which ours would hide."""

Address = Callable[[str], str]


@dataclass(frozen=True)
class Package:
    """The package's file, its version, and when it was committed, as "YYYY-MM-DD HH:MM:SS" in UTC."""

    path: Path
    version: str
    date: str


def repository(package: Package, wheels: Iterable[Wheel], address: Address) -> str:
    """The text of repository.json. `address` gives the URL of a file by its name."""
    by_name: dict[str, list[Wheel]] = {}
    for wheel in wheels:
        by_name.setdefault(wheel.name, []).append(wheel)
    content = {
        "schema_version": "4.0.0",
        "packages": [_package(package, address)],
        "libraries": [_library(name, by_name[name], address) for name in sorted(by_name)],
    }
    return _text(content)


def _package(package: Package, address: Address) -> dict[str, Any]:
    release = {
        "version": package.version,
        "date": package.date,  # without it Package Control 4.2.8 ends in a KeyError that nobody sees
        "url": address(package.path.name),
        "sha256": hashlib.sha256(package.path.read_bytes()).hexdigest(),
        "sublime_text": BUILD,
        "python_versions": [PYTHON],
        "platforms": ["*"],
    }
    return {
        "name": NAME,
        "description": DESCRIPTION,
        "author": "The QwenCompanion contributors",
        "homepage": PROJECT,
        "issues": f"{PROJECT}/issues",
        "labels": LABELS,
        "releases": [release],
    }


def _library(name: str, wheels: list[Wheel], address: Address) -> dict[str, Any]:
    releases: list[dict[str, Any]] = [
        {
            "version": wheel.version,
            "url": address(wheel.path.name),
            "sha256": wheel.sha256,
            "sublime_text": BUILD,
            "python_versions": [PYTHON],
            "platforms": sorted(wheel.platforms),
        }
        for wheel in wheels
    ]
    if name == "psutil":
        releases.append(PSUTIL_FOR_3_3)
    return {"name": name, **_told(wheels[0]), "releases": releases}


def _told(wheel: Wheel) -> dict[str, str]:
    """What a wheel's metadata says about the library: description, author, issues."""
    metadata = wheel.metadata()
    links = dict(link.split(", ", 1) for link in metadata.get_all("Project-URL", []))

    def link(pattern: str) -> str | None:
        return next((url for label, url in links.items() if re.search(pattern, label, re.IGNORECASE)), None)

    mail = metadata["Author-email"] or metadata["Maintainer-email"] or ""
    return {
        "description": metadata["Summary"] or wheel.name,
        "author": metadata["Author"] or re.sub(r' *<[^>]*>|"', "", mail) or wheel.name,
        "issues": link("issue|bug|tracker")
        or link("source|repository|code|github")
        or metadata["Home-page"]
        or next(iter(links.values()), PROJECT),
    }


def channel_entries(wheels: Iterable[Wheel]) -> dict[str, str]:
    """The entries for the default channels, by file name: the package's, and one for each library that they lack."""
    package = {
        "name": NAME,
        "details": PROJECT,
        "labels": LABELS,
        "releases": [{"sublime_text": BUILD, "tags": True}],
    }
    entries = {f"{NAME}.json": _text(package)}
    for wheel in wheels:
        if wheel.name in FROM_CHANNEL | IN_CHANNEL:
            continue
        release = {
            "base": f"{PyPI.url}project/{wheel.name}",
            "asset": wheel.path.name.replace(f"-{wheel.version}-", "-*-"),
            "python_versions": [PYTHON],
        }
        entries[f"{wheel.name}.json"] = _text({"name": wheel.name, **_told(wheel), "releases": [release]})
    return entries


def tag_address(base: str, version: str) -> Address:
    """Addresses below the release's tag on a code host.

    `base` is that address, the one of all releases' downloads, or that of the repository itself. Raises ValueError for
    one that names “latest” or another version: Package Control keeps a repository for minutes, in which the latest
    release may have become another.
    """
    base = base.rstrip("/")
    if not re.match(r"(https?|file)://", base):
        raise ValueError(f"“{base}” is not an address that begins with https://, http:// or file://.")
    *_, last = segments = base.split("/")
    if "latest" in segments:
        raise ValueError(f"“{base}” changes with each release; name the one of version {version}.")
    if re.fullmatch(r"https?://[^/]+/[^/]+/[^/]+", base):
        base, last = f"{base}/releases/download", "download"
    if re.fullmatch(r"v?\d+\.\d+\.\d+.*", last):
        if last.removeprefix("v") != version:
            raise ValueError(f"“{base}” is the address of another version than {version}.")
    else:
        base = f"{base}/{version}"
    return lambda name: f"{base}/{name}"


def beside(name: str) -> str:
    """The address of a file beside repository.json, wherever that is."""
    return f"./{name}"


def check(text: str) -> None:
    """Raise ValueError if some platform has none or two releases of a library for one interpreter."""
    for library in json.loads(text)["libraries"]:
        for platform in PLATFORMS:
            fit = [
                one for one in library["releases"] if PYTHON in one["python_versions"] and platform in one["platforms"]
            ]
            if len(fit) != 1:
                raise ValueError(f"{library['name']} has {len(fit) or 'no'} releases for {platform}.")


def _text(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
